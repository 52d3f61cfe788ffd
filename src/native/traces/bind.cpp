// Traces: the lines of a file, the records of a document, and what the records say.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <unordered_map>

#include "../core/pool.hpp"
#include "reading.hpp"
#include "splitter.hpp"
#include "text_columns.hpp"

namespace nb = nanobind;

namespace pe {

using namespace traces;

namespace {

// Columns come in as anything with `__arrow_c_stream__`.
ArrowChunks read_chunks(nb::handle column) {
    nb::object capsule = column.attr("__arrow_c_stream__")();
    auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (!stream) nb::raise_python_error();
    return ArrowChunks(stream);
}

// A capsule that releases its structure unless a consumer took it over.
template <class Structure>
nb::object capsule(Structure* structure, const char* name) {
    PyObject* object = PyCapsule_New(structure, name, [](PyObject* self) {
        auto* held = static_cast<Structure*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
        if (held->release) held->release(held);
        delete held;
    });
    if (!object) nb::raise_python_error();
    return nb::steal(object);
}

using Candidates = std::vector<std::pair<std::string, std::string>>;

// Python refuses a file that has such a record.
constexpr const char* too_deep = "it is nested too deeply";

struct Place {
    Path path;
    FieldReader::Function function;
    std::size_t whole;               // the slot of the key that is the whole path
    std::vector<std::size_t> heads;  // the slots of the keys that the path may begin with
};

struct Plan {
    std::vector<std::string> names;
    std::vector<std::vector<Place>> columns;
    std::vector<std::size_t> unless;  // a column is not read where this one was found; itself if it always is
    std::unordered_map<std::string, std::size_t> slots;

    std::size_t slot(const std::string& key) { return slots.emplace(key, slots.size()).first->second; }
};

// The values of a record's own keys that a plan names, found in one pass.
class Slots {
public:
    explicit Slots(const Plan& plan) : values_(plan.slots.size()) {
        for (const auto& [key, slot] : plan.slots) {
            if (by_size_.size() <= key.size()) by_size_.resize(key.size() + 1);
            by_size_[key.size()].emplace_back(key, slot);
        }
    }
    void fill(Value record) {
        std::fill(values_.begin(), values_.end(), Value{});
        is_odd_ = false;
        record.each([&](Value member) {
            const Text key = member.node().key;
            // Keys with dots may be parts of longer names, and escapes hide what a key is.
            is_odd_ |= member.node().key_escaped || key.find('.') != Text::npos;
            if (key.size() < by_size_.size())
                for (const auto& [name, slot] : by_size_[key.size()])
                    if (name == key) values_[slot] = member;
        });
    }
    Value operator[](std::size_t slot) const { return values_[slot]; }
    bool is_odd() const { return is_odd_; }

private:
    std::vector<std::vector<std::pair<Text, std::size_t>>> by_size_;
    std::vector<Value> values_;
    bool is_odd_ = false;
};

Value find(const Place& place, const Slots& slots, FieldReader& reader) {
    if (slots.is_odd() || place.path.is_record()) return reader.find(place.path);
    if (const Value value = slots[place.whole]; value && value.kind() != Kind::null) return value;
    for (const std::size_t head : place.heads)
        if (slots[head]) return reader.find(place.path);
    return {};
}

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

void read_rows(const TextColumn& records, std::size_t begin, std::size_t end, const Plan& plan, FieldReader& reader,
               TextColumns& out) {
    const std::size_t broken = plan.columns.size();
    Slots slots(plan);
    std::vector<char> has(broken);
    TextColumn::Cursor cursor(records, begin);
    for (std::size_t row = begin; row < end; ++row, cursor.next()) {
        const bool is_there = cursor.is_valid();
        const bool is_object = is_there && reader.open(cursor.text());
        if (is_object) slots.fill(reader.record());
        for (std::size_t column = 0; column < broken; ++column) {
            bool found = false;
            const std::size_t other = plan.unless[column];
            if (is_object && (other == column || !has[other]))
                for (const Place& place : plan.columns[column]) {
                    const Value value = find(place, slots, reader);
                    if (!value) continue;
                    if ((found = reader.read(value, place.function, out.text(column)))) break;
                    out.drop(column);
                }
            has[column] = found;
            out.end(column, found);
        }
        if (!is_there) out.text(broken).append("it is not valid UTF-8");
        else if (!is_object) out.text(broken).append(reader.is_too_deep() ? too_deep : "it is no JSON object");
        out.end(broken, !is_object);
    }
}

// Reads the records in pieces, which the threads of the pool take one after the other.
nb::list read_records(nb::handle texts, const std::vector<std::pair<std::string, Candidates>>& columns,
                      const std::string& broken, std::size_t threads,
                      const std::vector<std::pair<std::size_t, std::size_t>>& unless) {
    const TextColumn records(read_chunks(texts));
    Plan plan;
    for (const auto& [name, candidates] : columns) {
        plan.names.push_back(name);
        plan.unless.push_back(plan.columns.size());
        plan.columns.emplace_back();
        for (const auto& [written, function] : candidates) {
            Place place{Path(written), FieldReader::named(function), plan.slot(written), {}};
            for (const std::string& head : place.path.heads()) place.heads.push_back(plan.slot(head));
            plan.columns.back().push_back(std::move(place));
        }
    }
    for (const auto& [column, other] : unless)
        if (other < column) plan.unless.at(column) = other;
    plan.names.push_back(broken);
    // Enough pieces for all threads, which are not worth waking for a few rows.
    const std::size_t share = (records.size() + 2 * threads - 1) / std::max<std::size_t>(2 * threads, 1);
    const std::size_t rows = std::clamp<std::size_t>(share, 128, 2048);
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
    TextColumn::Cursor cursor(records, 0);
    for (std::size_t row = 0; row < records.size(); ++row, cursor.next()) {
        if (!cursor.is_valid()) continue;
        if (!tape.read(cursor.text())) {
            if (deep < 0 && tape.is_too_deep()) deep = static_cast<std::int64_t>(row);
            continue;
        }
        if (tape[0].kind != Kind::object) continue;
        std::size_t place = 0;
        Value{&tape, 0}.each([&](Value member) {
            const std::string name = member.key();
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

// The lines of a piece of a file, the first of which began with `held`; whether all of them begin as an object; and what is
// left of the piece behind its last line. A line that is not valid UTF-8 is null.
nb::tuple split_lines(nb::bytes data, const std::string& name, nb::bytes held, bool is_last) {
    const Text text(data.c_str(), data.size()), before(held.c_str(), held.size());
    TextColumns lines({name});
    bool are_objects = true;
    std::string rest;
    {
        nb::gil_scoped_release released;
        // Checked as a whole where that suffices, which is faster than line by line.
        const bool is_valid = unicode::is_utf8(text);
        std::string& out = lines.text(0);
        out.reserve(before.size() + text.size());
        out.append(before);
        for (std::size_t at = 0; at < text.size() || (is_last && at == 0 && !before.empty());) {
            const std::size_t found = text.find('\n', at);
            if (found == Text::npos && !is_last) {
                if (at == 0) rest = before;
                rest.append(text.substr(at));
                break;
            }
            const std::size_t end = found == Text::npos ? text.size() : found;
            const std::size_t start = at == 0 ? 0 : out.size();
            out.append(text.substr(at, end - at));
            const Text line = Text(out).substr(start);
            const bool is_text = (is_valid && at > 0) || unicode::is_utf8(line);
            are_objects &= is_text && !line.empty() && line[0] == '{';
            lines.end(0, is_text);
            at = end + 1;
        }
        if (!rest.empty()) lines.drop(0);
        else if (text.empty() && !is_last) rest = before, lines.drop(0);
    }
    return nb::make_tuple(nb::cast(std::move(lines)), are_objects, nb::bytes(rest.data(), rest.size()));
}

nb::list feed(Splitter& splitter, nb::bytes piece) {
    nb::list result;
    for (const Splitter::Record& record : splitter.feed({piece.c_str(), piece.size()}))
        result.append(nb::make_tuple(record.is_document, nb::bytes(record.text.data(), record.text.size())));
    return result;
}

}  // namespace

void bind_traces(nb::module_& module) {
    // Where Python has no lock of its own, threads that share an object wait for each other.
    nb::class_<TextColumns>(module, "TextColumns", "Columns of texts, for one Arrow consumer.")
        .def(
            "__arrow_c_array__",
            [](TextColumns& columns, nb::handle) {
                auto schema = std::make_unique<ArrowSchema>();
                auto array = std::make_unique<ArrowArray>();
                columns.move_to(schema.get(), array.get());
                nb::object schema_capsule = capsule(schema.release(), "arrow_schema");
                return nb::make_tuple(schema_capsule, capsule(array.release(), "arrow_array"));
            },
            nb::lock_self(), nb::arg("requested_schema") = nb::none());
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
    module.def("read_records", &read_records, nb::arg("texts"), nb::arg("columns"), nb::kw_only(), nb::arg("broken"),
               nb::arg("threads"), nb::arg("unless") = std::vector<std::pair<std::size_t, std::size_t>>{});
    module.attr("TOO_DEEP") = too_deep;
    module.attr("DEEPEST") = json::Tape::deepest;
    module.def("key_kinds", &key_kinds, nb::arg("texts"));
    module.def("split_lines", &split_lines, nb::arg("data"), nb::kw_only(), nb::arg("name"), nb::arg("held") = nb::bytes("", 0),
               nb::arg("is_last") = true);
}

}  // namespace pe
