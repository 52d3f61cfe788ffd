// Short pairs of ASCII texts, one a lane: sixteen of at most 32 characters in two vectors of 32-bit lanes, or eight of at
// most 64 in two of 64-bit lanes. Included by avx2.cpp alone.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "vector_kernels.hpp"

namespace {

using pe::vector_kernels::ShortPair;

inline __m256i load(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }
inline void store(void* to, __m256i value) { _mm256_store_si256(static_cast<__m256i*>(to), value); }

// Copies at most 32 bytes to `to` and fills up with zeros, without reading a byte outside the text.
inline void copy_short(const std::uint8_t* from, std::uint32_t size, std::uint8_t* to) {
    alignas(32) static constexpr std::int32_t mask_words[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    if (size >= 4) {
        const std::int32_t* mask = mask_words + 8 - size / 4;
        const __m256i head = _mm256_maskload_epi32(reinterpret_cast<const int*>(from),
                                                   _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask)));
        store(to, head);
        std::memcpy(to + size - 4, from + size - 4, 4);
    } else {
        store(to, _mm256_setzero_si256());
        for (std::uint32_t i = 0; i < size; ++i) to[i] = from[i];
    }
}

// `upper_limit` is 'Z' to fold case and below 'A' to leave the bytes as they are. Bytes outside ASCII compare as negative.
inline __m256i fold_ascii(__m256i bytes, __m256i upper_limit) {
    const __m256i upper = _mm256_andnot_si256(_mm256_cmpgt_epi8(bytes, upper_limit),
                                              _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8('A' - 1)));
    return _mm256_or_si256(bytes, _mm256_and_si256(upper, _mm256_set1_epi8(0x20)));
}

struct Lanes32 {
    using Word = std::uint32_t;
    static __m256i fill(Word value) { return _mm256_set1_epi32(static_cast<int>(value)); }
    static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
    static __m256i subtract(__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); }
    static __m256i greater(__m256i a, __m256i b) { return _mm256_cmpgt_epi32(a, b); }
    static int count(Word bits, std::uint32_t size) { return _mm_popcnt_u32(_bzhi_u32(bits, size)); }
};

struct Lanes64 {
    using Word = std::uint64_t;
    static __m256i fill(Word value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }
    static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi64(a, b); }
    static __m256i subtract(__m256i a, __m256i b) { return _mm256_sub_epi64(a, b); }
    static __m256i greater(__m256i a, __m256i b) { return _mm256_cmpgt_epi64(a, b); }
    static int count(Word bits, std::uint32_t size) { return static_cast<int>(_mm_popcnt_u64(_bzhi_u64(bits, size))); }
};

template <typename Lanes>
struct ShortState {
    __m256i vp = _mm256_set1_epi32(-1);
    __m256i vn = _mm256_setzero_si256();

    // One column of Myers' recurrence. `no_hp` is the complement of the positive horizontal differences, which saves an
    // operation; in an `idle` lane row 0 does not grow, and with no match the state stays what it was.
    inline void advance(__m256i equal, __m256i idle) {
        const __m256i xv = _mm256_or_si256(equal, vn);
        const __m256i sum = Lanes::add(_mm256_and_si256(equal, vp), vp);
        const __m256i no_hp = _mm256_andnot_si256(vn, _mm256_or_si256(sum, _mm256_or_si256(equal, vp)));
        const __m256i hn = _mm256_andnot_si256(_mm256_andnot_si256(equal, sum), vp);
        const __m256i no_hp_above = Lanes::subtract(Lanes::add(no_hp, no_hp), idle);
        vp = _mm256_or_si256(Lanes::add(hn, hn), _mm256_andnot_si256(xv, no_hp_above));
        vn = _mm256_andnot_si256(no_hp_above, xv);
    }
};

// As many pairs as there are lanes in two vectors, of texts of at most as many characters as a lane has bits.
template <typename Lanes>
std::uint32_t run_short(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* distances) {
    using Word = typename Lanes::Word;
    constexpr std::size_t most_size = 8 * sizeof(Word);
    constexpr std::size_t vector_lanes = 32 / sizeof(Word);
    constexpr std::size_t most_pairs = 2 * vector_lanes;
    // The shorter text of a pair gives the columns. All pairs end together, so idle columns come first: those read the
    // 0xFF before the text, which equals nothing in ASCII.
    struct alignas(32) Slot {
        std::uint8_t before[most_size];
        std::uint8_t columns[most_size];
        std::uint8_t rows[most_size];
    };
    Slot slots[most_pairs];
    alignas(32) Word equal[most_size][most_pairs];
    alignas(32) Word columns[most_pairs] = {};
    std::uint32_t rows[most_pairs];
    std::uint32_t most_columns = 0;

    const auto copy = [](const std::uint8_t* from, std::uint32_t size, std::uint8_t* to) {
        for (std::uint32_t part = 0; part < most_size; part += 32, to += 32) {
            const std::uint32_t left = size > part ? size - part : 0;
            copy_short(from + (left > 0 ? part : 0), left < 32 ? left : 32, to);
        }
    };
    for (std::size_t i = 0; i < count; ++i) {
        const ShortPair& pair = pairs[i];
        const bool swap = pair.left_size < pair.right_size;
        const std::uint32_t shorter = swap ? pair.left_size : pair.right_size;
        columns[i] = shorter;
        rows[i] = swap ? pair.right_size : pair.left_size;
        most_columns = shorter > most_columns ? shorter : most_columns;
        copy(swap ? pair.left : pair.right, shorter, slots[i].columns);
        copy(swap ? pair.right : pair.left, rows[i], slots[i].rows);
    }

    // Only now are the copies read back as vectors: the narrow stores of their tails have long arrived.
    const __m256i upper_limit = _mm256_set1_epi8(fold_case ? 'Z' : 'A' - 1);
    std::uint32_t not_ascii = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Slot& slot = slots[i];
        __m256i pattern[most_size / 32], seen = _mm256_setzero_si256();
        for (std::size_t part = 0; part < most_size / 32; ++part) {
            const __m256i shorter = load(slot.columns + 32 * part), longer = load(slot.rows + 32 * part);
            seen = _mm256_or_si256(seen, _mm256_or_si256(shorter, longer));
            pattern[part] = fold_ascii(longer, upper_limit);
            store(slot.before + 32 * part, _mm256_set1_epi8(-1));
            store(slot.columns + 32 * part, fold_ascii(shorter, upper_limit));
        }
        not_ascii |= static_cast<std::uint32_t>(_mm256_movemask_epi8(seen) != 0) << i;
        const std::uint8_t* bytes = slot.columns + columns[i] - most_columns;
        for (std::uint32_t j = 0; j < most_columns; ++j) {
            const __m256i byte = _mm256_set1_epi8(static_cast<char>(bytes[j]));
            Word bits = 0;
            for (std::size_t part = 0; part < most_size / 32; ++part) {
                const int mask = _mm256_movemask_epi8(_mm256_cmpeq_epi8(pattern[part], byte));
                bits |= static_cast<Word>(static_cast<std::uint32_t>(mask)) << 32 * part;
            }
            equal[j][i] = bits;
        }
    }
    for (std::size_t i = count; i < most_pairs; ++i)
        for (std::uint32_t j = 0; j < most_columns; ++j) equal[j][i] = 0;

    ShortState<Lanes> low, high;
    const __m256i low_start = Lanes::subtract(Lanes::fill(most_columns), load(columns));
    const __m256i high_start = Lanes::subtract(Lanes::fill(most_columns), load(columns + vector_lanes));
    __m256i column = _mm256_setzero_si256();
    for (std::uint32_t j = 0; j < most_columns; ++j) {
        low.advance(load(equal[j]), Lanes::greater(low_start, column));
        high.advance(load(equal[j] + vector_lanes), Lanes::greater(high_start, column));
        column = Lanes::add(column, Lanes::fill(1));
    }

    alignas(32) Word vp[most_pairs], vn[most_pairs];
    store(vp, low.vp);
    store(vp + vector_lanes, high.vp);
    store(vn, low.vn);
    store(vn + vector_lanes, high.vn);
    for (std::size_t i = 0; i < count; ++i) {
        const int deeper = Lanes::count(vp[i], rows[i]) - Lanes::count(vn[i], rows[i]);
        distances[i] = static_cast<std::uint32_t>(columns[i]) + static_cast<std::uint32_t>(deeper);
    }
    return not_ascii;
}

}  // namespace
