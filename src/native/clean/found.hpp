// What a cleaning step makes of a text.
#pragma once

#include "../text.hpp"
#include "../words/characters.hpp"

namespace pe {

struct Found {
    Text text;          // of the text that was read, or of a buffer of the step: good until its next call
    bool found = false;
};

inline Found nothing_in(Text text) { return {text, false}; }
inline Found found_text(Text text) { return {strip(text), true}; }

inline Text between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

inline bool starts_with_folded(Text text, Text lowercase) {
    if (text.size() < lowercase.size()) return false;
    for (std::size_t i = 0; i < lowercase.size(); ++i)
        if (ascii_lower(text[i]) != lowercase[i]) return false;
    return true;
}

}  // namespace pe
