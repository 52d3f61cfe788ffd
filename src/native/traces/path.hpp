// Where in a record a value is: `spans[0].attributes.gen_ai.output.messages`.
//
// Platforms write one name in several ways, so a dotted name is looked up as one key, as keys within keys, as an entry of a
// list of {key, value} pairs, and inside texts that are JSON themselves. `[0]` and `[-1]` count, `[*]` is the first entry that
// leads to a value, `$` is the record itself, `[type=text]` the first such entry whose `type` is `text`, and `['a.b']` is taken
// literally.
#pragma once

#include <cstdlib>

#include "../json/tape.hpp"

namespace pe::traces {

using json::Kind;
using json::Shelf;
using json::Value;

// OTLP says of each value what it is: {"stringValue": "..."}.
inline Value any_value(Value value) {
    if (!value.is(Kind::object) || value.count() != 1) return value;
    for (const Text kind : {"stringValue", "intValue", "doubleValue", "boolValue"})
        if (const Value inner = value.member(kind)) return inner;
    for (const Text kind : {"arrayValue", "kvlistValue"})
        if (const Value list = value.member(kind)) return list.member("values") ? list.member("values") : list;
    return value;
}

// Calls `visit(name, value)` for the members of an object, or of a list of {key, value} pairs, as OTLP and maps are written.
template <class Visit>
void each_member(Value value, Visit&& visit) {
    if (value.is(Kind::object)) value.each([&](Value member) { visit(member.key(), member); });
    else if (value.is(Kind::array))
        value.each([&](Value pair) {
            const Value key = pair.is(Kind::object) ? pair.member("key") : Value{};
            if (key.is(Kind::string)) visit(key.text(), any_value(pair.member("value")));
        });
}

// The list that attributes with counted names stand for: `prompt.0.role`, `prompt.0.content`, `prompt.1.role`, …
inline Value counted(Value value, const std::string& name, Shelf& shelf) {
    std::vector<std::string> entries;
    each_member(value, [&](const std::string& key, Value held) {
        if (!held || held.is(Kind::null) || key.size() < name.size() + 2 || key.compare(0, name.size(), name) != 0 ||
            key[name.size()] != '.')
            return;
        std::size_t end = name.size() + 1, number = 0;
        for (; end < key.size() && key[end] >= '0' && key[end] <= '9' && number < 10'000; ++end)
            number = 10 * number + static_cast<std::size_t>(key[end] - '0');
        if (end == name.size() + 1 || end >= key.size() || key[end] != '.' || number >= 10'000) return;
        if (entries.size() <= number) entries.resize(number + 1);
        std::string& entry = entries[number];
        // The rest of the name has no character that JSON would escape, unless the whole has: then it is left out.
        if (key.find_first_of("\"\\") != std::string::npos) return;
        entry.append(entry.empty() ? "" : ",")
            .append("\"")
            .append(key, end + 1, std::string::npos)
            .append("\":")
            .append(held.raw());
    });
    if (entries.empty()) return {};
    std::string written = "[";
    for (const std::string& entry : entries)
        written.append(written.size() > 1 ? "," : "").append("{").append(entry).append("}");
    return shelf.read(written.append("]"));
}

// What an object, or a list of {key, value} pairs, holds under a name.
inline Value lookup(Value value, const std::string& name, Shelf& shelf) {
    Value found;
    bool has_counted = false;
    if (value.is(Kind::object)) {
        value.each([&](Value member) {
            const json::TapeNode& node = member.node();
            if (member.has_key(name)) found = member;
            else
                has_counted |= node.key.size() > name.size() + 1 && node.key[name.size()] == '.' &&
                               node.key[name.size() + 1] <= '9' && node.key.compare(0, name.size(), name) == 0;
        });
    } else if (value.is(Kind::array)) {
        each_member(value, [&](const std::string& key, Value held) {
            if (key == name) found = held;
            else
                has_counted |=
                    key.size() > name.size() + 1 && key[name.size()] == '.' && key.compare(0, name.size(), name) == 0;
        });
    }
    return found || !has_counted ? found : counted(value, name, shelf);
}

class Path {
public:
    explicit Path(const std::string& written) : whole_(written) {
        std::size_t at = 0;
        while (at < written.size()) {
            if (written[at] == '.') ++at;
            else if (written.compare(at, 2, "['") == 0) {
                const std::size_t end = written.find("']", at);
                steps_.push_back({Step::literal, written.substr(at + 2, end - at - 2), {}, 0});
                at = end == std::string::npos ? written.size() : end + 2;
            } else if (written[at] == '[') {
                const std::size_t end = std::min(written.find(']', at), written.size());
                add_bracket(written.substr(at + 1, end - at - 1));
                at = end + 1;
            } else {
                const std::size_t end = std::min(written.find_first_of(".[", at), written.size());
                steps_.push_back({Step::key, written.substr(at, end - at), {}, 0});
                at = end;
            }
        }
    }
    // The value in a record; a null there is none.
    Value find(Value record, Shelf& shelf) const {
        if (is_record()) return record;
        if (const Value found = record.member(whole_); found && found.kind() != Kind::null) return found;
        return find(record, 0, shelf);
    }

    bool is_record() const { return whole_ == "$"; }
    // The keys of a record that the path may begin with.
    std::vector<std::string> heads() const {
        std::vector<std::string> found;
        std::string name;
        for (const Step& step : steps_) {
            if (step.kind == Step::literal && found.empty()) found.push_back(step.name);
            if (step.kind != Step::key) break;
            if (!name.empty()) name.push_back('.');
            found.push_back(name.append(step.name));
        }
        return found;
    }

private:
    struct Step {
        enum Kind { key, literal, index, any, where } kind;
        std::string name, value;
        std::int64_t number;
    };

    void add_bracket(const std::string& inside) {
        const std::size_t equals = inside.find('=');
        if (inside == "*") steps_.push_back({Step::any, {}, {}, 0});
        else if (equals != std::string::npos)
            steps_.push_back({Step::where, inside.substr(0, equals), inside.substr(equals + 1), 0});
        else steps_.push_back({Step::index, {}, {}, std::strtoll(inside.c_str(), nullptr, 10)});
    }

    Value find(Value value, std::size_t at, Shelf& shelf) const {
        if (at == steps_.size()) return value.kind() == Kind::null ? Value{} : value;
        if (value.is(Kind::string)) {
            value = shelf.opened(value);
            if (value.is(Kind::string)) value = shelf.opened(value);
        }
        if (!value || value.is(Kind::null)) return {};
        const Step& step = steps_[at];
        Value found;
        switch (step.kind) {
            case Step::index: return find(value.at(step.number), at + 1, shelf);
            case Step::any:
                if (!value.is(Kind::array)) return {};
                value.each([&](Value child) { found = found ? found : find(child, at + 1, shelf); });
                return found;
            case Step::where:
                if (!value.is(Kind::array)) return {};
                value.each([&](Value child) {
                    if (found || !child.is(Kind::object)) return;
                    const Value name = child.member(step.name);
                    if (name.is(Kind::string) && name.text() == step.value) found = find(child, at + 1, shelf);
                });
                return found;
            case Step::literal: return find(lookup(value, step.name, shelf), at + 1, shelf);
            case Step::key: break;
        }
        std::size_t end = at;
        while (end < steps_.size() && steps_[end].kind == Step::key) ++end;
        // The longest name first: a flat table has the whole of it as one column.
        for (; end > at; --end) {
            std::string name = steps_[at].name;
            for (std::size_t i = at + 1; i < end; ++i) name.append(1, '.').append(steps_[i].name);
            if (const Value inner = lookup(value, name, shelf))
                if (const Value leads = find(inner, end, shelf)) return leads;
        }
        return {};
    }
    std::string whole_;
    std::vector<Step> steps_;
};

}  // namespace pe::traces
