// A growing run of bytes behind which at least 64 more may be read, so that kernels load whole blocks and whole words; and one
// bit for each of its bytes, 64 at a time.
#pragma once

#include "../core/portable.hpp"
#if defined(PE_SSE2)
#include <emmintrin.h>
#endif
#include "characters.hpp"

namespace pe::unicode {

class PaddedText {
public:
    static constexpr std::size_t slack = 64;

    PaddedText() : bytes_(slack) {}

    // Makes room for `size` bytes and forgets what was there.
    char* resize(std::size_t size) {
        size_ = size;
        if (bytes_.size() < size + slack) bytes_.resize(size + size / 2 + slack);
        return bytes_.data();
    }
    void assign(Text text) {
        resize(text.size());
        if (!text.empty()) std::memcpy(bytes_.data(), text.data(), text.size());
    }
    void clear() { size_ = 0; }
    void push(char byte) {
        if (bytes_.size() < size_ + 1 + slack) bytes_.resize(2 * bytes_.size());
        bytes_[size_++] = byte;
    }
    void append(const char* from, std::size_t size) {
        if (bytes_.size() < size_ + size + slack) bytes_.resize(2 * bytes_.size() + size);
        if (size > 0) std::memcpy(bytes_.data() + size_, from, size);
        size_ += size;
    }
    void push_code_point(std::uint32_t code) {
        char bytes[4];
        append(bytes, encode(code, bytes));
    }
    // Keeps the first `size` bytes.
    void shrink(std::size_t size) { size_ = size; }

    char* data() { return bytes_.data(); }
    const char* data() const { return bytes_.data(); }
    std::size_t size() const { return size_; }
    Text view() const { return {bytes_.data(), size_}; }

private:
    std::vector<char> bytes_;
    std::size_t size_ = 0;
};

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are packed in little-endian order"
#endif

// Packs 64 bytes of 0 or 1 into 64 bits.
inline std::uint64_t pack_flags(const std::uint8_t* flags) {
    std::uint64_t bits = 0;
#if defined(PE_SSE2)
    for (unsigned part = 0; part < 4; ++part) {
        const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + 16 * part));
        const auto mask = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_slli_epi16(sixteen, 7)));
        bits |= std::uint64_t{mask} << (16 * part);
    }
#else
    // The factor moves the low bit of byte j to bit 56 + j, without any carry.
    for (unsigned part = 0; part < 8; ++part) {
        std::uint64_t eight;
        std::memcpy(&eight, flags + 8 * part, 8);
        bits |= (eight * 0x0102040810204080u >> 56) << (8 * part);
    }
#endif
    return bits;
}

// Calls `take(at)` for the place of each byte that `rule` says 1 to, and not 0: `rule(byte, next)`, where `next` is the byte
// behind it.
template <class Rule, class Take>
PE_ALWAYS_INLINE void for_each_byte(const PaddedText& text, Rule rule, Take&& take) {
    for (std::size_t block = 0; block < text.size(); block += 64) {
        std::uint8_t read[64], next[64], flags[64];
        std::memcpy(read, text.data() + block, 64);
        std::memcpy(next, text.data() + block + 1, 64);
        for (int i = 0; i < 64; ++i) flags[i] = rule(read[i], next[i]);
        std::uint64_t found = pack_flags(flags);
        if (text.size() - block < 64) found &= (std::uint64_t{1} << (text.size() - block)) - 1;
        for (; found != 0; found &= found - 1) take(block + count_trailing_zeros(found));
    }
}

// Calls `take(code, begin, end)` for each character beyond ASCII, with its code point and place.
template <class Take>
void for_each_wide(const PaddedText& text, Take&& take) {
    const char* const bytes = text.data();
    const char* const end = bytes + text.size();
    const auto starts = [](std::uint8_t c, std::uint8_t) { return static_cast<std::uint8_t>(c >= 0xC0); };
    for_each_byte(text, starts, [&](std::size_t begin) {
        const char* at = bytes + begin;
        const std::uint32_t code = next_inline(at, end);
        take(code, begin, static_cast<std::size_t>(at - bytes));
    });
}

// Overwrites white space beyond ASCII with spaces, byte by byte, so that the rest of a kernel can look at bytes alone.
inline void blank_wide_spaces(PaddedText& text) {
    const char* const end = text.data() + text.size();
    // U+0085, U+00A0, U+1680, U+2000 to U+205F and U+3000 are among those that begin so.
    const auto may_be_space = [](std::uint8_t lead, std::uint8_t second) {
        return static_cast<std::uint8_t>(((lead == 0xC2) & ((second == 0x85) | (second == 0xA0))) |
                                         ((lead == 0xE1) & (second == 0x9A)) | ((lead == 0xE2) & ((second | 1) == 0x81)) |
                                         ((lead == 0xE3) & (second == 0x80)));
    };
    for_each_byte(text, may_be_space, [&](std::size_t begin) {
        const char* behind = text.data() + begin;
        const bool is_blank = is_space(next(behind, end));
        if (is_blank) std::memset(text.data() + begin, ' ', static_cast<std::size_t>(behind - text.data()) - begin);
    });
}

}  // namespace pe::unicode
