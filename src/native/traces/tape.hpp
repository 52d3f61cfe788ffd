// A JSON text as a tape of values, in the order in which they stand there, each with its own piece of the text.
//
// Made for traces: nothing is copied or converted before somebody asks for it, a key may come twice (the last counts, as in
// most readers), and NaN and Infinity, which Python writes, are numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "../core/text.hpp"

namespace pe::traces {

enum class TapeKind : std::uint8_t { null, boolean, number, string, array, object };

struct TapeNode {
    TapeKind kind;
    bool escaped = false, key_escaped = false;  // whether a string, a key, has escapes
    std::uint32_t next = 0;                      // the index behind this value and all that it holds
    std::uint32_t count = 0;                     // the values that it holds itself
    Text key, raw;                               // the key without its quotes; the value as it is written
};

// Appends a string's content to `out`; half a surrogate pair becomes U+FFFD.
inline void unescape(Text text, std::string& out) {
    const auto push = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    const auto hex = [&text](std::size_t at) {
        std::uint32_t code = 0;
        for (std::size_t i = at; i < at + 4; ++i) {
            const char c = text[i];
            code = code << 4 | static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return code;
    };
    for (std::size_t i = 0; i < text.size();) {
        const auto* slash = static_cast<const char*>(std::memchr(text.data() + i, '\\', text.size() - i));
        const std::size_t end = slash ? static_cast<std::size_t>(slash - text.data()) : text.size();
        out.append(text.data() + i, end - i);
        if (end == text.size()) return;
        const char c = text[end + 1];
        i = end + 2;
        switch (c) {
            case 'b': out.push_back('\b'); continue;
            case 'f': out.push_back('\f'); continue;
            case 'n': out.push_back('\n'); continue;
            case 'r': out.push_back('\r'); continue;
            case 't': out.push_back('\t'); continue;
            case 'u': break;
            default: out.push_back(c); continue;
        }
        std::uint32_t code = hex(i);
        i += 4;
        if (code >= 0xD800 && code < 0xDC00 && i + 6 <= text.size() && text[i] == '\\' && text[i + 1] == 'u') {
            const std::uint32_t low = hex(i + 2);
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                i += 6;
            }
        }
        if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
        if (code < 0x80) push(code);
        else if (code < 0x800) push(0xC0 | code >> 6), push(0x80 | (code & 0x3F));
        else if (code < 0x10000) push(0xE0 | code >> 12), push(0x80 | (code >> 6 & 0x3F)), push(0x80 | (code & 0x3F));
        else push(0xF0 | code >> 18), push(0x80 | (code >> 12 & 0x3F)), push(0x80 | (code >> 6 & 0x3F)), push(0x80 | (code & 0x3F));
    }
}

class Tape {
public:
    // Whether the text is JSON. The tape refers to the text.
    bool read(Text text) {
        nodes_.clear();
        open_.clear();
        at_ = text.data();
        end_ = at_ + text.size();
        return read_document();
    }
    const TapeNode& operator[](std::uint32_t index) const { return nodes_[index]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }

private:
    static constexpr std::size_t deepest = 512;

    bool read_document() {
        Text key;
        bool key_escaped = false;
        while (true) {
            skip_space();
            if (at_ == end_) return false;
            TapeNode node{};
            node.key = key;
            node.key_escaped = key_escaped;
            const char* const begin = at_;
            if (*at_ == '{' || *at_ == '[') {
                node.kind = *at_++ == '{' ? TapeKind::object : TapeKind::array;
                node.raw = {begin, 1};
                open_.push_back(size());
                if (open_.size() > deepest) return false;
                nodes_.push_back(node);
                skip_space();
                if (at_ == end_) return false;
                if (*at_ != closing()) {
                    key = {};
                    key_escaped = false;
                    if (is_object() && !read_key(key, key_escaped)) return false;
                    continue;
                }
            } else {
                if (!read_scalar(node)) return false;
                node.raw = {begin, static_cast<std::size_t>(at_ - begin)};
                node.next = size() + 1;
                nodes_.push_back(node);
                if (!open_.empty()) ++nodes_[open_.back()].count;
            }
            while (true) {
                skip_space();
                if (open_.empty()) return at_ == end_;
                if (at_ == end_) return false;
                if (*at_ == ',') {
                    ++at_;
                    key = {};
                    key_escaped = false;
                    skip_space();
                    if (is_object() && !read_key(key, key_escaped)) return false;
                    break;
                }
                if (*at_ != closing()) return false;
                ++at_;
                TapeNode& container = nodes_[open_.back()];
                container.raw = {container.raw.data(), static_cast<std::size_t>(at_ - container.raw.data())};
                container.next = size();
                open_.pop_back();
                if (!open_.empty()) ++nodes_[open_.back()].count;
            }
        }
    }
    bool is_object() const { return nodes_[open_.back()].kind == TapeKind::object; }
    char closing() const { return is_object() ? '}' : ']'; }
    void skip_space() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    }
    bool skip(Text word) {
        if (static_cast<std::size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0) return false;
        at_ += word.size();
        return true;
    }
    bool read_key(Text& key, bool& escaped) {
        if (at_ == end_ || *at_ != '"' || !read_string(escaped, &key)) return false;
        skip_space();
        return skip(":");
    }
    bool read_scalar(TapeNode& node) {
        switch (*at_) {
            case 'n': node.kind = TapeKind::null; return skip("null");
            case 't': node.kind = TapeKind::boolean; return skip("true");
            case 'f': node.kind = TapeKind::boolean; return skip("false");
            case '"': node.kind = TapeKind::string; return read_string(node.escaped, nullptr);
            case 'N': node.kind = TapeKind::null; return skip("NaN");
            default: node.kind = TapeKind::number; return read_number();
        }
    }
    bool read_number() {
        const char* const begin = at_;
        if (*at_ == '-') ++at_;
        if (at_ < end_ && *at_ == 'I') return skip("Infinity");
        const char* const digits = at_;
        while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
        if (at_ == digits) return false;
        while (at_ < end_ && ((*at_ >= '0' && *at_ <= '9') || *at_ == '.' || *at_ == 'e' || *at_ == 'E' || *at_ == '+' || *at_ == '-')) ++at_;
        return at_ > begin;
    }
    // A string, from its opening quote; eight bytes at a time where none of them is a quote, a slash or a control character.
    bool read_string(bool& escaped, Text* content) {
        const char* const begin = ++at_;
        escaped = false;
        while (true) {
            while (end_ - at_ >= 8) {
                std::uint64_t word;
                std::memcpy(&word, at_, 8);
                if (special(word)) break;
                at_ += 8;
            }
            while (at_ < end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) {
                ++at_;
                if (((at_ - begin) & 7) == 0 && end_ - at_ >= 8) break;
            }
            if (at_ == end_) return false;
            if (*at_ == '"') {
                if (content) *content = {begin, static_cast<std::size_t>(at_ - begin)};
                ++at_;
                return true;
            }
            if (*at_ == '\\') {
                escaped = true;
                if (!skip_escape()) return false;
            } else if (static_cast<unsigned char>(*at_) < 0x20) return false;
        }
    }
    bool skip_escape() {
        if (end_ - at_ < 2) return false;
        const char c = at_[1];
        at_ += 2;
        if (c != 'u') return std::memchr("\"\\/bfnrt", c, 8) != nullptr;
        if (end_ - at_ < 4) return false;
        for (int i = 0; i < 4; ++i, ++at_) {
            const char lower = static_cast<char>(*at_ | 0x20);
            if (!((*at_ >= '0' && *at_ <= '9') || (lower >= 'a' && lower <= 'f'))) return false;
        }
        return true;
    }
    static bool special(std::uint64_t word) {
        constexpr std::uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
        const auto zero = [](std::uint64_t x) { return (x - ones) & ~x & high; };
        return (zero(word ^ ones * '"') | zero(word ^ ones * '\\') | ((word - ones * 0x20) & ~word & high)) != 0;
    }

    const char* at_ = nullptr;
    const char* end_ = nullptr;
    std::vector<TapeNode> nodes_;
    std::vector<std::uint32_t> open_;
};

// A value on a tape; nothing at all where `tape` is null.
struct Value {
    const Tape* tape = nullptr;
    std::uint32_t index = 0;
    explicit operator bool() const { return tape != nullptr; }
    const TapeNode& node() const { return (*tape)[index]; }
    TapeKind kind() const { return tape ? node().kind : TapeKind::null; }
    bool is(TapeKind kind) const { return tape && node().kind == kind; }
    Text raw() const { return node().raw; }
    std::uint32_t count() const { return node().count; }

    template <class Visit>
    void each(Visit&& visit) const {
        for (std::uint32_t child = index + 1; child < node().next; child = (*tape)[child].next) visit(Value{tape, child});
    }
    Value at(std::int64_t wanted) const {
        if (!is(TapeKind::array)) return {};
        if (wanted < 0) wanted += count();
        if (wanted < 0 || wanted >= count()) return {};
        std::uint32_t child = index + 1;
        while (wanted-- > 0) child = (*tape)[child].next;
        return {tape, child};
    }
    bool has_key(Text key) const {
        if (!node().key_escaped) return node().key == key;
        std::string decoded;
        unescape(node().key, decoded);
        return decoded == key;
    }
    Value member(Text key) const {
        Value found;
        if (is(TapeKind::object))
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
        if (!value.is(TapeKind::string)) return value;
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

}  // namespace pe::traces
