// Longer texts: vectors of four 64-bit lanes, in each lane up to six consecutive blocks of 64 rows. The lanes hold four
// pairs, or four stretches of the rows of one pair. Included by avx2.cpp alone.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "vector_kernels.hpp"

namespace {

using pe::vector_kernels::block_rows;
using pe::vector_kernels::BytePair;
using pe::vector_kernels::lanes;
using pe::vector_kernels::most_lane_blocks;
using pe::vector_kernels::Sequence;

// In one pair, lane l works `skew` columns behind lane l - 1, from which it takes the horizontal differences at its first
// row. Two and not one, so that a step need not wait for the whole of the step before it.
constexpr std::size_t skew = 2;
constexpr std::size_t last_lag = skew * (lanes - 1);

struct Carry {
    __m256i no_hp;  // 1 where the horizontal difference is not +1
    __m256i hn;     // 1 where it is -1
};

// Moves each lane's carry to the next lane, and the last lane's to the first.
inline Carry rotate(Carry carry) {
    return {_mm256_permute4x64_epi64(carry.no_hp, 0x93), _mm256_permute4x64_epi64(carry.hn, 0x93)};
}

template <int blocks>
struct BlockLanes {
    __m256i vp[blocks];
    __m256i vn[blocks];

    inline void start() {
        for (int k = 0; k < blocks; ++k) {
            vp[k] = _mm256_set1_epi64x(-1);
            vn[k] = _mm256_setzero_si256();
        }
    }

    // One column of Myers' recurrence in Hyyrö's form. rows[l] are the match bits of the symbol that lane l reads: plain
    // loads and blends, since gathers are slower. Holding the complement of the positive horizontal differences saves an
    // operation a block.
    inline Carry advance(const std::uint64_t* const (&rows)[lanes], Carry in) {
        for (int k = 0; k < blocks; ++k) {
            const auto match = [&](std::size_t lane) {
                return _mm256_load_si256(reinterpret_cast<const __m256i*>(rows[lane]) + k);
            };
            const __m256i equal = _mm256_blend_epi32(_mm256_blend_epi32(match(0), match(1), 0x0C),
                                                     _mm256_blend_epi32(match(2), match(3), 0xC0), 0xF0);
            const __m256i x = _mm256_or_si256(equal, in.hn);
            const __m256i sum = _mm256_add_epi64(_mm256_and_si256(x, vp[k]), vp[k]);
            const __m256i d0 = _mm256_or_si256(_mm256_xor_si256(sum, vp[k]), _mm256_or_si256(x, vn[k]));
            const __m256i no_hp = _mm256_andnot_si256(vn[k], _mm256_or_si256(d0, vp[k]));
            const __m256i hn = _mm256_and_si256(d0, vp[k]);
            const __m256i no_hp_above = _mm256_or_si256(_mm256_add_epi64(no_hp, no_hp), in.no_hp);
            const __m256i hn_above = _mm256_or_si256(_mm256_add_epi64(hn, hn), in.hn);
            vp[k] = _mm256_or_si256(hn_above, _mm256_andnot_si256(d0, no_hp_above));
            vn[k] = _mm256_andnot_si256(no_hp_above, d0);
            in = {_mm256_srli_epi64(no_hp, 63), _mm256_srli_epi64(hn, 63)};
        }
        return in;
    }

    // How much deeper than row 0 the first `size` rows of a lane lead in the current column.
    inline std::int64_t descent(std::size_t lane, std::size_t size) const {
        alignas(32) std::uint64_t up[blocks][lanes], down[blocks][lanes];
        std::memcpy(up, vp, sizeof(vp));
        std::memcpy(down, vn, sizeof(vn));
        std::int64_t total = 0;
        for (std::size_t k = 0; k * block_rows < size; ++k) {
            const auto inside = static_cast<unsigned>(size - k * block_rows < block_rows ? size - k * block_rows : block_rows);
            total += _mm_popcnt_u64(_bzhi_u64(up[k][lane], inside)) - _mm_popcnt_u64(_bzhi_u64(down[k][lane], inside));
        }
        return total;
    }
};

// Sets the match bits of one lane's rows; the table is [symbol][block][lane].
template <int blocks, typename Symbol>
inline void set_matches(std::uint64_t* table, std::size_t lane, const Symbol* pattern, std::size_t size) {
    for (std::size_t first = 0; first < size; first += block_rows, table += lanes) {
        const std::size_t end = size - first < block_rows ? size : first + block_rows;
        std::uint64_t bit = 1;
        for (std::size_t i = first; i < end; ++i, bit <<= 1) table[pattern[i] * (lanes * blocks) + lane] |= bit;
    }
}

template <int blocks, typename Symbol>
inline void clear_matches(std::uint64_t* table, std::size_t lane, const Symbol* pattern, std::size_t size) {
    for (std::size_t first = 0; first < size; first += block_rows, table += lanes) {
        const std::size_t end = size - first < block_rows ? size : first + block_rows;
        for (std::size_t i = first; i < end; ++i) table[pattern[i] * (lanes * blocks) + lane] = 0;
    }
}

template <int blocks>
void run_four(const BytePair* pairs, std::uint64_t* table, std::uint32_t* distances) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
        set_matches<blocks>(table, lane, pairs[lane].pattern, pairs[lane].pattern_size);
    const std::uint8_t* texts[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) texts[lane] = pairs[lane].text;

    BlockLanes<blocks> state;
    state.start();
    const Carry growing = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    std::size_t j = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        for (; j < pairs[lane].text_size; ++j) {
            const std::uint64_t* const rows[lanes] = {
                table + texts[0][j] * (lanes * blocks), table + texts[1][j] * (lanes * blocks),
                table + texts[2][j] * (lanes * blocks), table + texts[3][j] * (lanes * blocks)};
            state.advance(rows, growing);
        }
        const std::int64_t descent = state.descent(lane, pairs[lane].pattern_size);
        distances[lane] = static_cast<std::uint32_t>(static_cast<std::int64_t>(pairs[lane].text_size) + descent);
        // A lane that is done goes on with the longest text, only to have something to read.
        texts[lane] = pairs[lanes - 1].text;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane)
        clear_matches<blocks>(table, lane, pairs[lane].pattern, pairs[lane].pattern_size);
}

// As many rows of one pair as fit the registers. `carries` are the horizontal differences of row `first` at every column,
// and of the last row when done: no_hp and hn as the halves of a word, column j at carries[j + last_lag].
template <int blocks, typename Symbol>
std::int64_t run_rows(const Symbol* pattern, std::size_t rows, const Symbol* text, std::size_t columns, std::uint64_t* table,
                      std::uint64_t* carries) {
    constexpr std::size_t lane_rows = blocks * block_rows;
    const auto rows_of = [rows](std::size_t lane) {
        const std::size_t first = lane * lane_rows;
        return rows <= first ? 0 : rows - first < lane_rows ? rows - first : lane_rows;
    };
    for (std::size_t lane = 0; lane * lane_rows < rows; ++lane)
        set_matches<blocks>(table, lane, pattern + lane * lane_rows, rows_of(lane));

    BlockLanes<blocks> state;
    state.start();
    // Lanes that have not begun read symbols without a match and take flat differences, which leaves them as they are.
    const Carry flat = {_mm256_set1_epi64x(1), _mm256_setzero_si256()};
    Carry before = flat, last = flat;
    std::int64_t descent = 0;
    std::size_t step = 0;
    const __m256i low_half = _mm256_set1_epi64x(0xFFFFFFFF);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        for (; step < columns + skew * lane; ++step) {
            const Symbol* at = text + step;
            const std::uint64_t* const matches[lanes] = {
                table + at[0] * std::size_t{lanes * blocks},
                table + *(at - skew) * std::size_t{lanes * blocks},
                table + *(at - 2 * skew) * std::size_t{lanes * blocks},
                table + *(at - 3 * skew) * std::size_t{lanes * blocks}};
            const __m256i stored =
                _mm256_zextsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(carries + step + last_lag)));
            const Carry in = {_mm256_blend_epi32(before.no_hp, _mm256_and_si256(stored, low_half), 0x03),
                              _mm256_blend_epi32(before.hn, _mm256_srli_epi64(stored, 32), 0x03)};
            before = last;
            last = rotate(state.advance(matches, in));
            const __m128i out = _mm_unpacklo_epi32(_mm256_castsi256_si128(last.no_hp), _mm256_castsi256_si128(last.hn));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(carries + step), out);
        }
        descent += state.descent(lane, rows_of(lane));
    }
    for (std::size_t lane = 0; lane * lane_rows < rows; ++lane)
        clear_matches<blocks>(table, lane, pattern + lane * lane_rows, rows_of(lane));
    return descent;
}

template <typename Symbol>
std::uint32_t run_long(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused, std::uint64_t* table,
                       std::uint64_t* carries) {
    for (std::size_t i = 1; i <= last_lag; ++i) *(text.data - i) = unused;
    for (std::size_t i = 0; i < last_lag; ++i) text.data[text.size + i] = unused;
    // no_hp = hn = 0 at every column: row 0 grows by one a column.
    std::memset(carries, 0, (text.size + 2 * last_lag) * sizeof(std::uint64_t));

    const std::size_t all_blocks = (pattern.size + block_rows - 1) / block_rows;
    const std::size_t passes = (all_blocks + lanes * most_lane_blocks - 1) / (lanes * most_lane_blocks);
    const std::size_t blocks = (all_blocks + lanes * passes - 1) / (lanes * passes);
    auto distance = static_cast<std::int64_t>(text.size);
    for (std::size_t first = 0; first < pattern.size; first += lanes * blocks * block_rows) {
        const std::size_t left = pattern.size - first;
        const std::size_t rows = left < lanes * blocks * block_rows ? left : lanes * blocks * block_rows;
        const Symbol* from = pattern.data + first;
        switch (blocks) {
            case 1: distance += run_rows<1>(from, rows, text.data, text.size, table, carries); break;
            case 2: distance += run_rows<2>(from, rows, text.data, text.size, table, carries); break;
            case 3: distance += run_rows<3>(from, rows, text.data, text.size, table, carries); break;
            case 4: distance += run_rows<4>(from, rows, text.data, text.size, table, carries); break;
            case 5: distance += run_rows<5>(from, rows, text.data, text.size, table, carries); break;
            default: distance += run_rows<6>(from, rows, text.data, text.size, table, carries); break;
        }
    }
    return static_cast<std::uint32_t>(distance);
}

}  // namespace
