// Words as runs of one-bits: one bit for each byte of a text, set where the byte belongs to a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../portable.hpp"

namespace pe {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are packed in little-endian order"
#endif

// Packs 64 bytes of 0 or 1 into 64 bits. The factor moves the low bit of byte j to bit 56 + j, without any carry.
inline std::uint64_t pack_flags(const std::uint8_t* flags) {
    std::uint64_t bits = 0;
    for (unsigned part = 0; part < 8; ++part) {
        std::uint64_t eight;
        std::memcpy(&eight, flags + 8 * part, 8);
        bits |= (eight * 0x0102040810204080u >> 56) << (8 * part);
    }
    return bits;
}

class Runs {
public:
    // Reads `size` bytes and writes `rule`'s version of them; `rule(byte, &written)` says whether a byte belongs to a
    // word. Up to 64 bytes behind the end of `out` are written. `in` may be `out`.
    template <class Rule>
    void classify(const char* in, std::size_t size, char* out, Rule rule) {
        bits_.resize(size / 64 + 1);
        std::size_t at = 0;
        for (; at + 64 <= size; at += 64) bits_[at / 64] = block(in + at, out + at, rule);
        char tail[64] = {};
        if (size > at) std::memcpy(tail, in + at, size - at);
        const std::uint64_t rest = block(tail, out + at, rule);
        bits_[at / 64] = rest & ((std::uint64_t{1} << (size - at)) - 1);
    }

    // All bits zero, for `size` bytes.
    void clear(std::size_t size) { bits_.assign(size / 64 + 1, 0); }
    void set(std::size_t begin, std::size_t end) {
        for (; begin < end; ++begin) bits_[begin / 64] |= std::uint64_t{1} << (begin % 64);
    }

    // Calls `take(begin, end)` for each run, from left to right.
    template <class Take>
    [[gnu::always_inline]] void for_each(Take&& take) const {
        std::uint64_t carry = 0;
        std::size_t begin = 0;
        bool inside = false;
        for (std::size_t word = 0; word < bits_.size(); ++word) {
            const std::uint64_t bits = bits_[word];
            std::uint64_t edges = bits ^ (bits << 1 | carry);
            carry = bits >> 63;
            for (; edges != 0; edges &= edges - 1) {
                const std::size_t at = 64 * word + static_cast<std::size_t>(count_trailing_zeros(edges));
                if (inside) take(begin, at);
                else begin = at;
                inside = !inside;
            }
        }
        // The text ends inside its last word only if it fills its last 64 bits, and then one more word of zeros follows.
    }

    // Calls `take(at)` for each set bit, from left to right.
    template <class Take>
    void for_each_bit(Take&& take) const {
        for (std::size_t word = 0; word < bits_.size(); ++word)
            for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
                take(64 * word + static_cast<std::size_t>(count_trailing_zeros(bits)));
    }

private:
    template <class Rule>
    static std::uint64_t block(const char* in, char* out, Rule rule) {
        std::uint8_t read[64], written[64], flags[64];
        std::memcpy(read, in, 64);
        for (int i = 0; i < 64; ++i) flags[i] = rule(read[i], written[i]);
        std::memcpy(out, written, 64);
        return pack_flags(flags);
    }

    std::vector<std::uint64_t> bits_;
};

}  // namespace pe
