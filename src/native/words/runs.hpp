// Words as runs of one-bits: one bit for each byte of a text, set where the byte belongs to a word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../unicode/bytes.hpp"
#include "word_list.hpp"

namespace pe::words {

class Runs {
public:
    // Reads `size` bytes and writes `rule`'s version of them; `rule(byte, &written)` says whether a byte belongs to a
    // word. Up to 64 bytes behind the end of `out` are written. `in` may be `out`.
    template <class Rule>
    void classify(const char* in, std::size_t size, char* out, Rule rule) {
        bits_.resize(size / 64 + 1);
        cuts_.clear();
        std::size_t at = 0;
        for (; at + 64 <= size; at += 64) bits_[at / 64] = block(in + at, out + at, rule);
        char tail[64] = {};
        if (size > at) std::memcpy(tail, in + at, size - at);
        const std::uint64_t rest = block(tail, out + at, rule);
        bits_[at / 64] = rest & ((std::uint64_t{1} << (size - at)) - 1);
    }

    // Makes bytes part of a word.
    void set(std::size_t begin, std::size_t end) {
        while (begin < end) {
            const std::size_t shift = begin % 64, count = std::min(end - begin, 64 - shift);
            bits_[begin / 64] |= ~std::uint64_t{0} >> (64 - count) << shift;
            begin += count;
        }
    }
    // Ends a word, and begins one, before a byte; `start_cuts` comes first.
    void start_cuts() { cuts_.assign(bits_.size(), 0); }
    void cut(std::size_t at) { cuts_[at / 64] |= std::uint64_t{1} << (at % 64); }

    // Appends the runs, which are words of `bytes`, from left to right.
    void append_to(WordList& words, const char* bytes) const {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < bits_.size(); ++i, bytes += 64) {
            const std::uint64_t bits = bits_[i], before = bits << 1 | carry;
            carry = bits >> 63;
            const char** out = words.room(2 * 64);
            std::uint64_t edges = bits ^ before;
            if (const std::uint64_t cuts = cuts_.empty() ? 0 : cuts_[i] & bits & before) {
                // Where two words touch, one ends and one begins.
                for (edges |= cuts; edges != 0; edges &= edges - 1) {
                    const unsigned at = count_trailing_zeros(edges);
                    out[0] = out[1] = bytes + at;
                    out += 1 + (cuts >> at & 1);
                }
            } else for (; edges != 0; edges &= edges - 1) *out++ = bytes + count_trailing_zeros(edges);
            words.set_end(out);
        }
        // A text that ends inside a word has its end in the bit behind its last byte, for which there always is room.
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
        return unicode::pack_flags(flags);
    }

    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> cuts_;  // where a word begins behind another one; empty: nowhere
};

}  // namespace pe::words
