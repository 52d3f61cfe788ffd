// Texts lowercased as Polars does it. Bytes that are not UTF-8 stay as they are.
#pragma once

#include "decode.hpp"
#include "padded.hpp"

namespace pe::unicode {

// The lowercase of characters of two bytes, as the two bytes in memory; 0 where it is something else.
class LowercasePairs {
public:
    static const LowercasePairs& get() {
        static const LowercasePairs pairs;
        return pairs;
    }
    std::uint16_t operator()(unsigned char lead, unsigned char second) const {
        return pairs_[(lead & 0x1F) << 6 | (second & 0x3F)];
    }

private:
    LowercasePairs() {
        for (std::uint32_t code = 0x80; code < pairs_.size(); ++code) {
            const std::uint32_t low = LowercasePages::get()(code);
            if (code == capital_sigma || code == dotted_capital_i || low >= 0x800) continue;
            char bytes[4];
            if (encode(low, bytes) == 1) continue;
            std::memcpy(&pairs_[code], bytes, 2);
        }
    }
    std::array<std::uint16_t, 0x800> pairs_{};
};

namespace lowercase_detail {

// Character by character.
inline void lower_any(Text text, PaddedText& out) {
    const LowercasePages& lower = LowercasePages::get();
    const char* const end = text.data() + text.size();
    out.clear();
    for (const char* at = text.data(); at < end;) {
        const char* const start = at;
        const std::uint32_t code = next(at, end);
        std::uint32_t low = lower(code);
        if (code == capital_sigma) low = is_final_sigma(text, start, at) ? final_sigma : small_sigma;
        if (code == dotted_capital_i) {
            out.push('i');
            low = dot_above;
        }
        if (low == code) out.append(start, static_cast<std::size_t>(at - start));
        else out.push_code_point(low);
    }
}

// Lowercases a character of which the ASCII is done, in place; false where that takes more than its own bytes.
PE_ALWAYS_INLINE bool lower_in_place(char* at, const char* end) {
    const auto lead = static_cast<unsigned char>(at[0]);
    if (lead - 0xC2u < 0xE0 - 0xC2 && end - at >= 2 && continues(at[1])) {
        const std::uint16_t pair = LowercasePairs::get()(lead, static_cast<unsigned char>(at[1]));
        if (pair == 0) return false;
        std::memcpy(at, &pair, 2);
        return true;
    }
    const char* behind = at;
    const std::uint32_t code = next_inline(behind, end);
    const std::uint32_t low = LowercasePages::get()(code);
    if (low == code) return true;
    char bytes[4];
    const std::size_t size = encode(low, bytes);
    if (size != static_cast<std::size_t>(behind - at)) return false;
    std::memcpy(at, bytes, size);
    return true;
}

}  // namespace lowercase_detail

inline void lower_into(Text text, PaddedText& out) {
    char* const to = out.resize(text.size());
    std::uint8_t seen = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<std::uint8_t>(text[i]);
        to[i] = static_cast<char>(static_cast<std::uint8_t>(c - 'A') < 26 ? c | 0x20 : c);
        seen |= c;
    }
    if (seen < 0x80) return;
    // Characters from U+3000 to U+9FFF and from U+B000 to U+DFFF have no case.
    const auto may_have_case = [](std::uint8_t c, std::uint8_t) {
        return static_cast<std::uint8_t>((static_cast<std::uint8_t>(c - 0xC0) < 0x23) | (c == 0xEA) | (c >= 0xEE));
    };
    bool fits = true;
    for_each_byte(out, may_have_case,
                  [&](std::size_t at) { fits = fits && lowercase_detail::lower_in_place(to + at, to + text.size()); });
    if (!fits) lowercase_detail::lower_any(text, out);
}

}  // namespace pe::unicode
