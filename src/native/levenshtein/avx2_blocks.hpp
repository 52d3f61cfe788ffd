// Longer texts: vectors of four 64-bit lanes, in each lane up to six consecutive blocks of 64 rows. The lanes hold four
// pairs, or four stretches of the rows of one pair. Included by avx2.cpp alone.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "vector_kernels.hpp"

namespace {

using pe::vector_kernels::block_rows;
using pe::vector_kernels::BlockScratch;
using pe::vector_kernels::BytePair;
using pe::vector_kernels::lanes;
using pe::vector_kernels::most_lane_blocks;
using pe::vector_kernels::Sequence;

// Blocks a lane that suit a long pair: more do not fit the registers.
constexpr std::size_t pass_blocks = 4;

constexpr int most_lag = lanes * pass_blocks - 1;

// Horizontal differences that a block hands down to the next one.
struct Carry {
    __m256i no_hp;  // 1 where the difference is not +1
    __m256i hn;     // 1 where it is -1
};

inline Carry flat_carry() { return {_mm256_set1_epi64x(1), _mm256_setzero_si256()}; }

// Block k works k columns behind block 0, so that the blocks of a step need nothing of each other: a processor sees too
// few instructions ahead to find that order by itself.
template <int blocks>
struct Wavefront {
    __m256i vp[blocks];
    __m256i vn[blocks];
    // What the blocks take in their next step, and at the end what the last block hands down.
    __m256i no_hp_in[blocks + 1];
    __m256i hn_in[blocks + 1];

    // A block without a match that takes flat differences stays as it starts: that is how blocks wait for their turn.
    inline void start() {
        for (int k = 0; k < blocks; ++k) {
            vp[k] = _mm256_set1_epi64x(-1);
            vn[k] = _mm256_setzero_si256();
            take(k, flat_carry());
        }
    }

    inline void take(int k, Carry carry) {
        no_hp_in[k] = carry.no_hp;
        hn_in[k] = carry.hn;
    }

    // One step of every block. texts[l][-k] is where in the table block k of lane l
    // finds the match bits of its symbol: plain loads and blends, since gathers are slower.
    inline void step(const std::uint64_t* table, const std::uint32_t* const (&texts)[lanes]) {
        for (int k = blocks - 1; k >= 0; --k) {
            const auto match = [&](std::size_t lane) {
                return _mm256_load_si256(reinterpret_cast<const __m256i*>(table + *(texts[lane] - k)) + k);
            };
            const __m256i equal = _mm256_blend_epi32(_mm256_blend_epi32(match(0), match(1), 0x0C),
                                                     _mm256_blend_epi32(match(2), match(3), 0xC0), 0xF0);
            take(k + 1, advance(k, equal));
        }
    }

    // One column of Myers' recurrence. Holding the complement of the positive horizontal differences saves an operation;
    // taking both differences right from the sum, without the detour over d0, shortens the way from vp to the next vp.
    inline Carry advance(int k, __m256i equal) {
        const __m256i xv = _mm256_or_si256(equal, vn[k]);
        const __m256i x = _mm256_or_si256(equal, hn_in[k]);
        const __m256i sum = _mm256_add_epi64(_mm256_and_si256(x, vp[k]), vp[k]);
        const __m256i no_hp = _mm256_andnot_si256(vn[k], _mm256_or_si256(sum, _mm256_or_si256(x, vp[k])));
        const __m256i hn = _mm256_andnot_si256(_mm256_andnot_si256(x, sum), vp[k]);
        const __m256i no_hp_above = _mm256_or_si256(_mm256_add_epi64(no_hp, no_hp), no_hp_in[k]);
        const __m256i hn_above = _mm256_or_si256(_mm256_add_epi64(hn, hn), hn_in[k]);
        vp[k] = _mm256_or_si256(hn_above, _mm256_andnot_si256(xv, no_hp_above));
        vn[k] = _mm256_andnot_si256(no_hp_above, xv);
        return {_mm256_srli_epi64(no_hp, 63), _mm256_srli_epi64(hn, 63)};
    }

    // The step after which block 0 of lane 0 had its last column was step 0: in step `late`, only blocks that lag behind it
    // by that much or more may still change.
    inline void late_step(const std::uint64_t* table, const std::uint32_t* const (&texts)[lanes], int late,
                          const int (&lag)[lanes]) {
        const Wavefront before = *this;
        step(table, texts);
        for (int k = 0; k < blocks; ++k) {
            const __m256i behind = _mm256_setr_epi64x(lag[0] + k, lag[1] + k, lag[2] + k, lag[3] + k);
            const __m256i done = _mm256_cmpgt_epi64(_mm256_set1_epi64x(late), behind);
            vp[k] = _mm256_blendv_epi8(vp[k], before.vp[k], done);
            vn[k] = _mm256_blendv_epi8(vn[k], before.vn[k], done);
        }
    }

    // How much deeper than row 0 the first `size` rows of a lane lead in the last column.
    inline std::int64_t descent(std::size_t lane, std::size_t size) const {
        alignas(32) std::uint64_t up[blocks][lanes], down[blocks][lanes];
        std::memcpy(up, vp, sizeof(vp));
        std::memcpy(down, vn, sizeof(vn));
        std::int64_t total = 0;
        for (std::size_t k = 0; k * block_rows < size; ++k) {
            const std::size_t left = size - k * block_rows;
            const auto inside = static_cast<unsigned>(left < block_rows ? left : block_rows);
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

// Where the symbols' match bits are in the table, between `idle` steps before and after that read a symbol without any.
template <int blocks, typename Symbol>
inline std::uint32_t* set_offsets(std::uint32_t* offsets, const Symbol* text, std::size_t size, std::size_t idle_before,
                                  std::size_t idle_after, Symbol unused) {
    constexpr std::uint32_t stride = lanes * blocks;
    for (std::size_t i = 0; i < idle_before; ++i) *offsets++ = unused * stride;
    for (std::size_t i = 0; i < size; ++i) offsets[i] = text[i] * stride;
    offsets += size;
    for (std::size_t i = 0; i < idle_after; ++i) *offsets++ = unused * stride;
    return offsets;
}

// Texts end together: a lane with a shorter one waits at first.
template <int blocks>
void run_four(const BytePair* pairs, std::uint8_t unused, const BlockScratch& scratch, std::uint32_t* distances) {
    const std::size_t columns = pairs[lanes - 1].text_size;
    const std::uint32_t* texts[lanes];
    std::uint32_t* offsets = scratch.offsets;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const BytePair& pair = pairs[lane];
        set_matches<blocks>(scratch.table, lane, pair.pattern, pair.pattern_size);
        texts[lane] = offsets + blocks;
        offsets = set_offsets<blocks>(offsets, pair.text, pair.text_size, blocks + columns - pair.text_size, blocks, unused);
    }

    Wavefront<blocks> state;
    state.start();
    std::size_t j = 0;
    alignas(32) std::uint64_t waits[lanes] = {1, 1, 1, 1};
    for (std::size_t lane = lanes; lane-- > 0;) {
        waits[lane] = 0;
        const Carry in = {_mm256_load_si256(reinterpret_cast<const __m256i*>(waits)), _mm256_setzero_si256()};
        for (const std::size_t end = lane > 0 ? columns - pairs[lane - 1].text_size : columns; j < end; ++j) {
            state.take(0, in);
            state.step(scratch.table, {texts[0] + j, texts[1] + j, texts[2] + j, texts[3] + j});
        }
    }
    Wavefront<blocks> rest = state;
    for (int late = 1; late < blocks; ++late, ++j)
        rest.late_step(scratch.table, {texts[0] + j, texts[1] + j, texts[2] + j, texts[3] + j}, late, {0, 0, 0, 0});
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t descent = rest.descent(lane, pairs[lane].pattern_size);
        distances[lane] = static_cast<std::uint32_t>(static_cast<std::int64_t>(pairs[lane].text_size) + descent);
        clear_matches<blocks>(scratch.table, lane, pairs[lane].pattern, pairs[lane].pattern_size);
    }
}

// As many rows of one pair as fit the lanes. Lane l works `blocks` columns behind lane l - 1, from whose last block it
// takes. scratch.carries holds the horizontal differences above the first row at every column, and afterwards those of the
// last row: no_hp and hn as the halves of a word, column j at carries[j + most_lag].
template <int blocks, typename Symbol>
std::int64_t run_rows(const Symbol* pattern, std::size_t rows, const Symbol* text, std::size_t columns, Symbol unused,
                      const BlockScratch& scratch) {
    constexpr int last_lag = lanes * blocks - 1;
    constexpr std::size_t lane_rows = blocks * block_rows;
    const auto rows_of = [rows](std::size_t lane) {
        const std::size_t first = lane * lane_rows;
        return rows <= first ? 0 : rows - first < lane_rows ? rows - first : lane_rows;
    };
    for (std::size_t lane = 0; lane * lane_rows < rows; ++lane)
        set_matches<blocks>(scratch.table, lane, pattern + lane * lane_rows, rows_of(lane));
    set_offsets<blocks>(scratch.offsets, text, columns, last_lag, last_lag, unused);

    Wavefront<blocks> state;
    state.start();
    const __m256i low_half = _mm256_set1_epi64x(0xFFFFFFFF);
    const std::uint32_t* at = scratch.offsets + last_lag;
    const std::uint64_t* table = scratch.table;
    std::uint64_t* carries = scratch.carries;
    Carry from_lane_above = flat_carry();
    const auto take = [&](Wavefront<blocks>& wave) {
        const __m256i stored =
            _mm256_zextsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(carries + most_lag)));
        wave.take(0, {_mm256_blend_epi32(from_lane_above.no_hp, _mm256_and_si256(stored, low_half), 0x03),
                      _mm256_blend_epi32(from_lane_above.hn, _mm256_srli_epi64(stored, 32), 0x03)});
    };
    // Each lane's carry goes to the next lane; the last lane's, now in the place of the first, is for the rows below.
    const auto give = [&](const Wavefront<blocks>& wave) {
        from_lane_above = {_mm256_permute4x64_epi64(wave.no_hp_in[blocks], 0x93),
                           _mm256_permute4x64_epi64(wave.hn_in[blocks], 0x93)};
        const __m128i last = _mm_unpacklo_epi32(_mm256_castsi256_si128(from_lane_above.no_hp),
                                                _mm256_castsi256_si128(from_lane_above.hn));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(carries + most_lag - last_lag), last);
    };
    for (const std::uint32_t* end = at + columns; at < end; ++at, ++carries) {
        take(state);
        state.step(table, {at, at - blocks, at - 2 * blocks, at - 3 * blocks});
        give(state);
    }
    Wavefront<blocks> rest = state;
    for (int late = 1; late <= last_lag; ++late, ++at, ++carries) {
        take(rest);
        rest.late_step(table, {at, at - blocks, at - 2 * blocks, at - 3 * blocks}, late,
                       {0, blocks, 2 * blocks, 3 * blocks});
        give(rest);
    }
    std::int64_t descent = 0;
    for (std::size_t lane = 0; lane * lane_rows < rows; ++lane) {
        descent += rest.descent(lane, rows_of(lane));
        clear_matches<blocks>(scratch.table, lane, pattern + lane * lane_rows, rows_of(lane));
    }
    return descent;
}

template <typename Symbol>
std::uint32_t run_long(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused, const BlockScratch& scratch) {
    // no_hp = hn = 0 at every column: row 0 grows by one a column.
    std::memset(scratch.carries, 0, (text.size + pe::vector_kernels::column_slack) * sizeof(std::uint64_t));
    auto distance = static_cast<std::int64_t>(text.size);
    while (pattern.size > 0) {
        const std::size_t all_blocks = (pattern.size + block_rows - 1) / block_rows;
        const std::size_t passes = (all_blocks + lanes * pass_blocks - 1) / (lanes * pass_blocks);
        const std::size_t blocks = (all_blocks + lanes * passes - 1) / (lanes * passes);
        const std::size_t rows = pattern.size < lanes * blocks * block_rows ? pattern.size : lanes * blocks * block_rows;
        switch (blocks) {
            case 1: distance += run_rows<1>(pattern.data, rows, text.data, text.size, unused, scratch); break;
            case 2: distance += run_rows<2>(pattern.data, rows, text.data, text.size, unused, scratch); break;
            case 3: distance += run_rows<3>(pattern.data, rows, text.data, text.size, unused, scratch); break;
            default: distance += run_rows<4>(pattern.data, rows, text.data, text.size, unused, scratch); break;
        }
        pattern = {pattern.data + rows, pattern.size - rows};
    }
    return static_cast<std::uint32_t>(distance);
}

}  // namespace
