// A JSON text as a tape of values, in the order in which they stand there, each with its own piece of the text.
//
// Made for traces: nothing is copied or converted before somebody asks for it, a key may come twice (the last counts, as in
// most readers), and NaN and Infinity, which Python writes, are numbers.
#pragma once

#include <deque>

#include "reader.hpp"

namespace pe::json {

struct TapeNode {
    Kind kind;
    bool escaped = false, key_escaped = false;  // whether a string, a key, has escapes
    std::uint32_t next = 0;                     // the index behind this value and all that it holds
    std::uint32_t count = 0;                    // the values that it holds itself
    Text key, raw;                              // the key without its quotes; the value as it is written
};

class Tape {
public:
    // Whether the text is JSON. The tape refers to the text.
    bool read(Text text) {
        nodes_.clear();
        open_.clear();
        key_ = {};
        key_escaped_ = false;
        return reader_.read(text, *this);
    }
    const TapeNode& operator[](std::uint32_t index) const { return nodes_[index]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
    // Whether the last text was not read because values stand within values too often.
    bool is_too_deep() const { return open_.size() == deepest; }
    static constexpr std::size_t deepest = 128;

private:
    friend class Reader;

    bool begin(Kind kind, const char* at) {
        if (open_.size() == deepest) return false;
        add(kind, {at, 1});
        open_.push_back(size() - 1);
        return true;
    }
    bool end(const char* behind) {
        TapeNode& container = nodes_[open_.back()];
        container.raw = between(container.raw.data(), behind);
        container.next = size();
        open_.pop_back();
        return true;
    }
    bool key(Text inside, bool escaped) {
        key_ = inside;
        key_escaped_ = escaped;
        return true;
    }
    bool string(Text inside, bool escaped) {
        add(Kind::string, {inside.data() - 1, inside.size() + 2});
        nodes_.back().escaped = escaped;
        return true;
    }
    bool literal(Kind kind, Text text) {
        add(kind, text);
        return true;
    }
    // Whatever begins as a number does: tools that write traces have ways of their own. NaN is no value.
    bool number(const char*& at, const char* end) {
        const char* const begin = at;
        const auto goes_on = [&] {
            return is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E' || *at == '+' || *at == '-';
        };
        if (skip(at, end, "NaN")) return literal(Kind::null, {begin, 3});
        skip(at, end, "-");
        if (!skip(at, end, "Infinity")) {
            if (at == end || !is_digit(*at)) return false;
            while (at < end && goes_on()) ++at;
        }
        add(Kind::number, between(begin, at));
        return true;
    }
    void add(Kind kind, Text raw) {
        if (!open_.empty()) ++nodes_[open_.back()].count;
        nodes_.push_back({kind, false, key_escaped_, size() + 1, 0, key_, raw});
        key_ = {};
        key_escaped_ = false;
    }

    Reader reader_;
    std::vector<TapeNode> nodes_;
    std::vector<std::uint32_t> open_;
    Text key_;  // of the value that comes next
    bool key_escaped_ = false;
};

// A value on a tape; nothing at all where `tape` is null.
struct Value {
    const Tape* tape = nullptr;
    std::uint32_t index = 0;
    explicit operator bool() const { return tape != nullptr; }
    const TapeNode& node() const { return (*tape)[index]; }
    Kind kind() const { return tape ? node().kind : Kind::null; }
    bool is(Kind kind) const { return tape && node().kind == kind; }
    Text raw() const { return node().raw; }
    std::uint32_t count() const { return node().count; }

    template <class Visit>
    void each(Visit&& visit) const {
        for (std::uint32_t child = index + 1; child < node().next; child = (*tape)[child].next) visit(Value{tape, child});
    }
    // Whether `holds` for each, up to the first one for which it does not.
    template <class Holds>
    bool all(Holds&& holds) const {
        std::uint32_t child = index + 1;
        while (child < node().next && holds(Value{tape, child})) child = (*tape)[child].next;
        return child >= node().next;
    }
    Value at(std::int64_t wanted) const {
        if (!is(Kind::array)) return {};
        if (wanted < 0) wanted += count();
        if (wanted < 0 || wanted >= count()) return {};
        std::uint32_t child = index + 1;
        while (wanted-- > 0) child = (*tape)[child].next;
        return {tape, child};
    }
    bool has_key(Text key) const { return node().key_escaped ? this->key() == key : node().key == key; }
    std::string key() const {
        if (!node().key_escaped) return std::string(node().key);
        std::string decoded;
        unescape(node().key, decoded);
        return decoded;
    }
    Value member(Text key) const {
        Value found;
        if (is(Kind::object))
            each([&](Value child) {
                if ((child.node().key_escaped || child.node().key.size() == key.size()) && child.has_key(key)) found = child;
            });
        return found;
    }
    // The content of a string.
    std::string text() const {
        std::string out;
        append_text(out);
        return out;
    }
    void append_text(std::string& out) const {
        const Text inner = raw().substr(1, raw().size() - 2);
        if (node().escaped) unescape(inner, out);
        else out.append(inner);
    }
};

// What a row needs while it is read: the tapes of texts that are JSON themselves. They stay until the next row.
class Shelf {
public:
    void clear() { used_ = 0; }
    // The value that a text holds; nothing where it is no JSON.
    Value read(std::string text) {
        if (used_ == tapes_.size()) tapes_.emplace_back();
        Held& held = tapes_[used_];
        held.text = std::move(text);
        if (!held.tape.read(held.text)) return {};
        ++used_;
        return {&held.tape, 0};
    }
    // The value itself, or the one that a string holds where it looks like an object, a list or a string.
    Value opened(Value value) {
        if (!value.is(Kind::string)) return value;
        const Text inner = value.raw().substr(1, value.raw().size() - 2);
        const std::size_t first = inner.find_first_not_of(" \t");
        if (first == Text::npos || (inner[first] != '{' && inner[first] != '[' && inner[first] != '\\')) return {};
        return read(value.text());
    }

private:
    struct Held {
        std::string text;
        Tape tape;
    };
    std::deque<Held> tapes_;
    std::size_t used_ = 0;
};

// The value at a path of a JSON text: `$.items[0].name`, with `*` for all entries.

struct PathStep {
    enum Kind { key, index, any } kind;
    std::string name;
    std::int64_t number = 0;
};

class Field {
public:
    explicit Field(std::vector<PathStep> steps) : steps_(std::move(steps)) {
        for (const PathStep& step : steps_) has_any_ = has_any_ || step.kind == PathStep::any;
    }
    // The content of a text, or else the value as it is written; with `*` a list of all values there are. False if there is
    // none. The text is good until the next call.
    bool find(Text text, Text& found) {
        if (!tape_.read(text)) return false;
        values_.clear();
        collect({&tape_, 0}, 0);
        if (values_.empty()) return false;
        written_.clear();
        if (has_any_) {
            written_ += '[';
            for (const Value value : values_) written_.append(written_.size() > 1 ? ", " : "").append(value.raw());
            found = written_ += ']';
        } else if (values_[0].is(Kind::string)) {
            values_[0].append_text(written_);
            found = written_;
        } else found = values_[0].raw();
        return true;
    }

private:
    void collect(Value value, std::size_t at) {
        if (!value) return;
        if (at == steps_.size()) return values_.push_back(value);
        const PathStep& step = steps_[at];
        switch (step.kind) {
            case PathStep::key: return collect(value.member(step.name), at + 1);
            case PathStep::index: return collect(value.at(step.number), at + 1);
            case PathStep::any: break;
        }
        if (value.is(Kind::array) || value.is(Kind::object)) value.each([&](Value below) { collect(below, at + 1); });
    }

    std::vector<PathStep> steps_;
    bool has_any_ = false;
    Tape tape_;
    std::vector<Value> values_;
    std::string written_;
};

}  // namespace pe::json
