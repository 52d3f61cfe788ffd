// A vector of 64-bit, 32-bit or 8-bit numbers, in the compiler's own notation, and the few operations for which targets have
// instructions of their own. Included by the source file of a target alone; everything is in an anonymous namespace, since
// code for one target must not be shared with another.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

// 32 bytes with AVX-512 too: merging loads into wider vectors costs what the width gains.
#if defined(__AVX2__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

// Compilers hold in registers what functions work on only where they inline them.
#define PE_ALWAYS __attribute__((always_inline))
#define PE_INLINE PE_ALWAYS inline
#define PE_APART __attribute__((noinline))

typedef std::uint64_t Words __attribute__((vector_size(vector_bytes)));
typedef std::uint32_t Halves __attribute__((vector_size(vector_bytes)));
typedef std::int8_t Bytes __attribute__((vector_size(vector_bytes)));

constexpr std::size_t lanes = vector_bytes / sizeof(std::uint64_t);

// The vectors of the kernels that merge no loads.
#if defined(__AVX512BW__)
constexpr std::size_t wide_bytes = 64;
#else
constexpr std::size_t wide_bytes = vector_bytes;
#endif
typedef std::uint64_t WideWords __attribute__((vector_size(wide_bytes)));
typedef std::uint32_t WideHalves __attribute__((vector_size(wide_bytes)));

template <typename Vector>
inline Vector load(const void* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

template <typename Vector>
inline void store(void* to, Vector vector) {
    std::memcpy(to, &vector, sizeof vector);
}

template <typename Vector, typename Number>
inline Vector fill(Number number) {
    return Vector{} + static_cast<std::remove_reference_t<decltype(Vector{}[0])>>(number);
}

// Any bitwise function of three vectors: one instruction with AVX-512, whose table of results the function itself gives.
template <typename Vector, class Function>
inline Vector logic(Vector a, Vector b, Vector c, Function function) {
#if defined(__AVX512VL__)
    constexpr int table = function(0xF0, 0xCC, 0xAA) & 0xFF;
    if constexpr (sizeof(Vector) == 64)
        return reinterpret_cast<Vector>(_mm512_ternarylogic_epi64(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b),
                                                                  reinterpret_cast<__m512i>(c), table));
    else
        return reinterpret_cast<Vector>(_mm256_ternarylogic_epi64(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b),
                                                                  reinterpret_cast<__m256i>(c), table));
#else
    return function(a, b, c);
#endif
}

// A carry is what the highest bit of each lane hands to the lowest bit of another vector. With AVX-512 the vector itself is
// handed over and its other bits do not matter; elsewhere it is 1 or 0.
constexpr int word_top = 63;
#if defined(__AVX512VBMI2__)
constexpr std::uint64_t carried_one = std::uint64_t{1} << word_top;
template <typename Vector>
inline Vector carry_of(Vector vector) {
    return vector;
}
template <typename Vector>
inline Vector carried_bit(Vector carry) {
    return carry >> (8 * sizeof(carry[0]) - 1);
}
inline Words shift_in(Words vector, Words carry) {
    return reinterpret_cast<Words>(_mm256_shldi_epi64(reinterpret_cast<__m256i>(vector), reinterpret_cast<__m256i>(carry), 1));
}
inline WideWords shift_in(WideWords vector, WideWords carry) {
    return reinterpret_cast<WideWords>(
        _mm512_shldi_epi64(reinterpret_cast<__m512i>(vector), reinterpret_cast<__m512i>(carry), 1));
}
inline WideHalves shift_in(WideHalves vector, WideHalves carry) {
    return reinterpret_cast<WideHalves>(
        _mm512_shldi_epi32(reinterpret_cast<__m512i>(vector), reinterpret_cast<__m512i>(carry), 1));
}
#else
constexpr std::uint64_t carried_one = 1;
template <typename Vector>
inline Vector carry_of(Vector vector) {
    return vector >> (8 * sizeof(vector[0]) - 1);
}
inline Words carried_bit(Words carry) { return carry; }
#if defined(__aarch64__)
inline Words shift_in(Words vector, Words carry) { return vsliq_n_u64(carry, vector, 1); }
inline Halves shift_in(Halves vector, Halves carry) { return vsliq_n_u32(carry, vector, 1); }
#else
inline Words shift_in(Words vector, Words carry) { return (vector + vector) | carry; }
inline Halves shift_in(Halves vector, Halves carry) { return (vector + vector) | carry; }
#endif
#endif

// In the place of a carry that is always 0.
struct NoCarry {};
template <typename Vector>
inline Vector shift_in(Vector vector, NoCarry) {
    return vector + vector;
}
template <typename Vector>
inline Vector with_bit(Vector vector, NoCarry) {
    return vector;
}
template <typename Vector>
inline Vector with_bit(Vector vector, Vector carry) {
    return vector | carried_bit(carry);
}
template <typename Vector>
inline Vector plus_bit(Vector vector, NoCarry) {
    return vector;
}
template <typename Vector>
inline Vector plus_bit(Vector vector, Vector carry) {
    return vector + carried_bit(carry);
}

// Lane l of the words at from[l]. Plain loads: gathers are slower.
inline Words load_lanes(const std::uint64_t* const (&from)[lanes]) {
#if defined(__AVX512VL__)
    __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[0]));
    words = _mm256_mask_loadu_epi64(words, 0x2, from[1]);
    words = _mm256_mask_loadu_epi64(words, 0x4, from[2]);
    return reinterpret_cast<Words>(_mm256_mask_loadu_epi64(words, 0x8, from[3]));
#elif defined(__AVX2__)
    const auto at = [&](std::size_t lane) { return load<__m256i>(from[lane]); };
    return reinterpret_cast<Words>(
        _mm256_blend_epi32(_mm256_blend_epi32(at(0), at(1), 0x0C), _mm256_blend_epi32(at(2), at(3), 0xC0), 0xF0));
#else
    return Words{from[0][0], from[1][1]};
#endif
}

// Every lane moves one up; the last comes first.
inline Words rotate_lanes(Words words) {
#if defined(__AVX2__)
    return reinterpret_cast<Words>(_mm256_permute4x64_epi64(reinterpret_cast<__m256i>(words), 0x93));
#else
    return Words{words[1], words[0]};
#endif
}

// Symbols that are compared with one symbol at a time, `size` of them, 32 or 64: bit i of the result is for symbol i.
#if defined(__AVX512BW__)
// By way of a general register: storing a mask itself takes some processors twice as long.
template <typename Mask>
inline std::uint64_t bits_of(Mask mask) {
    std::uint64_t bits = mask;
    __asm__("" : "+r"(bits));
    return bits;
}
// A number to compare with, in a register for all blocks: compilers would make it anew for each.
inline __m512i everywhere(int number) {
    __m512i all = _mm512_set1_epi16(static_cast<short>(number));
    __asm__("" : "+v"(all));
    return all;
}

template <std::size_t size>
class ByteRow {
public:
    explicit ByteRow(const std::uint8_t* from) { std::memcpy(&row_, from, size); }
    inline std::uint64_t equal_to(std::uint8_t symbol) const {
        const auto wanted = static_cast<char>(symbol);
        if constexpr (size == 64)
            return bits_of(_mm512_cmpeq_epi8_mask(reinterpret_cast<__m512i>(row_), _mm512_set1_epi8(wanted)));
        else return bits_of(_mm256_cmpeq_epi8_mask(reinterpret_cast<__m256i>(row_), _mm256_set1_epi8(wanted)));
    }

private:
    std::int8_t row_ __attribute__((vector_size(size)));
};
#else
template <std::size_t size>
class ByteRow {
public:
    explicit ByteRow(const std::uint8_t* from) {
        for (std::size_t i = 0; i < parts; ++i) part_[i] = load<Bytes>(from + i * vector_bytes);
    }

    inline std::uint64_t equal_to(std::uint8_t symbol) const {
        const Bytes wanted = fill<Bytes>(symbol);
        Bytes equal[parts];
        for (std::size_t i = 0; i < parts; ++i) equal[i] = part_[i] == wanted;
        return sign_bits(equal);
    }

private:
    static constexpr std::size_t parts = size / vector_bytes;

#if defined(__aarch64__)
    // Each byte keeps the bit of its place among eight; sums of neighbours bring them together.
    static inline std::uint64_t sign_bits(const Bytes (&equal)[parts]) {
        const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const auto bits = [&](std::size_t i) { return vandq_u8(reinterpret_cast<uint8x16_t>(equal[i]), places); };
        const uint8x16_t low = vpaddq_u8(bits(0), bits(1));
        const uint8x16_t high = size == 64 ? vpaddq_u8(bits(parts - 2), bits(parts - 1)) : low;
        const uint8x16_t quarters = vpaddq_u8(low, high);
        const std::uint64_t all = vgetq_lane_u64(reinterpret_cast<uint64x2_t>(vpaddq_u8(quarters, quarters)), 0);
        return size == 64 ? all : all & 0xFFFFFFFF;
    }
#else
    static inline std::uint64_t sign_bits(const Bytes (&equal)[parts]) {
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < parts; ++i) {
            const int bits = _mm256_movemask_epi8(reinterpret_cast<__m256i>(equal[i]));
            all |= std::uint64_t{static_cast<std::uint32_t>(bits)} << 32 * i;
        }
        return all;
    }
#endif

    Bytes part_[parts];
};
#endif

// Which of the 64 symbols from `at` on equal `symbol`.
inline std::uint64_t equal_bits(const std::uint8_t* at, std::uint8_t symbol) { return ByteRow<64>(at).equal_to(symbol); }

inline std::uint64_t equal_bits(const std::uint32_t* at, std::uint32_t symbol) {
#if defined(__AVX512F__)
    const __m512i wanted = _mm512_set1_epi32(static_cast<int>(symbol));
    std::uint64_t all = 0;
    for (int i = 0; i < 4; ++i)
        all |= std::uint64_t{_mm512_cmpeq_epi32_mask(_mm512_loadu_si512(at + 16 * i), wanted)} << 16 * i;
    return all;
#else
    // Wide comparisons made narrow: whether a symbol is equal fits a byte.
    std::uint8_t equal[64];
    const Halves wanted = fill<Halves>(symbol);
    constexpr std::size_t step = vector_bytes / sizeof(std::uint32_t);
    typedef std::uint8_t Narrow __attribute__((vector_size(step)));
    for (std::size_t i = 0; i < 64; i += step)
        store(equal + i, __builtin_convertvector(load<Halves>(at + i) == wanted, Narrow));
    return equal_bits(equal, 0xFF);
#endif
}

#if defined(__GFNI__) && defined(__AVX512VBMI__)
// Byte `place` of each lane, in all bytes of the lane.
template <typename Vector>
inline Vector repeat_byte(Vector vector, std::size_t place) {
    constexpr std::size_t lane = sizeof(vector[0]);
    struct Tables {
        alignas(64) std::uint8_t from[lane][64];
        constexpr Tables() : from{} {
            for (std::size_t i = 0; i < lane; ++i)
                for (std::size_t j = 0; j < 64; ++j) from[i][j] = static_cast<std::uint8_t>(j / lane * lane % 16 + i);
        }
    };
    static constexpr Tables tables;
    return reinterpret_cast<Vector>(_mm512_shuffle_epi8(reinterpret_cast<__m512i>(vector), load<__m512i>(tables.from[place])));
}

// Bit `place` of each byte, in all bits of the byte: the product with a matrix whose rows all pick that bit.
template <typename Vector>
inline Vector repeat_bit(Vector vector, int place) {
    const __m512i matrix = _mm512_set1_epi8(static_cast<char>(1 << place));
    return reinterpret_cast<Vector>(_mm512_gf2p8affine_epi64_epi8(reinterpret_cast<__m512i>(vector), matrix, 0));
}

// Where the bytes of a vector go in `bit_planes`.
template <std::size_t size>
struct PlaneTables {
    alignas(size) std::uint8_t last_first[size], by_plane[size];
    constexpr PlaneTables() : last_first{}, by_plane{} {
        constexpr std::size_t groups = size / 8;
        for (std::size_t i = 0; i < size; ++i) {
            last_first[i] = static_cast<std::uint8_t>(i ^ 7);
            by_plane[i] = static_cast<std::uint8_t>(i % groups * 8 + i / groups);
        }
    }
};

// Bit b of byte r becomes bit r of planes[b]. Eight bytes at a time are turned as a matrix, the last one first; then the
// bytes of each plane are brought together.
inline void bit_planes(const std::uint8_t* bytes, std::uint64_t (&planes)[8]) {
    static constexpr PlaneTables<64> tables;
    const __m512i one_bit = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201u));
    const __m512i turned = _mm512_gf2p8affine_epi64_epi8(
        one_bit, _mm512_permutexvar_epi8(load<__m512i>(tables.last_first), load<__m512i>(bytes)), 0);
    store(planes, _mm512_permutexvar_epi8(load<__m512i>(tables.by_plane), turned));
}

inline void bit_planes(const std::uint8_t* bytes, std::uint32_t (&planes)[8]) {
    static constexpr PlaneTables<32> tables;
    const __m256i one_bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
    const __m256i turned = _mm256_gf2p8affine_epi64_epi8(
        one_bit, _mm256_permutexvar_epi8(load<__m256i>(tables.last_first), load<__m256i>(bytes)), 0);
    store(planes, _mm256_permutexvar_epi8(load<__m256i>(tables.by_plane), turned));
}
#endif

// Copies at most 32 bytes to `to` and fills up with zeros, without reading a byte outside the text.
inline void copy_short(const std::uint8_t* from, std::uint32_t size, std::uint8_t* to) {
#if defined(__AVX512BW__)
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << size) - 1);
    store(to, _mm256_maskz_loadu_epi8(mask, from));
#elif defined(__AVX2__)
    alignas(32) static constexpr std::int32_t mask_words[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    if (size >= 4) {
        const __m256i mask = load<__m256i>(mask_words + 8 - size / 4);
        store(to, _mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask));
        std::memcpy(to + size - 4, from + size - 4, 4);
    } else {
        store(to, Bytes{});
        for (std::uint32_t i = 0; i < size; ++i) to[i] = from[i];
    }
#else
    store(to, Bytes{});
    store(to + vector_bytes, Bytes{});
    // From both ends, so that the two parts meet or overlap.
    if (size >= 16) {
        std::memcpy(to, from, 16);
        std::memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        std::memcpy(to, from, 8);
        std::memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        std::memcpy(to, from, 4);
        std::memcpy(to + size - 4, from + size - 4, 4);
    } else {
        for (std::uint32_t i = 0; i < size; ++i) to[i] = from[i];
    }
#endif
}

inline bool has_sign(Bytes bytes) {
    std::uint64_t words[lanes], seen = 0;
    std::memcpy(words, &bytes, sizeof words);
    for (const std::uint64_t word : words) seen |= word;
    return (seen & 0x8080808080808080u) != 0;
}

inline unsigned count_bits(std::uint64_t bits, std::size_t size) {
    const std::uint64_t inside = size >= 64 ? bits : bits & ((std::uint64_t{1} << size) - 1);
    return static_cast<unsigned>(__builtin_popcountll(inside));
}

}  // namespace
