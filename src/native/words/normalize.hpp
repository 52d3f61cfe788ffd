// Texts made comparable, as judge-llm's Response Evaluator does it: without case and list markers.
#pragma once

#include <cstddef>
#include <cstring>

#include "../unicode/characters.hpp"
#include "../unicode/lowercase.hpp"
#include "../unicode/padded.hpp"

namespace pe::words {

struct Normalization {
    bool fold_case = true;
    bool drops_markers = true;
    bool operator==(const Normalization& other) const {
        return fold_case == other.fold_case && drops_markers == other.drops_markers;
    }
};

namespace normalize_detail {

// Copies `text` without the markers that `skip(begin, end)` finds: from the start of a line and its white space on, it
// returns the end of a marker, or `begin` where there is none.
template <class Skip>
void drop_markers(Text text, unicode::PaddedText& out, Skip skip) {
    out.clear();
    const char* const end = text.data() + text.size();
    bool line_start = true;
    for (const char* at = text.data(); at < end;) {
        if (line_start) {
            const char* word = at;
            for (const char* next = at; next < end && unicode::is_space(unicode::next(next, end));) word = next;
            const char* behind = skip(word, end);
            if (behind != word) {
                at = behind;
                line_start = behind[-1] == '\n';
                continue;
            }
            // None of the lines inside this white space starts a marker either: it would be the same one.
            out.append(at, static_cast<std::size_t>(word - at));
            at = word;
        }
        const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        const char* next = newline ? newline + 1 : end;
        out.append(at, static_cast<std::size_t>(next - at));
        at = next;
        line_start = true;
    }
}

inline const char* skip_spaces(const char* at, const char* end) {
    for (const char* next = at; next < end && unicode::is_space(unicode::next(next, end));) at = next;
    return at;
}
// 1. or 1) and the white space behind it
inline const char* skip_number(const char* begin, const char* end) {
    const char* at = begin;
    for (const char* next = at; next < end && unicode::is_kind(unicode::next(next, end), unicode::kind_decimal);) at = next;
    if (at == begin || at == end || (*at != '.' && *at != ')')) return begin;
    return skip_spaces(at + 1, end);
}
// One of • * - with white space behind it
inline const char* skip_bullet(const char* begin, const char* end) {
    if (begin == end) return begin;
    const char* at = begin;
    const std::uint32_t code = unicode::next(at, end);
    if (code != 0x2022 && code != '*' && code != '-') return begin;
    const char* behind = skip_spaces(at, end);
    return behind == at ? begin : behind;
}

}  // namespace normalize_detail

// White space at the ends is dropped. Elsewhere it is not collapsed: no metric sees how much of it is between two words.
inline void normalize(Text text, const Normalization& options, unicode::PaddedText& out, unicode::PaddedText& spare) {
    text = unicode::strip(text);
    if (options.fold_case) unicode::lower_into(text, out);
    else out.assign(text);
    if (!options.drops_markers) return;
    normalize_detail::drop_markers(out.view(), spare, normalize_detail::skip_number);
    normalize_detail::drop_markers(spare.view(), out, normalize_detail::skip_bullet);
}

}  // namespace pe::words
