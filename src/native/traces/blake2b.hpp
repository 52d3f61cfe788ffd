// BLAKE2b (RFC 7693) without a key, as hexadecimal digits.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "../core/text.hpp"

namespace pe::traces {

class Blake2b {
public:
    static std::string hex(Text text, std::size_t bytes = 16) {
        Blake2b hash(bytes);
        while (text.size() > 128) {
            hash.compress(text.data(), 128, false);
            text.remove_prefix(128);
        }
        char last[128] = {};
        std::memcpy(last, text.data(), text.size());
        hash.compress(last, text.size(), true);
        std::string out;
        for (std::size_t i = 0; i < bytes; ++i) {
            const auto byte = static_cast<unsigned>(hash.state_[i / 8] >> (8 * (i % 8)) & 0xFF);
            out.push_back("0123456789abcdef"[byte >> 4]);
            out.push_back("0123456789abcdef"[byte & 15]);
        }
        return out;
    }

private:
    static constexpr std::array<std::uint64_t, 8> start = {
        0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
        0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

    explicit Blake2b(std::size_t bytes) : state_(start) { state_[0] ^= 0x01010000u ^ bytes; }

    void compress(const char* block, std::size_t size, bool is_last) {
        static constexpr std::uint8_t order[12][16] = {
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
            {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
            {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
            {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
            {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};
        read_ += size;
        std::uint64_t words[16], v[16];
        for (int i = 0; i < 16; ++i) {
            words[i] = 0;
            for (int byte = 7; byte >= 0; --byte) words[i] = words[i] << 8 | static_cast<unsigned char>(block[8 * i + byte]);
        }
        for (int i = 0; i < 8; ++i) {
            v[i] = state_[static_cast<std::size_t>(i)];
            v[i + 8] = start[static_cast<std::size_t>(i)];
        }
        v[12] ^= read_;
        if (is_last) v[14] = ~v[14];
        const auto turned = [](std::uint64_t x, int by) { return x >> by | x << (64 - by); };
        const auto mix = [&](int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
            v[a] += v[b] + x;
            v[d] = turned(v[d] ^ v[a], 32);
            v[c] += v[d];
            v[b] = turned(v[b] ^ v[c], 24);
            v[a] += v[b] + y;
            v[d] = turned(v[d] ^ v[a], 16);
            v[c] += v[d];
            v[b] = turned(v[b] ^ v[c], 63);
        };
        for (const auto& s : order) {
            mix(0, 4, 8, 12, words[s[0]], words[s[1]]);
            mix(1, 5, 9, 13, words[s[2]], words[s[3]]);
            mix(2, 6, 10, 14, words[s[4]], words[s[5]]);
            mix(3, 7, 11, 15, words[s[6]], words[s[7]]);
            mix(0, 5, 10, 15, words[s[8]], words[s[9]]);
            mix(1, 6, 11, 12, words[s[10]], words[s[11]]);
            mix(2, 7, 8, 13, words[s[12]], words[s[13]]);
            mix(3, 4, 9, 14, words[s[14]], words[s[15]]);
        }
        for (int i = 0; i < 8; ++i) state_[static_cast<std::size_t>(i)] ^= v[i] ^ v[i + 8];
    }

    std::array<std::uint64_t, 8> state_;
    std::uint64_t read_ = 0;
};

}  // namespace pe::traces
