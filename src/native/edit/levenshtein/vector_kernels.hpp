// The kernels of a target, as plain data and functions. There is nothing here that both sides would compile: the linker
// could pick the version for a machine that this one is not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../unicode/blocks.hpp"

namespace pe::edit::vector_kernels {

// Longest text that the kernels of short pairs take, and how many pairs they take at once.
constexpr std::size_t short_size = 32, short_pairs = 16;
constexpr std::size_t middling_size = 64, middling_pairs = 8;
constexpr std::size_t double_size = 128, double_pairs = 8;

struct ShortPair {
    const std::uint8_t* left;
    const std::uint8_t* right;
    std::uint32_t left_size;
    std::uint32_t right_size;
};

// Rows of the dynamic programme that one machine word holds.
constexpr std::size_t block_rows = 64;
constexpr std::size_t most_lane_blocks = 6;
constexpr std::size_t pairs_at_once = 4;

struct BytePair {
    std::uint8_t* pattern;
    std::uint8_t* text;
    std::size_t pattern_size;
    std::size_t text_size;
};

// Memory for the kernels of longer texts.
struct BlockScratch {
    std::uint64_t* table;    // symbols * symbol_words, for symbols below `symbols`; zero before and after
    std::uint32_t* offsets;  // columns + column_slack, pairs_at_once times for several pairs
    std::uint64_t* carries;  // (columns + column_slack) * most_carries, pairs_at_once times for several pairs
    bool (*is_stopped)();    // whether the value is wanted no more
};
// Mean and mean deviation of distances as shares of the longer text; nothing yet where `spread` is 0.
struct DistanceGuess {
    double mean, spread;
};
constexpr std::size_t distance_guesses = 17;

// Memory for several long pairs in turn.
struct SuperblockScratch {
    std::uint64_t* tables;   // superblock_words
    std::uint64_t* carries;  // pairs_at_once times (columns + column_slack) * most_carries
    std::size_t turn_carries;
    DistanceGuess* guesses;  // distance_guesses, by the ratio of the sizes
    bool (*is_stopped)();
};
constexpr std::size_t superblock_words = pairs_at_once * 256 * 8;
constexpr std::size_t symbol_words = pairs_at_once * most_lane_blocks;
constexpr std::size_t column_slack = 64;
constexpr std::size_t most_carries = 3;
// Offsets into the table have 32 bits.
constexpr std::size_t most_symbols = UINT32_MAX / symbol_words;

// A sequence with room around it: the kernels may write the `margin` symbols before and after it.
template <typename Symbol>
struct Sequence {
    Symbol* data;
    std::size_t size;
};
constexpr std::size_t margin = 576;

// The kernels of one recurrence. `unused` is a symbol below `symbols` that no sequence has.
struct BlockKernels {
    // Bit i of the result says that pair i has a byte outside ASCII, and that its value means nothing. They read nothing
    // outside the texts.
    using Short = std::uint32_t(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* values);
    Short* short_pairs;
    Short* middling_pairs;
    Short* double_pairs;  // none where the kernel for several pairs is better

    // pairs_at_once pairs, ordered by ascending text_size, with patterns of at most block_rows * most_lane_blocks.
    void (*pairs)(const BytePair* pairs, std::uint8_t unused, const BlockScratch& scratch, std::uint32_t* values);

    // Any number of pairs of more columns than a chunk has.
    using Superblocks = void(const BytePair* pairs, std::size_t count, const SuperblockScratch& scratch, std::uint32_t* values);
    Superblocks* superblocks;  // none where it would be slower than one pair after another

    // One pair of any length.
    template <typename Symbol>
    using Long = std::uint32_t(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused, const BlockScratch& scratch);
    Long<std::uint8_t>* long_bytes;
    Long<std::uint32_t>* long_numbers;
};

// One pair of similar texts, pattern.size >= text.size >= 1: looks only at the 64 * words diagonals around those where the
// texts begin and end (words: 1, 2, 4 or 8; pattern.size - text.size < 64 * words).
struct BandOutcome {
    bool exact;              // whether the distance is proven; the band was too narrow if not
    std::uint32_t distance;  // proven, or what the part seen so far suggests for the whole
};
template <typename Symbol>
using Band = BandOutcome(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused, std::size_t words);

// All kernels of one target.
struct Kernels {
    // Values are Levenshtein distances, those of the optimal string alignment, and lengths of longest common subsequences.
    BlockKernels levenshtein, osa, lcs;
    Band<std::uint8_t>* band_bytes;
    Band<std::uint32_t>* band_numbers;
    unicode::DecodeBlocks* decode;  // none where the portable code is as good
};

}  // namespace pe::edit::vector_kernels
