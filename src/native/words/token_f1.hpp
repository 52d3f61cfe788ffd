// SQuAD's F1: words without case, punctuation and articles, as multisets.
#pragma once

#include <cstddef>

#include "prepared.hpp"

namespace pe::words {

struct TokenF1Result {
    double precision = 0, recall = 0, f1 = 0;
    std::size_t output_tokens = 0, expected_tokens = 0, overlap = 0;
};

class TokenF1 {
public:
    TokenF1(Tokenizer tokenizer, Needs& needs) : words_(needs.add_words(needs.add_texts({}), {tokenizer, true, false})) {}

    TokenF1Result score(Prepared& pair) const {
        PairedWords& words = pair.words(words_);
        TokenF1Result result;
        result.output_tokens = words.output.words.size();
        result.expected_tokens = words.expected.words.size();
        result.overlap = words.shared(1);
        if (result.output_tokens == 0 && result.expected_tokens == 0) result.precision = result.recall = result.f1 = 1.0;
        if (result.overlap == 0) return result;
        const auto overlap = static_cast<double>(result.overlap);
        result.precision = overlap / static_cast<double>(result.output_tokens);
        result.recall = overlap / static_cast<double>(result.expected_tokens);
        result.f1 = 2 * result.precision * result.recall / (result.precision + result.recall);
        return result;
    }

private:
    std::size_t words_;
};

}  // namespace pe::words
