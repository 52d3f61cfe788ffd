// Whether bytes are UTF-8.
#pragma once

#include <cstdint>
#include <cstring>

#include "../core/text.hpp"

namespace pe::traces {

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

}  // namespace pe::traces
