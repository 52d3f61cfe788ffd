// The distance of one pair of sequences of small numbers, by the kernel that suits it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "affix.hpp"
#include "measures.hpp"
#include "vector_kernels.hpp"
#include "workspace.hpp"

namespace pe::edit {

using vector_kernels::Sequence;

// Byte sequences leave out this value, which marks the places where nothing may match.
constexpr std::uint8_t unused_byte = 0xFF;
constexpr std::size_t byte_symbols = 256;

inline std::size_t block_count(std::size_t rows) { return (rows + 63) / 64; }

template <typename Symbol>
void strip_affixes(Sequence<Symbol>& left, Sequence<Symbol>& right) {
    const std::size_t prefix = common_prefix(left.data, right.data, std::min(left.size, right.size));
    left = {left.data + prefix, left.size - prefix};
    right = {right.data + prefix, right.size - prefix};
    const std::size_t suffix = common_suffix(left.data + left.size, right.data + right.size, std::min(left.size, right.size));
    left.size -= suffix;
    right.size -= suffix;
}

// Narrow bands of texts without common ends, left.size >= right.size, as long as they cost a fraction of the whole and the
// distance seen so far suggests that they can hold it. Whether one did.
template <class Measure, typename Symbol>
bool try_bands(Sequence<Symbol> longer, Sequence<Symbol> shorter, Symbol unused, LevenshteinWorkspace& workspace,
               std::uint32_t& distance) {
    if constexpr (Measure::has_band) {
        const std::size_t blocks = block_count(longer.size);
        std::size_t expected = longer.size - shorter.size;
        for (std::size_t words = 1; words <= 8 && blocks >= 8 * words; words *= 2) {
            if (expected >= 64 * words) continue;
            vector_kernels::BandOutcome outcome;
            if constexpr (sizeof(Symbol) == 1) outcome = workspace.vectors->band_bytes(longer, shorter, unused, words);
            else outcome = workspace.vectors->band_numbers(longer, shorter, unused, words);
            distance = outcome.distance;
            if (outcome.exact) return true;
            expected = outcome.distance;
        }
    }
    return false;
}

// Long texts, the whole table.
template <class Measure, typename Symbol>
std::uint32_t whole_pair_distance(Sequence<Symbol> longer, Sequence<Symbol> shorter, std::size_t symbols,
                                  LevenshteinWorkspace& workspace) {
    const vector_kernels::BlockKernels& kernels = Measure::kernels(*workspace.vectors);
    const auto unused = static_cast<Symbol>(symbols - 1);
    std::uint32_t value;
    // Blocks come in fours: the side with less to pad gives the rows.
    const std::size_t longer_cost = (block_count(longer.size) + 3) / 4 * shorter.size;
    const std::size_t shorter_cost = (block_count(shorter.size) + 3) / 4 * longer.size;
    if (shorter_cost < longer_cost) std::swap(longer, shorter);
    const vector_kernels::BlockScratch scratch = workspace.blocks_for(symbols, shorter.size);
    if constexpr (sizeof(Symbol) == 1) value = kernels.long_bytes(longer, shorter, unused, scratch);
    else value = kernels.long_numbers(longer, shorter, unused, scratch);
    return Measure::distance(value, longer.size, shorter.size);
}

// Symbols are below `symbols`, and the largest of these appears in neither sequence.
template <class Measure = LevenshteinMeasure, typename Symbol>
std::uint32_t pair_distance(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t symbols,
                            LevenshteinWorkspace& workspace) {
    strip_affixes(left, right);
    if (left.size < right.size) std::swap(left, right);
    if (right.size == 0) return static_cast<std::uint32_t>(left.size);
    if (workspace.vectors != nullptr && right.size > 64 && symbols <= vector_kernels::most_symbols) {
        std::uint32_t distance;
        if (try_bands<Measure>(left, right, static_cast<Symbol>(symbols - 1), workspace, distance)) return distance;
        return whole_pair_distance<Measure>(left, right, symbols, workspace);
    }
    if (block_count(right.size) * left.size < block_count(left.size) * right.size) std::swap(left, right);
    const std::uint32_t value = Measure::scalar(left.data, left.size, right.data, right.size, symbols, workspace.scalar);
    return Measure::distance(value, left.size, right.size);
}

// Numbers the symbols of a pair into the workspace, with the margins that the kernels want. Returns how many values the
// numbers take, one of them unused.
struct NumberedPair {
    Sequence<std::uint32_t> left, right;
    std::size_t symbols;
};

inline NumberedPair number_pair(const std::uint32_t* left, std::size_t left_size, const std::uint32_t* right,
                                std::size_t right_size, LevenshteinWorkspace& workspace) {
    using vector_kernels::margin;
    workspace.left_numbers.resize(std::max(workspace.left_numbers.size(), left_size + 2 * margin));
    workspace.right_numbers.resize(std::max(workspace.right_numbers.size(), right_size + 2 * margin));
    std::uint32_t* left_numbers = workspace.left_numbers.data() + margin;
    std::uint32_t* right_numbers = workspace.right_numbers.data() + margin;
    // Equal right sides get equal numbers.
    const std::size_t largest = workspace.numbering.number(right, right_size, left, left_size, right_numbers, left_numbers);
    return {{left_numbers, left_size}, {right_numbers, right_size}, largest + 2};
}

}  // namespace pe::edit
