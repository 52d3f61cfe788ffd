// Similar texts: a band of 64, 128, 256 or 512 diagonals that slides down a row with every column (Hyyrö 2003), its match
// bits found by comparing vectors of symbols instead of from a table. Included by the source file of a target alone.
#pragma once

#include "vector.hpp"
#include "vector_kernels.hpp"

namespace {

using pe::edit::vector_kernels::BandOutcome;
using pe::edit::vector_kernels::Sequence;

inline std::uint64_t add_with_carry(std::uint64_t a, std::uint64_t b, unsigned char& carry) {
#if defined(__x86_64__)
    unsigned long long sum;
    carry = _addcarry_u64(carry, a, b, &sum);
    return sum;
#else
    const std::uint64_t partial = a + b, sum = partial + carry;
    carry = static_cast<unsigned char>(partial < a || sum < partial);
    return sum;
#endif
}

template <int words, typename Symbol>
BandOutcome run_band(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused) {
    constexpr std::size_t width = 64 * words;
    const std::size_t longer_by = pattern.size - text.size;
    // The band reaches from diagonal -above on, with room on both sides of the diagonals 0 and longer_by. A path that
    // leaves it costs more than `limit`.
    const std::size_t above = (width - 1 - longer_by) / 2;
    const std::size_t limit = longer_by + 2 * above + 1;
    // Rows above the first match nothing, and so repeat row 0. Rows below the last change nothing above them.
    for (std::size_t i = 1; i <= above; ++i) *(pattern.data - i) = unused;

    std::uint64_t vp[words], vn[words];
    for (std::size_t w = 0; w < words; ++w) {
        const std::size_t first = 64 * w;
        vp[w] = first >= above ? ~std::uint64_t{0} : above - first >= 64 ? 0 : ~std::uint64_t{0} << (above - first);
        vn[w] = 0;
    }
    // The distance on the diagonal where both texts end, from that on the band's first diagonal and the differences between
    // them. It never falls from one column to the next.
    std::size_t first_diagonal = 0;
    const auto distance = [&] {
        auto total = static_cast<std::int64_t>(first_diagonal);
        for (std::size_t w = 0; w < words && 64 * w < above + longer_by; ++w) {
            const std::size_t left = above + longer_by - 64 * w;
            total += count_bits(vp[w], left);
            total -= count_bits(vn[w], left);
        }
        return static_cast<std::size_t>(total);
    };

    const Symbol* rows = pattern.data - above;
    std::size_t j = 0;
    while (j < text.size) {
        const std::size_t pause = text.size - j < 64 ? text.size : j + 64;
        for (; j < pause; ++j) {
            std::uint64_t d0[words + 1], hp[words], hn[words];
            unsigned char carry = 0;
            for (int w = 0; w < words; ++w) {
                const std::uint64_t equal = equal_bits(rows + j + 64 * w, text.data[j]);
                const std::uint64_t sum = add_with_carry(equal & vp[w], vp[w], carry);
                d0[w] = (sum ^ vp[w]) | equal | vn[w];
                hp[w] = vn[w] | ~(d0[w] | vp[w]);
                hn[w] = d0[w] & vp[w];
            }
            d0[words] = 0;
            first_diagonal += ~d0[0] & 1;
            for (int w = 0; w < words; ++w) {
                const std::uint64_t below = d0[w] >> 1 | d0[w + 1] << 63;
                vp[w] = hn[w] | ~(below | hp[w]);
                vn[w] = below & hp[w];
            }
        }
        // Texts that are not alike show it early: stop when the distance runs well ahead of what the band could prove.
        const std::size_t now = distance();
        const std::size_t start = longer_by + width / 2;
        if (now > limit || (now > start && (now - start) * text.size > limit * j)) {
            const double whole = static_cast<double>(now) * static_cast<double>(text.size) / static_cast<double>(j);
            return {false, static_cast<std::uint32_t>(whole)};
        }
    }
    const std::size_t found = distance();
    return {found <= limit, static_cast<std::uint32_t>(found)};
}

template <typename Symbol>
BandOutcome run_band_of(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused, std::size_t words) {
    switch (words) {
        case 1: return run_band<1>(pattern, text, unused);
        case 2: return run_band<2>(pattern, text, unused);
        case 4: return run_band<4>(pattern, text, unused);
        default: return run_band<8>(pattern, text, unused);
    }
}

}  // namespace
