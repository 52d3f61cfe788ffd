// Pairs of at most 32 ASCII characters, one in each 32-bit lane of two vectors. Included by avx2.cpp alone.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "vector_kernels.hpp"

namespace {

using pe::vector_kernels::short_pairs;
using pe::vector_kernels::short_size;
using pe::vector_kernels::ShortPair;

// Copies at most 32 bytes to `to` and fills up with zeros, without reading a byte outside the text.
inline void copy_short(const std::uint8_t* from, std::uint32_t size, std::uint8_t* to) {
    alignas(32) static constexpr std::int32_t mask_words[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    if (size >= 4) {
        const std::int32_t* mask = mask_words + 8 - size / 4;
        const __m256i head = _mm256_maskload_epi32(reinterpret_cast<const int*>(from),
                                                   _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask)));
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), head);
        std::memcpy(to + size - 4, from + size - 4, 4);
    } else {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm256_setzero_si256());
        for (std::uint32_t i = 0; i < size; ++i) to[i] = from[i];
    }
}

// `upper_limit` is 'Z' to fold case and below 'A' to leave the bytes as they are. Bytes outside ASCII compare as negative.
inline __m256i fold_ascii(__m256i bytes, __m256i upper_limit) {
    const __m256i upper = _mm256_andnot_si256(_mm256_cmpgt_epi8(bytes, upper_limit),
                                              _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8('A' - 1)));
    return _mm256_or_si256(bytes, _mm256_and_si256(upper, _mm256_set1_epi8(0x20)));
}

struct ShortLanes {
    __m256i vp = _mm256_set1_epi32(-1);
    __m256i vn = _mm256_setzero_si256();

    // One column of Myers' recurrence in Hyyrö's form. `no_hp` is the complement of the positive horizontal differences,
    // which saves an operation; in an `idle` lane row 0 does not grow, and with no match the state stays what it was.
    inline void advance(__m256i equal, __m256i idle) {
        const __m256i sum = _mm256_add_epi32(_mm256_and_si256(equal, vp), vp);
        const __m256i d0 = _mm256_or_si256(_mm256_xor_si256(sum, vp), _mm256_or_si256(equal, vn));
        const __m256i no_hp = _mm256_andnot_si256(vn, _mm256_or_si256(d0, vp));
        const __m256i hn = _mm256_and_si256(d0, vp);
        const __m256i no_hp_above = _mm256_sub_epi32(_mm256_add_epi32(no_hp, no_hp), idle);
        const __m256i hn_above = _mm256_add_epi32(hn, hn);
        vp = _mm256_or_si256(hn_above, _mm256_andnot_si256(d0, no_hp_above));
        vn = _mm256_andnot_si256(no_hp_above, d0);
    }
};

inline __m256i load(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }
inline void store(void* to, __m256i value) { _mm256_store_si256(static_cast<__m256i*>(to), value); }

inline std::uint32_t run_short(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances) {
    // The shorter text of a pair gives the columns. All pairs end together, so idle columns come first: those read the
    // 0xFF before the text, which equals nothing in ASCII.
    struct alignas(32) Slot {
        std::uint8_t before[short_size];
        std::uint8_t columns[short_size];
        std::uint8_t rows[short_size];
    };
    Slot slots[short_pairs];
    alignas(32) std::uint32_t equal[short_size][short_pairs];
    alignas(32) std::uint32_t columns[short_pairs] = {};
    std::uint32_t rows[short_pairs];
    std::uint32_t most_columns = 0;

    for (std::size_t i = 0; i < count; ++i) {
        const ShortPair& pair = pairs[i];
        const bool swap = pair.left_size < pair.right_size;
        columns[i] = swap ? pair.left_size : pair.right_size;
        rows[i] = swap ? pair.right_size : pair.left_size;
        most_columns = columns[i] > most_columns ? columns[i] : most_columns;
        copy_short(swap ? pair.left : pair.right, columns[i], slots[i].columns);
        copy_short(swap ? pair.right : pair.left, rows[i], slots[i].rows);
    }

    // Only now are the copies read back as vectors: the narrow stores of their tails have long arrived.
    const __m256i upper_limit = _mm256_set1_epi8(fold_case ? 'Z' : 'A' - 1);
    std::uint32_t not_ascii = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const __m256i shorter = load(slots[i].columns), pattern = fold_ascii(load(slots[i].rows), upper_limit);
        not_ascii |= static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(shorter, pattern)) != 0) << i;
        store(slots[i].before, _mm256_set1_epi8(-1));
        store(slots[i].columns, fold_ascii(shorter, upper_limit));
        const std::uint8_t* bytes = slots[i].columns + columns[i] - most_columns;
        for (std::uint32_t j = 0; j < most_columns; ++j) {
            const __m256i byte = _mm256_set1_epi8(static_cast<char>(bytes[j]));
            equal[j][i] = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(pattern, byte)));
        }
    }
    for (std::size_t i = count; i < short_pairs; ++i)
        for (std::uint32_t j = 0; j < most_columns; ++j) equal[j][i] = 0;

    ShortLanes low, high;
    const __m256i most = _mm256_set1_epi32(static_cast<int>(most_columns));
    const __m256i low_start = _mm256_sub_epi32(most, load(columns));
    const __m256i high_start = _mm256_sub_epi32(most, load(columns + 8));
    __m256i column = _mm256_setzero_si256();
    for (std::uint32_t j = 0; j < most_columns; ++j) {
        low.advance(load(equal[j]), _mm256_cmpgt_epi32(low_start, column));
        high.advance(load(equal[j] + 8), _mm256_cmpgt_epi32(high_start, column));
        column = _mm256_sub_epi32(column, _mm256_set1_epi32(-1));
    }

    alignas(32) std::uint32_t vp[short_pairs], vn[short_pairs];
    store(vp, low.vp);
    store(vp + 8, high.vp);
    store(vn, low.vn);
    store(vn + 8, high.vn);
    for (std::size_t i = 0; i < count; ++i) {
        const int deeper = _mm_popcnt_u32(_bzhi_u32(vp[i], rows[i])) - _mm_popcnt_u32(_bzhi_u32(vn[i], rows[i]));
        distances[i] = columns[i] + static_cast<std::uint32_t>(deeper);
    }
    return not_ascii;
}

}  // namespace
