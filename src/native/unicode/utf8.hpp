// UTF-8: whether bytes are valid, and how a code point is written and read.
#pragma once

#include "../core/portable.hpp"

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

inline bool is_ascii(Text text) {
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t seen = 0;
    for (; left >= 32; at += 32, left -= 32) {
        std::uint64_t words[4];
        std::memcpy(words, at, 32);
        seen |= words[0] | words[1] | words[2] | words[3];
        if (seen & 0x8080808080808080u) return false;
    }
    for (; left > 0; ++at, --left) seen |= static_cast<unsigned char>(*at);
    return (seen & 0x8080808080808080u) == 0;
}

inline constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Whether a byte is not the first one of a character.
inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The code point at `at`, which it moves behind. Bytes that are not UTF-8 give U+FFFD, one byte each: Polars never
// holds such text, but foreign Arrow buffers might, and no input may read past its end.
inline std::uint32_t next(const char*& at, const char* end) {
    const auto lead = static_cast<unsigned char>(*at++);
    if (lead < 0x80) return lead;
    const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (lead < 0xC2 || lead > 0xF4 || end - at < more) return replacement;
    std::uint32_t code = lead & (0x3Fu >> more);
    for (int i = 0; i < more; ++i) {
        if (!continues(at[i])) return replacement;
        code = code << 6 | (static_cast<unsigned char>(at[i]) & 0x3Fu);
    }
    at += more;
    return code;
}

inline bool is_utf8(Text text) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        std::uint64_t eight;
        if (end - at >= 8 && (std::memcpy(&eight, at, 8), (eight & 0x8080808080808080u) == 0)) {
            at += 8;
            continue;
        }
        const char* const start = at;
        const std::uint32_t code = next(at, end);
        char bytes[4];
        // No half of a surrogate pair, nothing beyond the last code point, and no more bytes than it takes.
        if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return false;
        if (encode(code, bytes) != static_cast<std::size_t>(at - start)) return false;
    }
    return true;
}

// The same for loops over texts beyond ASCII: characters of two and three bytes are read without a call.
PE_ALWAYS_INLINE std::uint32_t next_inline(const char*& at, const char* end) {
    const auto byte = [at](int i) { return static_cast<unsigned char>(at[i]); };
    const unsigned lead = byte(0);
    if (lead - 0xC2 < 0xE0 - 0xC2 && end - at >= 2 && continues(at[1])) {
        const std::uint32_t code = (lead & 0x1F) << 6 | (byte(1) & 0x3Fu);
        at += 2;
        return code;
    }
    if (lead - 0xE0 < 0xF0 - 0xE0 && end - at >= 3 && continues(at[1]) && continues(at[2])) {
        const std::uint32_t code = (lead & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
        at += 3;
        return code;
    }
    return next(at, end);
}

// The code point before `at`, which it moves in front of.
inline std::uint32_t previous(const char* begin, const char*& at) {
    const char* end = at--;
    while (at > begin && end - at < 4 && (static_cast<unsigned char>(*at) & 0xC0) == 0x80) --at;
    const char* read = at;
    const std::uint32_t code = next(read, end);
    if (read != end) {
        at = end - 1;
        return replacement;
    }
    return code;
}

}  // namespace pe::unicode
