// The kernels of one target, compiled for it. Included by the source file of a target alone.
#pragma once

#include "band.hpp"
#include "blocks.hpp"
#include "short.hpp"
#include "vector_kernels.hpp"

namespace {

template <class Recurrence>
constexpr pe::vector_kernels::BlockKernels block_kernels() {
    return {run_short<Recurrence, Halves, std::uint32_t>, run_short<Recurrence, Words, std::uint64_t>,
            run_short<Recurrence, Words, std::uint64_t, 2>, run_all_pairs<Recurrence>, run_long<Recurrence, std::uint8_t>, run_long<Recurrence, std::uint32_t>};
}

constexpr pe::vector_kernels::Kernels kernels_of_target() {
    return {block_kernels<Levenshtein>(), block_kernels<Osa>(), block_kernels<Lcs>(), run_band_of<std::uint8_t>,
            run_band_of<std::uint32_t>};
}

}  // namespace
