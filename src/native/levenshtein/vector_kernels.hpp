// The kernels of avx2.cpp, as plain data and functions. There is nothing here that both sides would compile: the linker
// could pick the AVX2 version for a machine without it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pe::vector_kernels {

// Longest text that the kernels of short pairs take, and how many pairs they take at once.
constexpr std::size_t short_size = 32, short_pairs = 16;
constexpr std::size_t middling_size = 64, middling_pairs = 8;

struct ShortPair {
    const std::uint8_t* left;
    const std::uint8_t* right;
    std::uint32_t left_size;
    std::uint32_t right_size;
};

// Bit i of the result says that pair i has a byte outside ASCII, and that its distance means nothing. They read nothing
// outside the texts.
std::uint32_t short_distances(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances);
std::uint32_t middling_distances(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances);

// Rows of the dynamic programme that one machine word holds.
constexpr std::size_t block_rows = 64;
constexpr std::size_t lanes = 4;
constexpr std::size_t most_lane_blocks = 6;

struct BytePair {
    const std::uint8_t* pattern;
    const std::uint8_t* text;
    std::size_t pattern_size;  // at most block_rows * most_lane_blocks
    std::size_t text_size;
};

// Memory for the kernels of longer texts.
struct BlockScratch {
    std::uint64_t* table;    // symbols * symbol_words, for symbols below `symbols`; aligned to 32 bytes; zero before and after
    std::uint32_t* offsets;  // columns + column_slack for one pair, lanes times as many for four
    std::uint64_t* carries;  // columns + column_slack
};
constexpr std::size_t symbol_words = lanes * most_lane_blocks;
constexpr std::size_t column_slack = 64;
// Offsets into the table have 32 bits.
constexpr std::size_t most_symbols = UINT32_MAX / symbol_words;

// A sequence with room around it: the kernels may write the `margin` symbols before and after it.
template <typename Symbol>
struct Sequence {
    Symbol* data;
    std::size_t size;
};
constexpr std::size_t margin = 576;

// In what follows, `unused` is a symbol below `symbols` that no sequence has.

// Four pairs at once, one a lane, ordered by ascending text_size.
void four_distances(const BytePair* pairs, std::uint8_t unused, const BlockScratch& scratch, std::uint32_t* distances);

// One pair of any length.
std::uint32_t long_distance(Sequence<std::uint8_t> pattern, Sequence<std::uint8_t> text, std::uint8_t unused,
                            const BlockScratch& scratch);
std::uint32_t long_distance(Sequence<std::uint32_t> pattern, Sequence<std::uint32_t> text, std::uint32_t unused,
                            const BlockScratch& scratch);

// One pair of similar texts, pattern.size >= text.size >= 1: looks only at the 64 * words diagonals around those where the
// texts begin and end (words: 1, 2, 4 or 8; pattern.size - text.size < 64 * words).
struct BandOutcome {
    bool exact;              // whether the distance is proven; the band was too narrow if not
    std::uint32_t distance;  // proven, or what the part seen so far suggests for the whole
};
BandOutcome band_distance(Sequence<std::uint8_t> pattern, Sequence<std::uint8_t> text, std::uint8_t unused,
                          std::size_t words);
BandOutcome band_distance(Sequence<std::uint32_t> pattern, Sequence<std::uint32_t> text, std::uint32_t unused,
                          std::size_t words);

}  // namespace pe::vector_kernels
