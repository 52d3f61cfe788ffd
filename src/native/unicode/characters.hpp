// What kind of character a code point is, and its lowercase, by the tables of Polars.
#pragma once

#include <atomic>
#include <iterator>

#include "tables.hpp"
#include "utf8.hpp"

namespace pe::unicode {

// What a table says of each code point, a byte each, in pages of 256; a page that equals the one before it shares its storage.
template <int shift>
class Pages {
public:
    static const Pages& get() {
        static const Pages pages;
        return pages;
    }
    std::uint8_t operator()(std::uint32_t code) const {
        return code < 0x110000 ? bytes_[page_of_[code >> 8]][code & 0xFF] : std::uint8_t{0};
    }

private:
    using Page = std::array<std::uint8_t, 256>;
    Pages() {
        const char* run = character_runs;
        std::uint8_t byte = 0;
        std::size_t left = 0;  // of the run
        for (std::uint32_t first = 0; first < 0x110000; first += 256) {
            Page page;
            for (std::uint8_t& kinds : page) {
                if (left == 0) {
                    byte = static_cast<std::uint8_t>(character_classes[*run < 'a' ? *run - 'A' : *run - 'a' + 26] >> shift);
                    for (++run; *run >= '0' && *run <= '9'; ++run) left = 10 * left + static_cast<std::size_t>(*run - '0');
                    left += left == 0;
                }
                kinds = byte;
                --left;
            }
            if (bytes_.empty() || bytes_.back() != page) bytes_.push_back(page);
            page_of_[first >> 8] = static_cast<std::uint16_t>(bytes_.size() - 1);
        }
    }
    std::array<std::uint16_t, 0x1100> page_of_{};
    std::vector<Page> bytes_;
};
using CharacterPages = Pages<0>;
using SigmaPages = Pages<8>;

inline bool is_kind(std::uint32_t code, std::uint8_t kinds) { return (CharacterPages::get()(code) & kinds) != 0; }

inline constexpr bool is_ascii_space(unsigned char c) {
    return static_cast<unsigned char>(c - 9) < 5 || static_cast<unsigned char>(c - 28) < 5;
}
inline constexpr bool is_ascii_digit(unsigned char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline constexpr bool is_ascii_letter(unsigned char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
inline constexpr bool is_ascii_alphanumeric(unsigned char c) { return is_ascii_digit(c) || is_ascii_letter(c); }
// Python's string.punctuation.
inline constexpr bool is_ascii_punctuation(unsigned char c) { return c > 0x20 && c < 0x7F && !is_ascii_alphanumeric(c); }

// What Python's \w matches, but for the underscore.
inline bool is_alphanumeric(std::uint32_t code) {
    return code < 0x80 ? is_ascii_alphanumeric(static_cast<unsigned char>(code)) : is_kind(code, kind_alphanumeric);
}

// White space as Python's str.split sees it.
inline bool is_space(std::uint32_t code) {
    return code < 0x80 ? is_ascii_space(static_cast<unsigned char>(code)) : is_kind(code, kind_space);
}

// White space as Polars and its regular expressions see it.
inline bool is_white(std::uint32_t code) { return is_space(code) && !(code >= 0x1C && code <= 0x1F); }

// The text without white space at its end.
inline Text strip_end(Text text, bool (*is_blank)(std::uint32_t) = is_space) {
    const char *begin = text.data(), *end = begin + text.size();
    for (const char* at = end; begin < end && is_blank(previous(begin, at)); end = at) {
    }
    return between(begin, end);
}

// The text without white space at its ends.
inline Text strip(Text text, bool (*is_blank)(std::uint32_t) = is_space) {
    text = strip_end(text, is_blank);
    const char *begin = text.data(), *end = begin + text.size();
    for (const char* at = begin; begin < end && is_blank(next(at, end)); begin = at) {
    }
    return between(begin, end);
}

// What is added to a capital for its lowercase, in pages of 256; those without any capital share page 0.
class LowercasePages {
public:
    static const LowercasePages& get() {
        static const LowercasePages pages;
        return pages;
    }
    std::uint32_t operator()(std::uint32_t code) const {
        const std::size_t page = code >> 8;
        return page < page_count ? code + offsets_[page_of_[page]][code & 0xFF] : code;
    }

private:
    static constexpr std::size_t page_count = 0x1EA;
    LowercasePages() : page_of_{}, offsets_(1) {
        std::int32_t first = 0;
        for (const std::int32_t* run = lowercase_runs; run < std::end(lowercase_runs); run += 4) {
            first += run[0];
            for (std::int32_t i = 0; i < run[1]; ++i) {
                const auto code = static_cast<std::uint32_t>(first + i * run[2]);
                std::uint16_t& page = page_of_.at(code >> 8);
                if (page == 0) {
                    page = static_cast<std::uint16_t>(offsets_.size());
                    offsets_.emplace_back();
                }
                offsets_[page][code & 0xFF] = static_cast<std::uint32_t>(run[3]);
            }
        }
    }
    std::array<std::uint16_t, page_count> page_of_;
    std::vector<std::array<std::uint32_t, 256>> offsets_;  // added modulo 2^32
};

inline constexpr std::uint32_t capital_sigma = 0x3A3, small_sigma = 0x3C3, final_sigma = 0x3C2;
inline constexpr std::uint32_t dotted_capital_i = 0x130, dot_above = 0x307;

// The first of the two bits of the installed Polars. Set once, when the package is loaded.
inline constexpr int sigma_1_40 = 0, sigma_1_35 = 2;
inline std::atomic<int> sigma_bits{sigma_1_40};

// A capital sigma at [sigma, after) is final when a letter with case stands before it and none follows.
inline bool is_final_sigma(Text text, const char* sigma, const char* after) {
    const int bits = sigma_bits.load(std::memory_order_relaxed);
    const auto is_ignorable = [bits](std::uint32_t code) { return SigmaPages::get()(code) >> bits & 1; };
    const auto is_cased = [bits](std::uint32_t code) { return SigmaPages::get()(code) >> (bits + 1) & 1; };
    const char* at = sigma;
    std::uint32_t code = 0;
    do {
        if (at == text.data()) return false;
        code = previous(text.data(), at);
    } while (is_ignorable(code));
    if (!is_cased(code)) return false;
    const char* end = text.data() + text.size();
    for (at = after; at < end;) {
        code = next(at, end);
        if (!is_ignorable(code)) return !is_cased(code);
    }
    return true;
}

// Lowercases eight ASCII characters: the two sums carry into the high bit of each byte from 'A' and from behind 'Z' on.
inline std::uint64_t lower_eight(std::uint64_t bytes) {
    constexpr std::uint64_t each = 0x0101010101010101u;
    const std::uint64_t from_a = bytes + each * (0x80 - 'A'), behind_z = bytes + each * (0x80 - 'Z' - 1);
    return bytes | ((from_a & ~behind_z & each * 0x80) >> 2);
}

// Copies the text, lowercased if `fold_case`. False as soon as there is something else than ASCII.
template <bool fold_case>
bool copy_ascii(Text from, std::uint8_t* to) {
    const auto copy_eight = [&](std::size_t at) {
        std::uint64_t bytes;
        std::memcpy(&bytes, from.data() + at, 8);
        if ((bytes & 0x8080808080808080u) != 0) return false;
        if (fold_case) bytes = lower_eight(bytes);
        std::memcpy(to + at, &bytes, 8);
        return true;
    };
    if (from.size() >= 8) {
        for (std::size_t at = 0; at < from.size() - 8; at += 8)
            if (!copy_eight(at)) return false;
        return copy_eight(from.size() - 8);
    }
    for (std::size_t at = 0; at < from.size(); ++at)
        to[at] = static_cast<std::uint8_t>(fold_case ? ascii_lower(from[at]) : from[at]);
    return is_ascii(from);
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
