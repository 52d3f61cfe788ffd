// The distance of one pair of sequences of small numbers, by the kernel that suits it.
#pragma once

#include "../../core/interrupt.hpp"
#include "scalar.hpp"
#include "vector_kernels.hpp"
#include "workspace.hpp"

namespace pe::edit {

template <typename Symbol>
std::size_t common_prefix(const Symbol* left, const Symbol* right, std::size_t size) {
    constexpr std::size_t step = 32 / sizeof(Symbol);
    std::size_t i = 0;
    while (size - i >= step && std::memcmp(left + i, right + i, 32) == 0) i += step;
    while (i < size && left[i] == right[i]) ++i;
    return i;
}

template <typename Symbol>
std::size_t common_suffix(const Symbol* left_end, const Symbol* right_end, std::size_t size) {
    constexpr std::size_t step = 32 / sizeof(Symbol);
    std::size_t i = 0;
    while (size - i >= step && std::memcmp(left_end - i - step, right_end - i - step, 32) == 0) i += step;
    while (i < size && *(left_end - i - 1) == *(right_end - i - 1)) ++i;
    return i;
}

// Levenshtein's has insertions, deletions and substitutions; osa also swaps of neighbours, with no character edited twice;
// indel insertions and deletions only: what is not in the longest common subsequence.
enum class Edits { levenshtein, osa, indel };

template <Edits edits>
struct Measure {
    static constexpr bool has_band = edits == Edits::levenshtein;
    static const vector_kernels::BlockKernels& kernels(const vector_kernels::Kernels& target) {
        return edits == Edits::levenshtein ? target.levenshtein : edits == Edits::osa ? target.osa : target.lcs;
    }
    static std::uint32_t distance(std::uint32_t value, std::size_t left_size, std::size_t right_size) {
        if (edits != Edits::indel) return value;
        return static_cast<std::uint32_t>(left_size + right_size - 2 * std::size_t{value});
    }
    template <typename... Arguments>
    static std::uint32_t scalar(Arguments&&... arguments) {
        if constexpr (edits == Edits::indel) return static_cast<std::uint32_t>(scalar_lcs(arguments...));
        else return scalar_distance<edits == Edits::osa>(arguments...);
    }
};
using LevenshteinMeasure = Measure<Edits::levenshtein>;
using OsaMeasure = Measure<Edits::osa>;
using IndelMeasure = Measure<Edits::indel>;

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
    grow(workspace.left_numbers, left_size + 2 * margin);
    grow(workspace.right_numbers, right_size + 2 * margin);
    std::uint32_t* left_numbers = workspace.left_numbers.data() + margin;
    std::uint32_t* right_numbers = workspace.right_numbers.data() + margin;
    // Equal right sides get equal numbers.
    const std::size_t largest = workspace.numbering.number(right, right_size, left, left_size, right_numbers, left_numbers);
    return {{left_numbers, left_size}, {right_numbers, right_size}, largest + 2};
}

struct EditWeights {
    std::int64_t insert, remove, substitute;
};

// The textbook recurrence, a row at a time. Costs saturate at the largest 64-bit integer.
inline std::int64_t weighted_table_distance(const std::uint32_t* left, std::size_t left_size, const std::uint32_t* right,
                                            std::size_t right_size, const EditWeights& weights) {
    const auto add = [](std::int64_t cost, std::int64_t weight) {
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        return cost > most - weight ? most : cost + weight;
    };
    std::vector<std::int64_t> row(right_size + 1);
    for (std::size_t j = 1; j <= right_size; ++j) row[j] = add(row[j - 1], weights.insert);
    for (std::size_t i = 0; i < left_size; ++i) {
        if (i % 16 == 0) throw_if_stopped();
        std::int64_t diagonal = row[0];
        row[0] = add(row[0], weights.remove);
        for (std::size_t j = 0; j < right_size; ++j) {
            const std::int64_t changed = left[i] == right[j] ? diagonal : add(diagonal, weights.substitute);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, add(row[j], weights.insert), add(diagonal, weights.remove)});
        }
    }
    return row[right_size];
}

// The least cost to turn left into right, for weights that are not negative. A cost beyond 64 bits is the largest 64-bit
// integer.
inline std::int64_t levenshtein_weighted(const std::uint32_t* left, std::size_t left_size, const std::uint32_t* right,
                                         std::size_t right_size, const EditWeights& weights, LevenshteinWorkspace& workspace) {
    const auto [insert, remove, substitute] = weights;
    const auto lefts = static_cast<std::int64_t>(left_size), rights = static_cast<std::int64_t>(right_size);
    const std::int64_t safe = std::numeric_limits<std::int64_t>::max() / 4 / (lefts + rights + 1);
    if (std::max({insert, remove, substitute}) <= safe) {
        // There are always right_size - left_size more insertions than removals. So only insert + remove matters to which
        // edits are best, and the rest is a constant.
        const NumberedPair pair = number_pair(left, left_size, right, right_size, workspace);
        if (insert + remove == 2 * substitute) {
            const std::int64_t edits = pair_distance(pair.left, pair.right, pair.symbols, workspace);
            return edits * substitute + (rights - lefts) * (insert - substitute);
        }
        // A substitution that costs no less than a removal and an insertion is never needed: what stays is the longest
        // common subsequence.
        if (insert + remove <= substitute) {
            const auto kept = static_cast<std::int64_t>(
                scalar_lcs(pair.left.data, left_size, pair.right.data, right_size, pair.symbols, workspace.scalar));
            return (lefts - kept) * remove + (rights - kept) * insert;
        }
    }
    return weighted_table_distance(left, left_size, right, right_size, weights);
}

}  // namespace pe::edit
