// Bit-parallel kernels for any machine: 64 rows of the dynamic programme a step, memory linear in the texts.
#pragma once

#include "../../core/interrupt.hpp"
#include "../../core/portable.hpp"

namespace pe::edit {

struct ScalarScratch {
    std::vector<std::uint64_t> matches;  // by symbol; all zero between uses
    std::vector<std::uint8_t> horizontal;
};

inline std::uint64_t low_bits(std::size_t count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

// Calls `block(rows)` for each 64 rows of the pattern, with the rows' match bits in scratch.matches. Symbols are below
// `symbols`.
template <typename Symbol, typename Block>
void for_each_block(const Symbol* pattern, std::size_t size, std::size_t symbols, ScalarScratch& scratch, Block&& block) {
    if (scratch.matches.size() < symbols) scratch.matches.resize(symbols);
    for (std::size_t first = 0; first < size && !is_stopped(); first += 64) {
        const std::size_t rows = size - first < 64 ? size - first : 64;
        for (std::size_t i = 0; i < rows; ++i) scratch.matches[pattern[first + i]] |= std::uint64_t{1} << i;
        block(rows);
        for (std::size_t i = 0; i < rows; ++i) scratch.matches[pattern[first + i]] = 0;
    }
}

// Levenshtein distance by Myers' recurrence in Hyyrö's form, a block of rows over all columns before the next block; with
// `swaps` of neighbours that are edited no further.
template <bool swaps, typename Symbol>
std::uint32_t scalar_distance(const Symbol* pattern, std::size_t pattern_size, const Symbol* text, std::size_t text_size,
                              std::size_t symbols, ScalarScratch& scratch) {
    // What the last row of a block hands down, a bit each: that the distance rises, that it falls, and that a swap may begin.
    scratch.horizontal.assign(text_size, 1);
    auto distance = static_cast<std::int64_t>(text_size);
    for_each_block(pattern, pattern_size, symbols, scratch, [&](std::size_t rows) {
        std::uint64_t vp = ~std::uint64_t{0}, vn = 0, d0 = 0, equal_before = 0;
        for (std::size_t j = 0; j < text_size; ++j) {
            const unsigned above = scratch.horizontal[j];
            const std::uint64_t hp_in = above & 1, hn_in = above >> 1 & 1;
            const std::uint64_t equal = scratch.matches[text[j]], swap = swaps ? ~d0 & equal : 0;
            const std::uint64_t x = equal | hn_in;
            d0 = (((x & vp) + vp) ^ vp) | x | vn;
            if (swaps) d0 |= (swap << 1 | above >> 2) & equal_before;
            const std::uint64_t hp = vn | ~(d0 | vp), hn = d0 & vp;
            scratch.horizontal[j] = static_cast<std::uint8_t>(hp >> 63 | hn >> 63 << 1 | swap >> 63 << 2);
            const std::uint64_t hp_above = hp << 1 | hp_in;
            vp = (hn << 1 | hn_in) | ~(d0 | hp_above);
            vn = hp_above & d0;
            equal_before = equal;
        }
        distance += popcount(vp & low_bits(rows));
        distance -= popcount(vn & low_bits(rows));
    });
    return static_cast<std::uint32_t>(distance);
}

// Length of the longest common subsequence (Hyyrö 2004).
template <typename Symbol>
std::size_t scalar_lcs(const Symbol* pattern, std::size_t pattern_size, const Symbol* text, std::size_t text_size,
                       std::size_t symbols, ScalarScratch& scratch) {
    scratch.horizontal.assign(text_size, 0);
    std::size_t length = 0;
    for_each_block(pattern, pattern_size, symbols, scratch, [&](std::size_t rows) {
        std::uint64_t state = ~std::uint64_t{0};
        for (std::size_t j = 0; j < text_size; ++j) {
            const std::uint64_t matched = state & scratch.matches[text[j]];
            const std::uint64_t sum = state + matched;
            const std::uint64_t with_carry = sum + scratch.horizontal[j];
            scratch.horizontal[j] = static_cast<std::uint8_t>(sum < state || with_carry < sum);
            state = with_carry | (state - matched);
        }
        length += popcount(~state & low_bits(rows));
    });
    return length;
}

}  // namespace pe::edit
