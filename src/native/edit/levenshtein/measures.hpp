// The distances that bit-parallel kernels compute, each by its kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "scalar.hpp"
#include "vector_kernels.hpp"

namespace pe::edit {

// Insertions, deletions and substitutions.
struct LevenshteinMeasure {
    static constexpr bool has_band = true;
    static const vector_kernels::BlockKernels& kernels(const vector_kernels::Kernels& target) { return target.levenshtein; }
    static std::uint32_t distance(std::uint32_t value, std::size_t, std::size_t) { return value; }
    template <typename... Arguments>
    static std::uint32_t scalar(Arguments&&... arguments) {
        return scalar_distance(arguments...);
    }
};

// And swaps of neighbours, with no character edited twice.
struct OsaMeasure {
    static constexpr bool has_band = false;
    static const vector_kernels::BlockKernels& kernels(const vector_kernels::Kernels& target) { return target.osa; }
    static std::uint32_t distance(std::uint32_t value, std::size_t, std::size_t) { return value; }
    template <typename... Arguments>
    static std::uint32_t scalar(Arguments&&... arguments) {
        return scalar_osa(arguments...);
    }
};

// Insertions and deletions only: what is not in the longest common subsequence.
struct IndelMeasure {
    static constexpr bool has_band = false;
    static const vector_kernels::BlockKernels& kernels(const vector_kernels::Kernels& target) { return target.lcs; }
    static std::uint32_t distance(std::uint32_t value, std::size_t left_size, std::size_t right_size) {
        return static_cast<std::uint32_t>(left_size + right_size - 2 * std::size_t{value});
    }
    template <typename... Arguments>
    static std::uint32_t scalar(Arguments&&... arguments) {
        return static_cast<std::uint32_t>(scalar_lcs(arguments...));
    }
};

}  // namespace pe::edit
