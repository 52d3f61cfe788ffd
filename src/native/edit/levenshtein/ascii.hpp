// Finds out whether a text is ASCII while copying it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../../core/text.hpp"
#include "../../unicode/decode.hpp"

namespace pe::edit {

// Lowercases eight ASCII characters: the two sums carry into the high bit of each byte from 'A' and from behind 'Z' on.
inline std::uint64_t lower_eight(std::uint64_t bytes) {
    constexpr std::uint64_t each = 0x0101010101010101u;
    const std::uint64_t from_a = bytes + each * (0x80 - 'A'), behind_z = bytes + each * (0x80 - 'Z' - 1);
    return bytes | ((from_a & ~behind_z & each * 0x80) >> 2);
}

// Copies the text, lowercased if `fold_case`. False as soon as there is something else than ASCII.
template <bool fold_case>
bool copy_ascii(Text from, std::uint8_t* to) {
    const auto copy_eight = [&](std::size_t at) {
        std::uint64_t bytes;
        std::memcpy(&bytes, from.data() + at, 8);
        if ((bytes & 0x8080808080808080u) != 0) return false;
        if (fold_case) bytes = lower_eight(bytes);
        std::memcpy(to + at, &bytes, 8);
        return true;
    };
    if (from.size() >= 8) {
        for (std::size_t at = 0; at < from.size() - 8; at += 8)
            if (!copy_eight(at)) return false;
        return copy_eight(from.size() - 8);
    }
    for (std::size_t at = 0; at < from.size(); ++at)
        to[at] = static_cast<std::uint8_t>(fold_case ? unicode::ascii_lower(from[at]) : from[at]);
    return unicode::is_ascii(from);
}

}  // namespace pe::edit
