// The kernels of one target, compiled for it under the name that its source file gives. What that file includes keeps its code
// in anonymous namespaces and uses no templates of the standard library: those could be shared with, and end up in, code for
// other machines.
#pragma once

#include "band.hpp"
#include "blocks.hpp"
#include "short.hpp"
#include "superblocks.hpp"
#include "utf8.hpp"
#include "vector_kernels.hpp"

namespace {

// Only AVX-512 compares fast enough for them: elsewhere tables of match bits take less time, and fewer instructions.
#if defined(__AVX512BW__)
template <class Recurrence>
constexpr auto double_kernel = run_short<Recurrence, WideWords, std::uint64_t, 2>;
// And only with it do operations take less time than what merges the loads of several texts.
template <class Recurrence>
constexpr auto superblock_kernel = run_superblocks<Recurrence>;
#else
template <class Recurrence>
constexpr pe::edit::vector_kernels::BlockKernels::Short* double_kernel = nullptr;
template <class Recurrence>
constexpr pe::edit::vector_kernels::BlockKernels::Superblocks* superblock_kernel = nullptr;
#endif

template <class Recurrence>
constexpr pe::edit::vector_kernels::BlockKernels block_kernels() {
    return {run_short<Recurrence, WideHalves, std::uint32_t>,
            run_short<Recurrence, WideWords, std::uint64_t>,
            double_kernel<Recurrence>,
            run_all_pairs<Recurrence>,
            superblock_kernel<Recurrence>,
            run_long<Recurrence, std::uint8_t>,
            run_long<Recurrence, std::uint32_t>};
}

constexpr pe::edit::vector_kernels::Kernels kernels_of_target() {
    return {block_kernels<Levenshtein>(), block_kernels<Osa>(),       block_kernels<Lcs>(),
            run_band_of<std::uint8_t>,    run_band_of<std::uint32_t>, decode_blocks};
}

}  // namespace

namespace pe::edit::vector_kernels {

extern const Kernels PE_KERNELS;
const Kernels PE_KERNELS = kernels_of_target();

}  // namespace pe::edit::vector_kernels
