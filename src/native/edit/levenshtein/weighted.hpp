// Edits that cost differently.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../../core/interrupt.hpp"
#include "pair.hpp"
#include "scalar.hpp"
#include "workspace.hpp"

namespace pe::edit {

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
                                         std::size_t right_size, std::int64_t insert, std::int64_t remove,
                                         std::int64_t substitute, LevenshteinWorkspace& workspace) {
    const auto sizes = static_cast<std::int64_t>(left_size + right_size);
    const std::int64_t safe = std::numeric_limits<std::int64_t>::max() / 4 / (sizes + 1);
    const bool is_safe = std::max({insert, remove, substitute}) <= safe;
    // There are always right_size - left_size more insertions than removals. So only insert + remove matters to which
    // edits are best, and the rest is a constant.
    if (is_safe && insert + remove == 2 * substitute) {
        const NumberedPair pair = number_pair(left, left_size, right, right_size, workspace);
        const std::int64_t edits = pair_distance(pair.left, pair.right, pair.symbols, workspace);
        const std::int64_t longer_by = static_cast<std::int64_t>(right_size) - static_cast<std::int64_t>(left_size);
        return edits * substitute + longer_by * (insert - substitute);
    }
    // A substitution that costs no less than a removal and an insertion is never needed: what stays is the longest common
    // subsequence.
    if (is_safe && insert + remove <= substitute) {
        const NumberedPair pair = number_pair(left, left_size, right, right_size, workspace);
        const auto kept = static_cast<std::int64_t>(
            scalar_lcs(pair.left.data, left_size, pair.right.data, right_size, pair.symbols, workspace.scalar));
        return (static_cast<std::int64_t>(left_size) - kept) * remove + (static_cast<std::int64_t>(right_size) - kept) * insert;
    }
    return weighted_table_distance(left, left_size, right, right_size, {insert, remove, substitute});
}

}  // namespace pe::edit
