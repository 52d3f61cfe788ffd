// Texts made comparable, list markers dropped, and then a word metric: judge-llm's Response Evaluator.
#pragma once

#include <cstddef>
#include <cstring>

#include "rouge.hpp"
#include "sets.hpp"

namespace pe {

enum class ResponseMatch { exact, rouge, recall, jaccard };

struct ResponseOptions {
    ResponseMatch match = ResponseMatch::rouge;
    bool fold_case = true;
    bool normalize_whitespace = true;
};

struct ResponseResult {
    double score = 0;
    RougeResult rouge;  // of ResponseMatch::rouge
    SetSizes words;     // of ResponseMatch::recall and jaccard
};

namespace response_detail {

// Copies `text` without the markers that `skip(begin, end)` finds: from the start of a line and its white space on, it
// returns the end of a marker, or `begin` where there is none.
template <class Skip>
void drop_markers(Text text, PaddedText& out, Skip skip) {
    out.clear();
    const char* const end = text.data() + text.size();
    bool line_start = true;
    for (const char* at = text.data(); at < end;) {
        if (line_start) {
            const char* word = at;
            for (const char* next = at; next < end && is_space(unicode::next(next, end));) word = next;
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
    for (const char* next = at; next < end && is_space(unicode::next(next, end));) at = next;
    return at;
}
// 1. or 1) and the white space behind it
inline const char* skip_number(const char* begin, const char* end) {
    const char* at = begin;
    for (const char* next = at; next < end && is_kind(unicode::next(next, end), kind_decimal);) at = next;
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

// White space is not collapsed here: no metric sees how much of it is between two words.
inline void normalize(Text text, const ResponseOptions& options, PaddedText& out, PaddedText& spare) {
    if (options.fold_case) lower_into(text, out);
    else out.assign(text);
    if (!options.normalize_whitespace) return;
    drop_markers(out.view(), spare, skip_number);
    drop_markers(spare.view(), out, skip_bullet);
}

inline bool equal(const ResponseOptions& options, WordsWorkspace& workspace) {
    if (!options.normalize_whitespace) return strip(workspace.left.view()) == strip(workspace.right.view());
    workspace.vocabulary.start_pair(false);
    workspace.read(workspace.left.view(), Tokenizer::whitespace, false, workspace.output);
    workspace.read(workspace.right.view(), Tokenizer::whitespace, false, workspace.expected);
    return workspace.output == workspace.expected;
}

inline ResponseResult score(Text output, Text expected, const ResponseOptions& options, WordsWorkspace& workspace) {
    ResponseResult result;
    output = strip(output);
    expected = strip(expected);
    if (output.empty() || expected.empty()) {
        result.score = output.empty() && expected.empty() ? 1.0 : 0.0;
        return result;
    }
    normalize(output, options, workspace.left, workspace.spare);
    normalize(expected, options, workspace.right, workspace.spare);
    const Text left = workspace.left.view(), right = workspace.right.view();
    switch (options.match) {
        case ResponseMatch::exact: result.score = equal(options, workspace) ? 1.0 : 0.0; break;
        case ResponseMatch::rouge:
            rouge_many(&left, &right, 1, RougeOptions{}, &result.rouge, workspace);
            result.score = result.rouge.f1;
            break;
        case ResponseMatch::recall:
        case ResponseMatch::jaccard:
            sets_many(&left, &right, 1, SetOptions{Tokenizer::whitespace, false}, &result.words, workspace);
            result.score = options.match == ResponseMatch::recall ? recall_of(result.words) : jaccard_of(result.words);
            break;
    }
    return result;
}

}  // namespace response_detail

inline void response_many(const Text* outputs, const Text* expected, std::size_t count, const ResponseOptions& options,
                          ResponseResult* results, WordsWorkspace& workspace) {
    for (std::size_t i = 0; i < count; ++i)
        results[i] = response_detail::score(outputs[i], expected[i], options, workspace);
}

}  // namespace pe
