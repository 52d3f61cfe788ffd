// SQuAD's F1: words without case, punctuation and articles, as multisets.
#pragma once

#include <cstddef>

#include "workspace.hpp"

namespace pe {

struct TokenF1Result {
    double precision = 0, recall = 0, f1 = 0;
    std::size_t output_tokens = 0, expected_tokens = 0, overlap = 0;
};

namespace token_f1_detail {

// Overwrites a, an and the with spaces where they stand alone: between characters that Python's \w does not match.
inline void blank_articles(PaddedText& text) {
    const char* const end = text.data() + text.size();
    for (char* at = text.data(); at < end;) {
        char* start = at;
        const char* behind = at;
        for (const char* next = at; next < end && is_alphanumeric(unicode::next(next, end));) behind = next;
        const Text word(start, static_cast<std::size_t>(behind - start));
        if (word == "a" || word == "an" || word == "the") std::memset(start, ' ', word.size());
        if (word.empty()) unicode::next(behind, end);
        at = start + (behind - start);
    }
}

inline void read(Text text, WordsWorkspace& workspace, Numbers& out) {
    PaddedText& clean = workspace.left;
    lower_into(text, clean);
    std::size_t size = 0;
    for (std::size_t i = 0; i < clean.size(); ++i)
        if (!is_ascii_punctuation(static_cast<unsigned char>(clean.data()[i]))) clean.data()[size++] = clean.data()[i];
    clean.shrink(size);
    blank_articles(clean);
    out.clear();
    workspace.reader.split(clean.view(), workspace.numbering(out));
}

}  // namespace token_f1_detail

inline void token_f1_many(const Text* outputs, const Text* expected, std::size_t count, TokenF1Result* results,
                          WordsWorkspace& workspace) {
    for (std::size_t i = 0; i < count; ++i) {
        workspace.vocabulary.start_pair(false);
        token_f1_detail::read(outputs[i], workspace, workspace.output);
        token_f1_detail::read(expected[i], workspace, workspace.expected);
        TokenF1Result& result = results[i] = {};
        result.output_tokens = workspace.output.size();
        result.expected_tokens = workspace.expected.size();
        result.overlap = workspace.counts.overlap(workspace.expected, workspace.output, workspace.vocabulary.size());
        if (result.output_tokens == 0 && result.expected_tokens == 0) result.precision = result.recall = result.f1 = 1.0;
        if (result.overlap == 0) continue;
        const auto overlap = static_cast<double>(result.overlap);
        result.precision = overlap / static_cast<double>(result.output_tokens);
        result.recall = overlap / static_cast<double>(result.expected_tokens);
        result.f1 = 2 * result.precision * result.recall / (result.precision + result.recall);
    }
}

}  // namespace pe
