// UTF-8: whether bytes are valid, and how a code point is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../core/text.hpp"

namespace pe::unicode {

// What stands for bytes, or for half a surrogate pair, that are no character.
inline constexpr std::uint32_t replacement = 0xFFFD;

// Writes a code point and returns the number of its bytes, at most four.
inline std::size_t encode(std::uint32_t code, char* to) {
    const std::size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (size == 1) {
        *to = static_cast<char>(code);
        return 1;
    }
    for (std::size_t i = size - 1; i > 0; --i, code >>= 6) to[i] = static_cast<char>(0x80 | (code & 0x3F));
    *to = static_cast<char>(0xF00u >> size | code);
    return size;
}

inline bool is_utf8(Text text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = at + text.size();
    const auto follows = [&](int count) {
        for (int i = 1; i <= count; ++i)
            if (end - at <= i || (at[i] & 0xC0) != 0x80) return false;
        return true;
    };
    while (at < end) {
        std::uint64_t word;
        if (end - at >= 8 && (std::memcpy(&word, at, 8), (word & 0x8080808080808080u) == 0)) at += 8;
        else if (*at < 0x80) ++at;
        else if (*at >= 0xC2 && *at < 0xE0 && follows(1)) at += 2;
        else if ((*at & 0xF0) == 0xE0 && follows(2) && !(*at == 0xE0 && at[1] < 0xA0) && !(*at == 0xED && at[1] >= 0xA0)) at += 3;
        else if (*at >= 0xF0 && *at < 0xF5 && follows(3) && !(*at == 0xF0 && at[1] < 0x90) && !(*at == 0xF4 && at[1] >= 0x90)) at += 4;
        else return false;
    }
    return true;
}

}  // namespace pe::unicode
