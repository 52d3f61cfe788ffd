// GLEU, with the numbers of NLTK's `sentence_gleu`.
#pragma once

#include <algorithm>
#include <cstddef>

#include "prepared.hpp"

namespace pe::words {

struct GleuOptions {
    std::size_t min_len = 1, max_len = 4;
    bool fold_case = false;
};

struct GleuResult {
    double score = 0;
    std::size_t overlap = 0, output_ngrams = 0, expected_ngrams = 0;
};

class Gleu {
public:
    Gleu(const GleuOptions& options, Needs& needs)
        : options_(options),
          words_(needs.add_words(needs.add_texts({}), {Tokenizer::whitespace, options.fold_case, false}, options.max_len)) {}

    GleuResult score(Prepared& pair) const {
        PairedWords& words = pair.words(words_);
        const std::size_t output = words.output.words.size(), expected = words.expected.words.size();
        GleuResult result;
        for (std::size_t n = options_.min_len; n <= options_.max_len; ++n) {
            result.overlap += words.shared(n);
            result.output_ngrams += output - std::min(output, n - 1);
            result.expected_ngrams += expected - std::min(expected, n - 1);
        }
        const std::size_t more = std::max(result.output_ngrams, result.expected_ngrams);
        // Where there is nothing to count, equal texts score 1.
        if (more == 0) result.score = words.output.words == words.expected.words ? 1.0 : 0.0;
        else result.score = static_cast<double>(result.overlap) / static_cast<double>(more);
        return result;
    }

private:
    GleuOptions options_;
    std::size_t words_;
};

}  // namespace pe::words
