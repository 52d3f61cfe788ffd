// Traces: the lines of a file, the records of a document, and what the records say.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstring>
#include <unordered_map>

#include "bind.hpp"
#include "../core/columns.hpp"
#include "../core/pool.hpp"
#include "reading.hpp"
#include "splitter.hpp"
#include "text_columns.hpp"
#include "../unicode/utf8.hpp"

namespace pe {

using namespace traces;

namespace {

using Candidates = std::vector<std::pair<std::string, std::string>>;

// Python refuses a file that has such a record.
constexpr const char* too_deep = "it is nested too deeply";

struct Plan {
    std::vector<std::string> names;
    std::vector<std::vector<std::pair<Path, FieldReader::Function>>> columns;
};

unsigned kind_bit(Value value) {
    const Text raw = value.raw();
    switch (value.kind()) {
        case Kind::null: return 1;
        case Kind::string: return 16;
        case Kind::array: return 32;
        case Kind::object: return 64;
        case Kind::number: return raw.find_first_of(".eEI") == Text::npos && raw.size() < 19 ? 4 : 8;
        default: return 2;
    }
}

void read_rows(const TextColumn& records, std::size_t begin, std::size_t end, const Plan& plan, FieldReader& reader, TextColumns& out) {
    const std::size_t broken = plan.columns.size();
    TextColumn::Cursor cursor(records, begin);
    for (std::size_t row = begin; row < end; ++row, cursor.next()) {
        const bool is_there = cursor.array().is_valid(cursor.row());
        const bool is_object = is_there && reader.open(cursor.array()[cursor.row()]);
        for (std::size_t column = 0; column < broken; ++column) {
            bool found = false;
            if (is_object)
                for (const auto& [path, function] : plan.columns[column]) {
                    if ((found = reader.read(path, function, out.text(column)))) break;
                    out.drop(column);
                }
            out.end(column, found);
        }
        if (!is_there) out.text(broken).append("it is not valid UTF-8");
        else if (!is_object) out.text(broken).append(reader.is_too_deep() ? too_deep : "it is no JSON object");
        out.end(broken, !is_object);
    }
}

// Reads the records in pieces, which the threads of the pool take one after the other.
nb::list read_records(nb::handle texts, const std::vector<std::pair<std::string, Candidates>>& columns, const std::string& broken, std::size_t threads) {
    const TextColumn records(read_chunks(texts));
    Plan plan;
    for (const auto& [name, candidates] : columns) {
        plan.names.push_back(name);
        plan.columns.emplace_back();
        for (const auto& [path, function] : candidates) plan.columns.back().emplace_back(Path(path), FieldReader::named(function));
    }
    plan.names.push_back(broken);
    constexpr std::size_t rows = 2048;
    const std::size_t count = std::max<std::size_t>((records.size() + rows - 1) / rows, 1);
    std::vector<TextColumns> pieces;
    for (std::size_t i = 0; i < count; ++i) pieces.emplace_back(plan.names);
    {
        nb::gil_scoped_release released;
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            FieldReader reader;
            for (std::size_t i; !is_stopped() && (i = next++) < count;)
                read_rows(records, i * rows, std::min((i + 1) * rows, records.size()), plan, reader, pieces[i]);
        };
        if (count == 1) work();
        else Pool::get(threads).run(work);
    }
    nb::list result;
    for (TextColumns& piece : pieces) result.append(nb::cast(std::move(piece)));
    return result;
}

// The keys of the records with the kinds of their values, one bit for each, in the order in which they come; and the first
// record that is nested too deeply, or -1.
std::pair<std::vector<std::pair<std::string, unsigned>>, std::int64_t> key_kinds(nb::handle texts) {
    const TextColumn records(read_chunks(texts));
    nb::gil_scoped_release released;
    std::vector<std::pair<std::string, unsigned>> found;
    std::unordered_map<std::string, std::size_t> places;
    json::Tape tape;
    std::int64_t deep = -1;
    std::string name;
    TextColumn::Cursor cursor(records, 0);
    for (std::size_t row = 0; row < records.size(); ++row, cursor.next()) {
        if (!cursor.array().is_valid(cursor.row())) continue;
        if (!tape.read(cursor.array()[cursor.row()])) {
            if (deep < 0 && tape.is_too_deep()) deep = static_cast<std::int64_t>(row);
            continue;
        }
        if (tape[0].kind != Kind::object) continue;
        std::size_t place = 0;
        Value{&tape, 0}.each([&](Value member) {
            name.clear();
            if (member.node().key_escaped) json::unescape(member.node().key, name);
            else name = member.node().key;
            // Records usually have the same keys in the same order.
            if (place >= found.size() || found[place].first != name) {
                const auto [known, is_new] = places.emplace(name, found.size());
                if (is_new) found.emplace_back(name, 0);
                place = known->second;
            }
            found[place++].second |= kind_bit(member);
        });
    }
    return {std::move(found), deep};
}

// The lines of a piece of a file; one that is not valid UTF-8 is null.
TextColumns split_lines(nb::bytes data, const std::string& name) {
    const Text text(data.c_str(), data.size());
    TextColumns lines({name});
    nb::gil_scoped_release released;
    lines.text(0).reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t found = text.find('\n', at), end = found == Text::npos ? text.size() : found;
        const Text line = text.substr(at, end - at);
        lines.text(0).append(line);
        lines.end(0, unicode::is_utf8(line));
        at = end + 1;
    }
    return lines;
}

nb::list feed(Splitter& splitter, nb::bytes piece) {
    nb::list result;
    for (const Splitter::Record& record : splitter.feed({piece.c_str(), piece.size()}))
        result.append(nb::make_tuple(record.is_document, nb::bytes(record.text.data(), record.text.size())));
    return result;
}

}  // namespace

void bind_traces(nb::module_& module) {
    bind_columns<TextColumns>(module, "TextColumns", "Columns of texts, for one Arrow consumer.");
    nb::class_<Splitter>(module, "JsonSplitter", "Cuts JSON that comes in pieces into records.")
        .def(nb::init<std::vector<std::vector<std::string>>>(), nb::arg("lists"))
        .def("feed", &feed, nb::lock_self(), nb::arg("piece"))
        .def("pending", &Splitter::pending, nb::lock_self())
        .def("is_open", &Splitter::is_open, nb::lock_self())
        .def(
            "around",
            [](const Splitter& splitter) {
                const std::string text = splitter.around();
                return nb::bytes(text.data(), text.size());
            },
            nb::lock_self());
    module.def("read_records", &read_records, nb::arg("texts"), nb::arg("columns"), nb::kw_only(), nb::arg("broken"), nb::arg("threads"));
    module.attr("TOO_DEEP") = too_deep;
    module.attr("DEEPEST") = json::Tape::deepest;
    module.def("key_kinds", &key_kinds, nb::arg("texts"));
    module.def("split_lines", &split_lines, nb::arg("data"), nb::kw_only(), nb::arg("name"));
}

}  // namespace pe
