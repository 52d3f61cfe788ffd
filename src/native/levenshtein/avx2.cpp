// The only file compiled for AVX2, BMI and POPCNT. What it includes keeps its code in anonymous namespaces and uses no
// templates of the standard library: those could be shared with, and end up in, code for machines without AVX2.
#include "avx2_band.hpp"
#include "avx2_blocks.hpp"
#include "avx2_short.hpp"
#include "vector_kernels.hpp"

namespace pe::vector_kernels {

std::uint32_t short_distances(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances) {
    return run_short<Lanes32>(pairs, count, fold_case, distances);
}

std::uint32_t middling_distances(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances) {
    return run_short<Lanes64>(pairs, count, fold_case, distances);
}

void four_distances(const BytePair* pairs, std::uint8_t unused, const BlockScratch& scratch, std::uint32_t* distances) {
    std::size_t rows = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane)
        rows = pairs[lane].pattern_size > rows ? pairs[lane].pattern_size : rows;
    switch ((rows + block_rows - 1) / block_rows) {
        case 0:
        case 1: return run_four<1>(pairs, unused, scratch, distances);
        case 2: return run_four<2>(pairs, unused, scratch, distances);
        case 3: return run_four<3>(pairs, unused, scratch, distances);
        case 4: return run_four<4>(pairs, unused, scratch, distances);
        case 5: return run_four<5>(pairs, unused, scratch, distances);
        default: return run_four<6>(pairs, unused, scratch, distances);
    }
}

std::uint32_t long_distance(Sequence<std::uint8_t> pattern, Sequence<std::uint8_t> text, std::uint8_t unused,
                            const BlockScratch& scratch) {
    return run_long(pattern, text, unused, scratch);
}

std::uint32_t long_distance(Sequence<std::uint32_t> pattern, Sequence<std::uint32_t> text, std::uint32_t unused,
                            const BlockScratch& scratch) {
    return run_long(pattern, text, unused, scratch);
}

BandOutcome band_distance(Sequence<std::uint8_t> pattern, Sequence<std::uint8_t> text, std::uint8_t unused,
                          std::size_t words) {
    return run_band_of(pattern, text, unused, words);
}

BandOutcome band_distance(Sequence<std::uint32_t> pattern, Sequence<std::uint32_t> text, std::uint32_t unused,
                          std::size_t words) {
    return run_band_of(pattern, text, unused, words);
}

}  // namespace pe::vector_kernels
