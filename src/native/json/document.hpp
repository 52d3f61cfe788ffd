// A JSON text as a tree, read without recursion, so that no nesting is too deep.
//
// Valid is what RFC 8259 says, less what has no single value: an object that repeats a key, an escape of half a surrogate
// pair, an exponent of more than 18 digits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../core/text.hpp"

namespace pe::json {

enum class JsonKind : std::uint8_t { null, boolean_true, boolean_false, number, string, array, object };

struct JsonNode {
    JsonKind kind = JsonKind::null;
    bool negative = false;
    Text key;                    // within an object
    Text text;                   // a string without its escapes, or the digits of a number without zeros at either end
    std::int64_t exponent = 0;   // the number is 0.digits * 10^exponent
    std::uint32_t first = 0, count = 0;  // where a container's children stand
};

class JsonDocument {
public:
    // Whether the text is valid JSON. The tree refers to the text.
    bool read(Text text) {
        nodes_.clear();
        children_.clear();
        pending_.clear();
        open_.clear();
        decoded_.clear();
        decoded_.reserve(text.size());  // what is decoded is never longer: views into it stay good
        at_ = text.data();
        end_ = at_ + text.size();
        depth_ = 0;
        has_huge_number_ = false;
        return read_document();
    }
    const JsonNode& root() const { return nodes_.back(); }
    // In the order of their keys, for an object.
    const JsonNode& child(const JsonNode& container, std::size_t index) const {
        return nodes_[children_[container.first + index]];
    }
    std::size_t depth() const { return depth_; }
    // A number that a double cannot hold, or an integer of more digits than Python reads.
    bool has_huge_number() const { return has_huge_number_; }

private:
    static constexpr std::size_t most_integer_digits = 4000, most_exponent_digits = 18;
    static constexpr std::int64_t largest_exponent = 308;

    struct Open {
        Text key;
        std::size_t first_pending;
        bool is_object;
    };

    bool read_document() {
        Text key;
        while (true) {
            skip_space();
            if (at_ == end_) return false;
            if (*at_ == '{' || *at_ == '[') {
                open_.push_back({key, pending_.size(), *at_++ == '{'});
                depth_ = std::max(depth_, open_.size());
                key = {};
                skip_space();
                if (at_ == end_) return false;
                if (*at_ != closing()) {
                    if (open_.back().is_object && !read_key(key)) return false;
                    continue;
                }
            } else if (!read_scalar(key)) return false;
            // A value is complete: so are the containers that end behind it.
            while (true) {
                skip_space();
                if (open_.empty()) return at_ == end_;
                if (at_ == end_) return false;
                if (*at_ == ',') {
                    ++at_;
                    skip_space();
                    key = {};
                    if (open_.back().is_object && !read_key(key)) return false;
                    break;
                }
                if (*at_ != closing()) return false;
                ++at_;
                if (!close()) return false;
            }
        }
    }
    char closing() const { return open_.back().is_object ? '}' : ']'; }
    bool close() {
        const Open container = open_.back();
        open_.pop_back();
        const auto begin = pending_.begin() + static_cast<std::ptrdiff_t>(container.first_pending);
        if (container.is_object) {
            const auto key = [this](std::uint32_t child) { return nodes_[child].key; };
            std::sort(begin, pending_.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
            const auto repeats = [&](std::uint32_t a, std::uint32_t b) { return key(a) == key(b); };
            if (std::adjacent_find(begin, pending_.end(), repeats) != pending_.end()) return false;
        }
        JsonNode node;
        node.kind = container.is_object ? JsonKind::object : JsonKind::array;
        node.key = container.key;
        node.first = static_cast<std::uint32_t>(children_.size());
        node.count = static_cast<std::uint32_t>(pending_.end() - begin);
        children_.insert(children_.end(), begin, pending_.end());
        pending_.erase(begin, pending_.end());
        add(node);
        return true;
    }
    void add(const JsonNode& node) {
        pending_.push_back(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.push_back(node);
    }

    void skip_space() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    }
    bool skip(Text word) {
        if (Text(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }
    bool read_key(Text& key) {
        if (!skip("\"") || !read_string(key)) return false;
        skip_space();
        return skip(":");
    }
    bool read_scalar(Text key) {
        JsonNode node;
        node.key = key;
        switch (*at_) {
            case 'n': if (!skip("null")) return false; break;
            case 't': node.kind = JsonKind::boolean_true; if (!skip("true")) return false; break;
            case 'f': node.kind = JsonKind::boolean_false; if (!skip("false")) return false; break;
            case '"': node.kind = JsonKind::string; ++at_; if (!read_string(node.text)) return false; break;
            default: node.kind = JsonKind::number; if (!read_number(node)) return false;
        }
        add(node);
        return true;
    }

    // The string behind an opening quote: a view of the source, or of a copy if it has escapes.
    bool read_string(Text& out) {
        const char* const begin = at_;
        for (; at_ < end_ && static_cast<unsigned char>(*at_) >= 0x20; ++at_) {
            if (*at_ == '"') {
                out = {begin, static_cast<std::size_t>(at_++ - begin)};
                return true;
            }
            if (*at_ == '\\') return read_escaped(begin, out);
        }
        return false;
    }
    bool read_escaped(const char* begin, Text& out) {
        const std::size_t start = decoded_.size();
        decoded_.append(begin, at_);
        while (at_ < end_ && static_cast<unsigned char>(*at_) >= 0x20) {
            const char c = *at_++;
            if (c == '"') {
                out = Text(decoded_).substr(start);
                return true;
            }
            if (c != '\\') decoded_.push_back(c);
            else if (!read_escape()) return false;
        }
        return false;
    }
    bool read_escape() {
        if (at_ == end_) return false;
        const char c = *at_++;
        switch (c) {
            case '"': case '\\': case '/': decoded_.push_back(c); return true;
            case 'b': decoded_.push_back('\b'); return true;
            case 'f': decoded_.push_back('\f'); return true;
            case 'n': decoded_.push_back('\n'); return true;
            case 'r': decoded_.push_back('\r'); return true;
            case 't': decoded_.push_back('\t'); return true;
            case 'u': break;
            default: return false;
        }
        std::uint32_t code = 0, low = 0;
        if (!read_hex(code)) return false;
        if (code >= 0xDC00 && code < 0xE000) return false;
        if (code >= 0xD800 && code < 0xDC00) {
            if (!skip("\\u") || !read_hex(low) || low < 0xDC00 || low >= 0xE000) return false;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(code);
        return true;
    }
    bool read_hex(std::uint32_t& code) {
        if (end_ - at_ < 4) return false;
        for (int i = 0; i < 4; ++i) {
            const char c = *at_++, lower = static_cast<char>(c | 0x20);
            if (is_digit(c)) code = code << 4 | static_cast<std::uint32_t>(c - '0');
            else if (lower >= 'a' && lower <= 'f') code = code << 4 | static_cast<std::uint32_t>(lower - 'a' + 10);
            else return false;
        }
        return true;
    }
    void append_utf8(std::uint32_t code) {
        const auto push = [this](std::uint32_t byte) { decoded_.push_back(static_cast<char>(byte)); };
        if (code < 0x80) return push(code);
        if (code < 0x800) push(0xC0 | code >> 6);
        else {
            if (code < 0x10000) push(0xE0 | code >> 12);
            else {
                push(0xF0 | code >> 18);
                push(0x80 | (code >> 12 & 0x3F));
            }
            push(0x80 | (code >> 6 & 0x3F));
        }
        push(0x80 | (code & 0x3F));
    }

    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    Text read_digits() {
        const char* const begin = at_;
        while (at_ < end_ && is_digit(*at_)) ++at_;
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }
    // Brings a number to its one normal form, so that equal numbers are equal however they are written.
    bool read_number(JsonNode& node) {
        node.negative = skip("-");
        const Text whole = read_digits();
        if (whole.empty() || (whole.size() > 1 && whole[0] == '0')) return false;
        Text fraction;
        const bool has_fraction = skip(".");
        if (has_fraction && (fraction = read_digits()).empty()) return false;
        bool negative_power = false;
        Text power;
        const bool has_power = skip("e") || skip("E");
        if (has_power) {
            negative_power = skip("-");
            if (!negative_power) skip("+");
            if ((power = read_digits()).empty()) return false;
            power.remove_prefix(std::min(power.find_first_not_of('0'), power.size()));
        }
        const std::size_t start = decoded_.size();
        decoded_.append(whole).append(fraction);
        Text digits = Text(decoded_).substr(start);
        const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
        digits.remove_prefix(zeros);
        if (digits.empty()) {
            node.negative = false;
            return true;
        }
        digits.remove_suffix(digits.size() - 1 - digits.find_last_not_of('0'));
        if (power.size() > most_exponent_digits) return false;
        std::int64_t exponent = 0;
        for (const char c : power) exponent = 10 * exponent + (c - '0');
        if (negative_power) exponent = -exponent;
        node.text = digits;
        node.exponent = exponent + static_cast<std::int64_t>(whole.size()) - static_cast<std::int64_t>(zeros);
        const bool is_integer = !has_fraction && !has_power;
        has_huge_number_ |= is_integer ? whole.size() > most_integer_digits : node.exponent > largest_exponent;
        return true;
    }

    const char* at_ = nullptr;
    const char* end_ = nullptr;
    std::vector<JsonNode> nodes_;
    std::vector<std::uint32_t> children_, pending_;
    std::vector<Open> open_;
    std::string decoded_;
    std::size_t depth_ = 0;
    bool has_huge_number_ = false;
};

}  // namespace pe::json
