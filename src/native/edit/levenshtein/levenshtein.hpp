// Levenshtein distances of many texts, of sequences, and with weights. No threads: a caller that has several gives each
// its own workspace and a part of the rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../core/portable.hpp"
#include "../../core/text.hpp"
#include "batch.hpp"
#include "options.hpp"
#include "pair.hpp"
#include "weighted.hpp"
#include "workspace.hpp"

namespace pe::edit {

// The distance over code points of left[i] and right[i] for each i < count, both lowercased first if options.fold_case and
// then cut to their first options.max_chars code points.
template <class Measure>
void measure_many(const Text* left, const Text* right, std::size_t count, const EditOptions& options, EditResult* results,
                  LevenshteinWorkspace& workspace) {
    // Texts of a column that was filtered, sorted or sliced are anywhere in memory.
    constexpr std::size_t ahead = 32;
    EditBatch<Measure> batch(left, right, options, results, workspace);
    for (std::size_t row = 0; row < count; ++row) {
        if (row + ahead < count) {
            prefetch(left[row + ahead].data());
            prefetch(right[row + ahead].data());
        }
        batch.add(row);
    }
    batch.finish();
}

inline void levenshtein_many(const Text* left, const Text* right, std::size_t count, const EditOptions& options,
                             EditResult* results, LevenshteinWorkspace& workspace) {
    measure_many<LevenshteinMeasure>(left, right, count, options, results, workspace);
}

// The distance of two sequences of any symbols.
inline std::uint32_t levenshtein_sequence(const std::uint32_t* left, std::size_t left_size, const std::uint32_t* right,
                                          std::size_t right_size, LevenshteinWorkspace& workspace) {
    const NumberedPair pair = number_pair(left, left_size, right, right_size, workspace);
    return pair_distance(pair.left, pair.right, pair.symbols, workspace);
}

}  // namespace pe::edit
