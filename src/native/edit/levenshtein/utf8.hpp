// Characters of one to three bytes, a vector of bytes at a time. Included by the source file of a target alone.
#pragma once

#include "vector.hpp"
#include "vector_kernels.hpp"

namespace {

// Only AVX-512 brings the first bytes of all characters together in one instruction, and the second and the third.
#if defined(__AVX512VBMI2__)
struct CodeRange {
    CodeRange(int least, int most) : least_(everywhere(least)), size_(everywhere(most - least)) {}
    inline __mmask32 holds(__m512i codes) const { return _mm512_cmple_epu16_mask(_mm512_sub_epi16(codes, least_), size_); }

private:
    __m512i least_, size_;
};

struct CodeRanges {
    const CodeRange capitals{'A', 'Z'}, cyrillic_small{0x430, 0x45F}, punctuation{0x2000, 0x20FF}, east_asian{0x2E80, 0xA63F};
    const __m512i to_small = everywhere(0x20), last_ascii = everywhere(0x7F), six_bits = everywhere(0x3F),
                  five_bits = everywhere(0x1F);
};

// The characters that begin in the next 62 bytes, or the next 64 if all are ASCII; none if there are others than of up to three
// bytes.
inline pe::unicode::DecodedBlock decode_block(const std::uint8_t* text, std::size_t size, bool fold_case, std::uint32_t* codes,
                                              const CodeRanges& ranges) {
    const auto from = [](__m512i bytes, int least) {
        return std::uint64_t{_mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(static_cast<char>(least)))};
    };
    const auto half_of = [](__m512i vector, int half) {
        return half == 0 ? _mm512_castsi512_si256(vector) : _mm512_extracti64x4_epi64(vector, 1);
    };
    const auto folded = [&](__m512i code) {
        return fold_case ? _mm512_mask_add_epi16(code, ranges.capitals.holds(code), code, ranges.to_small) : code;
    };
    const auto put = [&](int half, __m512i code) {
        _mm512_storeu_si512(codes + 32 * half, _mm512_cvtepu16_epi32(half_of(code, 0)));
        _mm512_storeu_si512(codes + 32 * half + 16, _mm512_cvtepu16_epi32(half_of(code, 1)));
    };

    const std::uint64_t inside = size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(inside, text);
    const std::uint64_t beyond_ascii = _mm512_movepi8_mask(bytes);
    if (beyond_ascii == 0) {
        for (int half = 0; half < 2; ++half) put(half, folded(_mm512_cvtepu8_epi16(half_of(bytes, half))));
        const auto all = static_cast<std::uint32_t>(size < 64 ? size : 64);
        return {all, all, 0};
    }
    const std::uint64_t leads = from(bytes, 0xC2), leads_of_three = from(bytes, 0xE0);
    const std::uint64_t follow = leads << 1 | leads_of_three << 2;
    if (from(bytes, 0xF0) != 0 || (beyond_ascii & ~leads) != follow || (from(bytes, 0xC0) & ~leads) != 0) return {0, 0, 0};
    // Those that begin in the last two bytes may end behind them.
    const std::uint64_t all_starts = inside & ~follow, starts = size >= 64 ? all_starts & (~std::uint64_t{0} >> 2) : all_starts;
    const auto behind = [&](int bytes_behind) { return _mm512_maskz_loadu_epi8(inside >> bytes_behind, text + bytes_behind); };
    const __m512i first = _mm512_maskz_compress_epi8(starts, bytes), second = _mm512_maskz_compress_epi8(starts, behind(1)),
                  third = _mm512_maskz_compress_epi8(starts, behind(2));
    const std::uint64_t longer = _pext_u64(leads, starts), longest = _pext_u64(leads_of_three, starts);
    const auto count = static_cast<int>(_mm_popcnt_u64(starts));
    std::uint64_t may_be_capital = 0;
    for (int half = 0; 32 * half < count; ++half) {
        const auto wide = [&](__m512i narrow) { return _mm512_cvtepu8_epi16(half_of(narrow, half)); };
        const __m512i lead = wide(first), low = _mm512_and_si512(wide(second), ranges.six_bits);
        const __m512i pair = _mm512_or_si512(_mm512_slli_epi16(_mm512_and_si512(lead, ranges.five_bits), 6), low);
        const __m512i three = _mm512_or_si512(_mm512_or_si512(_mm512_slli_epi16(lead, 12), _mm512_slli_epi16(low, 6)),
                                              _mm512_and_si512(wide(third), ranges.six_bits));
        __m512i code = _mm512_mask_mov_epi16(lead, static_cast<__mmask32>(longer >> 32 * half), pair);
        code = folded(_mm512_mask_mov_epi16(code, static_cast<__mmask32>(longest >> 32 * half), three));
        // The scripts of China and Japan have no case, nor has most of the punctuation; small Cyrillic letters are small.
        const __mmask32 stay = _mm512_cmple_epu16_mask(code, ranges.last_ascii) | ranges.cyrillic_small.holds(code) |
                               ranges.punctuation.holds(code) | ranges.east_asian.holds(code);
        may_be_capital |= std::uint64_t{static_cast<__mmask32>(~stay)} << 32 * half;
        put(half, code);
    }
    const std::uint64_t next = all_starts & ~starts;
    const std::size_t used = next != 0 ? static_cast<std::size_t>(_tzcnt_u64(next)) : size < 64 ? size : 64;
    if (!fold_case) may_be_capital = 0;
    if (count < 64) may_be_capital &= (std::uint64_t{1} << count) - 1;
    return {static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(count), may_be_capital};
}

std::size_t decode_blocks(const std::uint8_t* text, std::size_t size, bool fold_case, std::uint32_t* codes,
                          pe::unicode::DecodedBlock* blocks) {
    const CodeRanges ranges;
    for (std::size_t i = 0; i < pe::unicode::most_blocks; ++i) {
        if (size == 0) return i;
        blocks[i] = decode_block(text, size, fold_case, codes, ranges);
        if (blocks[i].bytes == 0) return i;
        text += blocks[i].bytes;
        size -= blocks[i].bytes;
        codes += blocks[i].characters;
    }
    return pe::unicode::most_blocks;
}
#else
constexpr pe::unicode::DecodeBlocks* decode_blocks = nullptr;
#endif

}  // namespace
