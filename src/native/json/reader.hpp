// The one reader of JSON (RFC 8259): walks over a text without recursion, so that no nesting is too deep, and tells a sink
// what stands there. It copies and converts nothing.
#pragma once

#include "../unicode/utf8.hpp"

namespace pe::json {

enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool skip(const char*& at, const char* end, Text word) {
    if (static_cast<std::size_t>(end - at) < word.size() || std::memcmp(at, word.data(), word.size()) != 0) return false;
    at += word.size();
    return true;
}

// A number in its parts; digits are missing where the part is.
struct Number {
    Text whole, fraction, power;
    bool negative = false, negative_power = false;

    // Reads the number at `at`, which it moves behind.
    bool read(const char*& at, const char* end) {
        negative = skip(at, end, "-");
        if (!read_digits(at, end, whole) || (whole.size() > 1 && whole[0] == '0')) return false;
        if (skip(at, end, ".") && !read_digits(at, end, fraction)) return false;
        if (!skip(at, end, "e") && !skip(at, end, "E")) return true;
        negative_power = skip(at, end, "-");
        if (!negative_power) skip(at, end, "+");
        return read_digits(at, end, power);
    }

private:
    static bool read_digits(const char*& at, const char* end, Text& digits) {
        const char* const begin = at;
        while (at < end && is_digit(*at)) ++at;
        digits = between(begin, at);
        return at > begin;
    }
};

// Appends the content of a string that was read; half a surrogate pair becomes U+FFFD. False if there was any.
inline bool unescape(Text text, std::string& out) {
    const auto hex = [&text](std::size_t at) {
        std::uint32_t code = 0;
        for (std::size_t i = at; i < at + 4; ++i) {
            const char c = text[i];
            code = code << 4 | static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return code;
    };
    bool is_whole = true;
    for (std::size_t i = 0; i < text.size();) {
        const auto* slash = static_cast<const char*>(std::memchr(text.data() + i, '\\', text.size() - i));
        const std::size_t end = slash ? static_cast<std::size_t>(slash - text.data()) : text.size();
        out.append(text.data() + i, end - i);
        if (end == text.size()) break;
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
        if (code >= 0xD800 && code < 0xE000) {
            code = unicode::replacement;
            is_whole = false;
        }
        char bytes[4];
        out.append(bytes, unicode::encode(code, bytes));
    }
    return is_whole;
}

// What a sink has to have, where `false` ends the reading:
//   bool begin(Kind, const char* at)                     an array or an object begins
//   bool end(const char* behind)                         the one that began last ends
//   bool key(Text inside, bool escaped)                  what stands between the quotes, and whether it has escapes
//   bool string(Text inside, bool escaped)
//   bool literal(Kind, Text)                             true, false or null
//   bool number(const char*& at, const char* end)        reads the number at `at`, by its own rules, and moves behind it
class Reader {
public:
    // Whether a text is one value.
    template <class Sink>
    bool read(Text text, Sink& sink) {
        const char* at = text.data();
        const char* const end = at + text.size();
        if (!read_value(at, end, sink)) return false;
        skip_space(at, end);
        return at == end;
    }
    // Reads the value at `at` and moves behind it, or to where it is not JSON: for a string, that is where it begins.
    template <class Sink>
    bool read_value(const char*& at, const char* end, Sink& sink) {
        closing_.clear();
        while (true) {
            skip_space(at, end);
            if (at == end) return false;
            if (*at == '{' || *at == '[') {
                const bool is_object = *at == '{';
                closing_.push_back(is_object ? '}' : ']');
                if (!sink.begin(is_object ? Kind::object : Kind::array, at++)) return false;
                skip_space(at, end);
                if (at == end) return false;
                if (*at != closing_.back()) {
                    if (is_object && !read_key(at, end, sink)) return false;
                    continue;
                }
            } else if (!read_scalar(at, end, sink)) return false;
            // A value is complete: so are the containers that end behind it.
            while (true) {
                if (closing_.empty()) return true;
                skip_space(at, end);
                if (at == end) return false;
                if (*at == ',') {
                    skip_space(++at, end);
                    if (closing_.back() == '}' && !read_key(at, end, sink)) return false;
                    break;
                }
                if (*at != closing_.back()) return false;
                closing_.pop_back();
                if (!sink.end(++at)) return false;
            }
        }
    }

private:
    static void skip_space(const char*& at, const char* end) {
        while (at < end && is_space(*at)) ++at;
    }
    template <class Sink>
    static bool read_key(const char*& at, const char* end, Sink& sink) {
        Text inside;
        bool escaped = false;
        if (at == end || *at != '"' || !read_string(at, end, inside, escaped) || !sink.key(inside, escaped)) return false;
        skip_space(at, end);
        return skip(at, end, ":");
    }
    template <class Sink>
    static bool read_scalar(const char*& at, const char* end, Sink& sink) {
        switch (*at) {
            case 'n': return skip(at, end, "null") && sink.literal(Kind::null, {at - 4, 4});
            case 't': return skip(at, end, "true") && sink.literal(Kind::boolean, {at - 4, 4});
            case 'f': return skip(at, end, "false") && sink.literal(Kind::boolean, {at - 5, 5});
            case '"': {
                Text inside;
                bool escaped = false;
                return read_string(at, end, inside, escaped) && sink.string(inside, escaped);
            }
            default: return sink.number(at, end);
        }
    }
    // A string, from its opening quote.
    static bool read_string(const char*& at, const char* end, Text& inside, bool& escaped) {
        const char* const begin = at + 1;
        for (const char* read = begin; (read = find_special(read, end)) < end;) {
            if (*read == '"') {
                inside = between(begin, read);
                at = read + 1;
                return true;
            }
            if (*read != '\\' || !skip_escape(read, end)) break;
            escaped = true;
        }
        at = begin;
        return false;
    }
    // The first quote, slash or control character; eight bytes at a time.
    static const char* find_special(const char* at, const char* end) {
        constexpr std::uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
        const auto below = [](std::uint64_t word, std::uint64_t limit) { return (word - ones * limit) & ~word & high; };
        for (; end - at >= 8; at += 8) {
            std::uint64_t word;
            std::memcpy(&word, at, 8);
            // The lowest bit is that of the first such byte: what is borrowed makes mistakes only above it.
            const std::uint64_t found = below(word ^ ones * '"', 1) | below(word ^ ones * '\\', 1) | below(word, 0x20);
            if (found != 0) return at + count_trailing_zeros(found) / 8;
        }
        while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
        return at;
    }
    static bool skip_escape(const char*& at, const char* end) {
        if (end - at < 2) return false;
        if (at[1] != 'u') {
            if (std::memchr("\"\\/bfnrt", at[1], 8) == nullptr) return false;
            at += 2;
            return true;
        }
        if (end - at < 6) return false;
        for (int i = 2; i < 6; ++i) {
            const char lower = static_cast<char>(at[i] | 0x20);
            if (!is_digit(at[i]) && !(lower >= 'a' && lower <= 'f')) return false;
        }
        at += 6;
        return true;
    }

    std::string closing_;  // how the containers end that are open
};

}  // namespace pe::json
