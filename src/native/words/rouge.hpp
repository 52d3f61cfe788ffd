// ROUGE, with the numbers of rouge-score 0.1.2.
#pragma once

#include <algorithm>
#include <cstddef>

#include "prepared.hpp"

namespace pe::words {

enum class RougeKind { ngrams, lcs, lcs_of_lines };

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

class Rouge {
public:
    Rouge(const RougeOptions& options, Needs& needs, const Needs::Texts& normalization = {})
        : options_(options),
          texts_(needs.add_texts(normalization)),
          words_(needs.add_words(texts_, {options.tokenizer, true, options.stemmer}, options.order,
                                 options.kind == RougeKind::lcs_of_lines)) {}

    RougeResult score(Prepared& pair) const {
        PairedWords& words = pair.words(words_);
        RougeResult result;
        std::size_t output = result.output_tokens = words.output.words.size();
        std::size_t expected = result.expected_tokens = words.expected.words.size();
        switch (options_.kind) {
            case RougeKind::lcs: result.overlap = words.common_subsequence(); break;
            case RougeKind::lcs_of_lines: result.overlap = words.words_in_line_subsequences(); break;
            case RougeKind::ngrams:
                result.overlap = words.shared(options_.order);
                output -= std::min(output, options_.order - 1);
                expected -= std::min(expected, options_.order - 1);
        }
        set_measures(result, output, expected);
        // rouge-score gives 0 where there is nothing to compare. The other tokenizers promise 1 for equal texts; where
        // "auto" stands for rouge, that is so for texts without words, not for those with fewer words than an n-gram has.
        const bool is_automatic = options_.tokenizer == Tokenizer::automatic;
        const bool nothing = pair.tokenizer(words_) == Tokenizer::rouge
                                 ? is_automatic && result.output_tokens == 0 && result.expected_tokens == 0
                                 : output == 0 && expected == 0;
        if (nothing && pair.are_equal_folded(pair.texts(texts_))) result.precision = result.recall = result.f1 = 1.0;
        return result;
    }

private:
    // As rouge-score computes it, operation by operation.
    static void set_measures(RougeResult& result, std::size_t output, std::size_t expected) {
        const auto overlap = static_cast<double>(result.overlap);
        result.precision = overlap / static_cast<double>(std::max<std::size_t>(output, 1));
        result.recall = overlap / static_cast<double>(std::max<std::size_t>(expected, 1));
        const double sum = result.precision + result.recall;
        result.f1 = sum > 0 ? 2 * result.precision * result.recall / sum : 0.0;
    }

    RougeOptions options_;
    std::size_t texts_, words_;
};

}  // namespace pe::words
