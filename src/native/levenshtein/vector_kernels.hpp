// The kernels of avx2.cpp, as plain data and functions: this header holds no code, so that nothing compiled for AVX2 can
// be picked by the linker for a machine without it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pe::vector_kernels {

// Longest text of a pair that `short_distances` takes, and how many pairs it takes at once.
constexpr std::size_t short_size = 32;
constexpr std::size_t short_pairs = 16;

struct ShortPair {
    const std::uint8_t* left;
    const std::uint8_t* right;
    std::uint32_t left_size;
    std::uint32_t right_size;
};

// Up to `short_pairs` pairs at once. Bit i of the result says that pair i has a byte outside ASCII, and that its distance
// means nothing. Reads nothing outside the texts.
std::uint32_t short_distances(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances);

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

// Words of table that the kernels below need for symbols below `symbols`. The table starts out zero, and is zero again
// when they return; it is aligned to 32 bytes.
constexpr std::size_t table_words(std::size_t symbols) { return symbols * lanes * most_lane_blocks; }

// Four pairs at once, one a lane, ordered by ascending text_size.
void four_distances(const BytePair* pairs, std::uint64_t* table, std::uint32_t* distances);

// A sequence with room around it: the kernels may write the `margin` symbols before and after it.
template <typename Symbol>
struct Sequence {
    Symbol* data;
    std::size_t size;
};
constexpr std::size_t margin = 576;

// One pair of any length. `unused` is a symbol below the table's `symbols` that neither sequence has; `carries` has room
// for text.size + carry_slack values.
constexpr std::size_t carry_slack = 16;
std::uint32_t long_distance(Sequence<std::uint8_t> pattern, Sequence<std::uint8_t> text, std::uint8_t unused,
                            std::uint64_t* table, std::uint64_t* carries);
std::uint32_t long_distance(Sequence<std::uint32_t> pattern, Sequence<std::uint32_t> text, std::uint32_t unused,
                            std::uint64_t* table, std::uint64_t* carries);

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
