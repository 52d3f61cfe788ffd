// ROUGE, with the numbers of rouge-score 0.1.2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "workspace.hpp"

namespace pe {

enum class RougeKind { ngrams, lcs, lcs_of_sentences };

struct RougeOptions {
    RougeKind kind = RougeKind::ngrams;
    std::size_t order = 1;  // of n-grams
    Tokenizer tokenizer = Tokenizer::rouge;
    bool stemmer = true;
};

struct RougeResult {
    double precision = 0, recall = 0, f1 = 0;
    std::size_t output_tokens = 0, expected_tokens = 0, overlap = 0;
};

namespace rouge_detail {

// As rouge-score computes it, operation by operation.
inline void set_measures(RougeResult& result, std::size_t output_size, std::size_t expected_size) {
    const auto overlap = static_cast<double>(result.overlap);
    result.precision = overlap / static_cast<double>(std::max<std::size_t>(output_size, 1));
    result.recall = overlap / static_cast<double>(std::max<std::size_t>(expected_size, 1));
    const double sum = result.precision + result.recall;
    result.f1 = sum > 0 ? 2 * result.precision * result.recall / sum : 0.0;
}

inline std::vector<Numbers> sentences(Text text, const RougeOptions& options, WordsWorkspace& workspace) {
    std::vector<Numbers> out;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) {
            Numbers numbers;
            workspace.read(text.substr(begin, end - begin), options.tokenizer, true, numbers);
            if (!numbers.empty()) out.push_back(std::move(numbers));
        }
        begin = end + 1;
    }
    return out;
}

inline std::size_t total_size(const std::vector<Numbers>& sentences) {
    std::size_t size = 0;
    for (const Numbers& sentence : sentences) size += sentence.size();
    return size;
}

// Sentence by sentence of the expected text: the words in the union of its common subsequences with each sentence of the
// output. No word counts more often than the output has it.
inline std::size_t sentence_hits(const std::vector<Numbers>& expected, const std::vector<Numbers>& output,
                                 WordsWorkspace& workspace) {
    const std::size_t limit = workspace.vocabulary.size();
    workspace.expected.clear();
    workspace.output.clear();
    for (const Numbers& sentence : output) workspace.output.insert(workspace.output.end(), sentence.begin(), sentence.end());
    for (const Numbers& sentence : expected) {
        workspace.lcs.start_rows(sentence, limit);
        for (const Numbers& other : output) workspace.lcs.mark_rows(other);
        const std::vector<std::uint8_t>& used = workspace.lcs.used();
        for (std::size_t i = 0; i < sentence.size(); ++i)
            if (used[i]) workspace.expected.push_back(sentence[i]);
    }
    return workspace.counts.overlap(workspace.expected, workspace.output, limit);
}

inline bool equal_folded(Text left, Text right, WordsWorkspace& workspace) {
    if (left == right) return true;
    lower_into(left, workspace.left);
    lower_into(right, workspace.right);
    return workspace.left.view() == workspace.right.view();
}

inline RougeResult score(Text output, Text expected, const RougeOptions& options, WordsWorkspace& workspace) {
    workspace.vocabulary.start_pair(options.stemmer);
    RougeResult result;
    std::size_t output_size = 0, expected_size = 0;
    if (options.kind == RougeKind::lcs_of_sentences) {
        const std::vector<Numbers> output_sentences = sentences(output, options, workspace);
        const std::vector<Numbers> expected_sentences = sentences(expected, options, workspace);
        result.output_tokens = output_size = total_size(output_sentences);
        result.expected_tokens = expected_size = total_size(expected_sentences);
        result.overlap = sentence_hits(expected_sentences, output_sentences, workspace);
    } else {
        workspace.read(output, options.tokenizer, true, workspace.output);
        workspace.read(expected, options.tokenizer, true, workspace.expected);
        result.output_tokens = output_size = workspace.output.size();
        result.expected_tokens = expected_size = workspace.expected.size();
        const std::size_t limit = workspace.vocabulary.size();
        if (options.kind == RougeKind::lcs) {
            result.overlap = workspace.lcs.length(workspace.expected, workspace.output, limit);
        } else if (options.order == 1) {
            result.overlap = workspace.counts.overlap(workspace.expected, workspace.output, limit);
        } else {
            Ngrams& ngrams = workspace.ngrams;
            ngrams.start(workspace.expected, workspace.output, limit, workspace.counts);
            for (std::size_t order = 1; order < options.order; ++order) result.overlap = ngrams.extend();
            output_size = ngrams.output_size();
            expected_size = ngrams.expected_size();
        }
    }
    set_measures(result, output_size, expected_size);
    // rouge-score gives 0 where there is nothing to compare. The other tokenizers promise 1 for equal texts.
    if (options.tokenizer != Tokenizer::rouge && output_size == 0 && expected_size == 0 &&
        equal_folded(output, expected, workspace))
        result.precision = result.recall = result.f1 = 1.0;
    return result;
}

}  // namespace rouge_detail

inline void rouge_many(const Text* outputs, const Text* expected, std::size_t count, const RougeOptions& options,
                       RougeResult* results, WordsWorkspace& workspace) {
    for (std::size_t i = 0; i < count; ++i) results[i] = rouge_detail::score(outputs[i], expected[i], options, workspace);
}

}  // namespace pe
