// What kind of character a code point is, by the tables of Polars' regular expressions.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "character_table.hpp"
#include "decode.hpp"
#include "padded.hpp"

namespace pe::unicode {

// Pages of 256 code points; a page that equals the one before it shares its storage.
class CharacterPages {
public:
    static const CharacterPages& get() {
        static const CharacterPages pages;
        return pages;
    }
    std::uint8_t operator()(std::uint32_t code) const {
        return code < 0x110000 ? kinds_[page_of_[code >> 8]][code & 0xFF] : std::uint8_t{0};
    }

private:
    using Page = std::array<std::uint8_t, 256>;
    CharacterPages() {
        std::size_t run = 0;
        for (std::uint32_t first = 0; first < 0x110000; first += 256) {
            Page page;
            for (std::uint32_t i = 0; i < 256; ++i) {
                while (run + 1 < std::size(character_runs) && character_runs[run + 1] >> 8 <= first + i) ++run;
                page[i] = static_cast<std::uint8_t>(character_runs[run]);
            }
            if (kinds_.empty() || kinds_.back() != page) kinds_.push_back(page);
            page_of_[first >> 8] = static_cast<std::uint16_t>(kinds_.size() - 1);
        }
    }
    std::array<std::uint16_t, 0x1100> page_of_{};
    std::vector<Page> kinds_;
};

inline bool is_kind(std::uint32_t code, std::uint8_t kinds) { return (CharacterPages::get()(code) & kinds) != 0; }

inline constexpr bool is_ascii_space(unsigned char c) {
    return static_cast<unsigned char>(c - 9) < 5 || static_cast<unsigned char>(c - 28) < 5;
}
inline constexpr bool is_ascii_digit(unsigned char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline constexpr bool is_ascii_letter(unsigned char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
// Python's string.punctuation.
inline constexpr bool is_ascii_punctuation(unsigned char c) {
    return c > 0x20 && c < 0x7F && !is_ascii_digit(c) && !is_ascii_letter(c);
}

// What Python's \w matches, but for the underscore.
inline bool is_alphanumeric(std::uint32_t code) {
    if (code >= 0x80) return is_kind(code, kind_alphanumeric);
    return is_ascii_digit(static_cast<unsigned char>(code)) || is_ascii_letter(static_cast<unsigned char>(code));
}

// White space as Python's str.split sees it.
inline bool is_space(std::uint32_t code) {
    return code < 0x80 ? is_ascii_space(static_cast<unsigned char>(code)) : is_kind(code, kind_space);
}

// The text without white space at its end.
inline Text strip_end(Text text) {
    const char* const begin = text.data();
    const char* end = begin + text.size();
    while (begin < end) {
        const char* at = end;
        if (!is_space(previous(begin, at))) break;
        end = at;
    }
    return {begin, static_cast<std::size_t>(end - begin)};
}

// The text without white space at its ends.
inline Text strip(Text text) {
    text = strip_end(text);
    const char* begin = text.data();
    const char* const end = begin + text.size();
    while (begin < end) {
        const char* at = begin;
        if (!is_space(next(at, end))) break;
        begin = at;
    }
    return {begin, static_cast<std::size_t>(end - begin)};
}

// How many bytes of ASCII the text starts with, eight at a time.
inline std::size_t ascii_eights(const char* at, const char* end) {
    const char* const begin = at;
    for (; end - at >= 8; at += 8) {
        std::uint64_t eight;
        std::memcpy(&eight, at, 8);
        if (eight & 0x8080808080808080u) break;
    }
    return static_cast<std::size_t>(at - begin);
}

}  // namespace pe::unicode
