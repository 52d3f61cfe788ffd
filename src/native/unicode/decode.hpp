// From UTF-8 to code points, and Unicode lowercasing as Polars does it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "../core/portable.hpp"
#include "../core/text.hpp"
#include "blocks.hpp"
#include "lowercase_table.hpp"
#include "sigma_1_35_table.hpp"
#include "sigma_1_40_table.hpp"
#include "utf8.hpp"

namespace pe::unicode {

inline bool is_ascii(Text text) {
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t seen = 0;
    for (; left >= 32; at += 32, left -= 32) {
        std::uint64_t words[4];
        std::memcpy(words, at, 32);
        seen |= words[0] | words[1] | words[2] | words[3];
        if (seen & 0x8080808080808080u) return false;
    }
    for (; left > 0; ++at, --left) seen |= static_cast<unsigned char>(*at);
    return (seen & 0x8080808080808080u) == 0;
}

inline constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// The code point at `at`, which it moves behind. Bytes that are not UTF-8 give U+FFFD, one byte each: Polars never
// holds such text, but foreign Arrow buffers might, and no input may read past its end.
inline std::uint32_t next(const char*& at, const char* end) {
    const auto lead = static_cast<unsigned char>(*at++);
    if (lead < 0x80) return lead;
    const auto byte = [&at](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])); };
    const auto follows = [&byte](int i) { return (byte(i) & 0xC0) == 0x80; };
    if (lead < 0xE0) {
        if (lead < 0xC2 || end - at < 1 || !follows(0)) return replacement;
        const std::uint32_t code = (lead & 0x1Fu) << 6 | (byte(0) & 0x3F);
        at += 1;
        return code;
    }
    if (lead < 0xF0) {
        if (end - at < 2 || !follows(0) || !follows(1)) return replacement;
        const std::uint32_t code = (lead & 0x0Fu) << 12 | (byte(0) & 0x3F) << 6 | (byte(1) & 0x3F);
        at += 2;
        return code;
    }
    if (lead > 0xF4 || end - at < 3 || !follows(0) || !follows(1) || !follows(2)) return replacement;
    const std::uint32_t code = (lead & 0x07u) << 18 | (byte(0) & 0x3F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    at += 3;
    return code;
}

// Whether a byte is not the first one of a character.
inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The same for loops over texts beyond ASCII: characters of two and three bytes are read without a call.
PE_ALWAYS_INLINE std::uint32_t next_inline(const char*& at, const char* end) {
    const auto byte = [at](int i) { return static_cast<unsigned char>(at[i]); };
    const unsigned lead = byte(0);
    if (lead - 0xC2 < 0xE0 - 0xC2 && end - at >= 2 && continues(at[1])) {
        const std::uint32_t code = (lead & 0x1F) << 6 | (byte(1) & 0x3Fu);
        at += 2;
        return code;
    }
    if (lead - 0xE0 < 0xF0 - 0xE0 && end - at >= 3 && continues(at[1]) && continues(at[2])) {
        const std::uint32_t code = (lead & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
        at += 3;
        return code;
    }
    return next(at, end);
}

// The code point before `at`, which it moves in front of.
inline std::uint32_t previous(const char* begin, const char*& at) {
    const char* end = at--;
    while (at > begin && end - at < 4 && (static_cast<unsigned char>(*at) & 0xC0) == 0x80) --at;
    const char* read = at;
    const std::uint32_t code = next(read, end);
    if (read != end) {
        at = end - 1;
        return replacement;
    }
    return code;
}

// Pages of 256 code points; those without any capital share page 0.
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
    static constexpr std::size_t page_count = (lowercase_runs[std::size(lowercase_runs) - 1].last >> 8) + 1;
    LowercasePages() : page_of_{}, offsets_(1) {
        for (const LowercaseRun& run : lowercase_runs) {
            for (std::uint32_t code = run.first; code <= run.last; code += run.step) {
                std::uint16_t& page = page_of_[code >> 8];
                if (page == 0) {
                    page = static_cast<std::uint16_t>(offsets_.size());
                    offsets_.emplace_back();
                }
                offsets_[page][code & 0xFF] = static_cast<std::uint32_t>(run.offset);
            }
        }
    }
    std::array<std::uint16_t, page_count> page_of_;
    std::vector<std::array<std::uint32_t, 256>> offsets_;  // added modulo 2^32
};

inline constexpr std::uint32_t capital_sigma = 0x3A3, small_sigma = 0x3C3, final_sigma = 0x3C2;
inline constexpr std::uint32_t dotted_capital_i = 0x130, dot_above = 0x307;

// The table of the installed Polars, by the first release that has it. Set once, when the package is loaded.
inline std::atomic<const SigmaTable*> sigma_table{&sigma_1_40};

// A capital sigma at [sigma, after) is final when a letter with case stands before it and none follows.
inline bool is_final_sigma(Text text, const char* sigma, const char* after) {
    const SigmaTable& table = *sigma_table.load(std::memory_order_relaxed);
    const char* at = sigma;
    std::uint32_t code = 0;
    do {
        if (at == text.data()) return false;
        code = previous(text.data(), at);
    } while (table.ignorable.contain(code));
    if (!table.cased.contain(code)) return false;
    const char* end = text.data() + text.size();
    for (at = after; at < end;) {
        code = next(at, end);
        if (!table.ignorable.contain(code)) return !table.cased.contain(code);
    }
    return true;
}

// Eight ASCII characters as code points, lowercased if `fold_case`; false, and nothing written, if there is anything else.
inline bool decode_eight(const char* from, bool fold_case, std::uint32_t* to) {
    std::uint64_t eight;
    std::memcpy(&eight, from, 8);
    if (eight & 0x8080808080808080u) return false;
    for (int i = 0; i < 8; ++i) {
        const auto byte = static_cast<unsigned char>(from[i]);
        const bool is_upper = fold_case & (static_cast<unsigned char>(byte - 'A') < 26);
        to[i] = byte | static_cast<std::uint32_t>(is_upper) << 5;
    }
    return true;
}

// From UTF-8 to code points, lowercased if `fold_case`: as much of a text as there is room for.
class Decoder {
public:
    Decoder(Text text, bool fold_case, std::uint32_t* to, std::uint32_t* full)
        : text_(text), fold_case_(fold_case), at_(text.data()), end_(at_ + text.size()), to_(to), full_(full) {}

    // By vectors where there are any, and where they cannot, one by one.
    void run(DecodeBlocks* vectors) {
        while (at_ < end_ && to_ < full_) {
            if (vectors != nullptr) {
                if (!decode_blocks(vectors)) decode_until(at_ + block_characters);
            } else if (end_ - at_ >= 8 && decode_eight(at_, fold_case_, to_)) {
                at_ += 8;
                to_ += 8;
            } else decode_until(at_ + 8);
        }
    }
    std::uint32_t* end() const { return to_; }

private:
    bool decode_blocks(DecodeBlocks* vectors) {
        DecodedBlock blocks[most_blocks];
        // Room for a block is all that is sure to be there behind `full_`.
        const auto size = static_cast<std::size_t>(std::min(end_ - at_, full_ - to_));
        const std::size_t count = vectors(reinterpret_cast<const std::uint8_t*>(at_), size, fold_case_, to_, blocks);
        for (std::size_t i = 0; i < count; ++i) {
            for (std::uint64_t left = blocks[i].may_be_capital; left != 0; left &= left - 1) {
                std::uint32_t& code = to_[count_trailing_zeros(left)];
                if (code == capital_sigma || code == dotted_capital_i) return false;
                code = lower_(code);
            }
            at_ += blocks[i].bytes;
            to_ += blocks[i].characters;
        }
        return count > 0;
    }
    // One by one, those that begin before `stop`.
    void decode_until(const char* stop) {
        if (stop > end_) stop = end_;
        while (at_ < stop && to_ < full_) {
            const char* const start = at_;
            std::uint32_t code = next(at_, end_);
            if (fold_case_) {
                if (code == capital_sigma) code = is_final_sigma(text_, start, at_) ? final_sigma : small_sigma;
                else if (code != dotted_capital_i) code = lower_(code);
                else {
                    *to_++ = 'i';
                    code = dot_above;
                }
            }
            *to_++ = code;
        }
    }

    const LowercasePages& lower_ = LowercasePages::get();
    const Text text_;
    const bool fold_case_;
    const char* at_;
    const char* const end_;
    std::uint32_t* to_;
    std::uint32_t* const full_;
};

// The first `max_chars` code points of the text, lowercased before they are counted if `fold_case`.
inline void decode(Text text, bool fold_case, std::size_t max_chars, std::vector<std::uint32_t>& out,
                   DecodeBlocks* vectors = nullptr) {
    // A byte gives at most one code point, but for the two of the dotted capital I, which has two bytes.
    const std::size_t most = std::min(text.size(), max_chars), slack = block_characters;
    if (out.size() < most + slack) out.resize(most + slack);
    Decoder decoder(text, fold_case, out.data(), out.data() + most);
    decoder.run(vectors);
    out.resize(std::min<std::size_t>(static_cast<std::size_t>(decoder.end() - out.data()), max_chars));
}

}  // namespace pe::unicode
