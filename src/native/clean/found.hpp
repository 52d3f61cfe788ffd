// What a cleaning step makes of a text.
#pragma once

#include "../unicode/characters.hpp"

namespace pe::clean {

struct Found {
    Text text;  // of the text that was read, or of a buffer of the step: good until its next call
    bool found = false;
};

inline Found nothing_in(Text text) { return {text, false}; }
inline Found found_text(Text text) { return {unicode::strip(text), true}; }

// The last place of a byte that `is_wanted`, or npos. Without a branch for each byte, so that compilers make vector code of it.
template <class IsWanted>
std::size_t find_last_if(Text text, IsWanted&& is_wanted) {
    constexpr std::size_t step = 64;
    std::size_t end = text.size();
    for (; end >= step; end -= step) {
        unsigned char any = 0;
        for (std::size_t i = 0; i < step; ++i) any |= static_cast<unsigned char>(is_wanted(text[end - step + i]));
        if (any) break;
    }
    while (end-- > 0)
        if (is_wanted(text[end])) return end;
    return Text::npos;
}

inline bool starts_with_folded(Text text, Text lowercase) {
    if (text.size() < lowercase.size()) return false;
    for (std::size_t i = 0; i < lowercase.size(); ++i)
        if (unicode::ascii_lower(text[i]) != lowercase[i]) return false;
    return true;
}

}  // namespace pe::clean
