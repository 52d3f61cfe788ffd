// Sentence BLEU, with the numbers of sacrebleu 2.6.0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "bleu_tokenizers.hpp"
#include "workspace.hpp"

namespace pe {

enum class BleuSmoothing { none, floor, add_k, exp };

struct BleuOptions {
    BleuTokenizer tokenizer = BleuTokenizer::v13a;
    bool lowercase = false;
    BleuSmoothing smoothing = BleuSmoothing::exp;
    double smooth_value = 0;
    std::size_t max_ngram_order = 4;
    bool effective_order = true;
};

struct BleuResult {
    double score = 0;  // in [0, 1]
    double brevity_penalty = 0;
    std::size_t output_tokens = 0, expected_tokens = 0;
};

class Bleu {
public:
    BleuResult score(Text output, Text expected, const BleuOptions& options) {
        words_.vocabulary.start_pair(false);
        read(output, options, words_.output);
        read(expected, options, words_.expected);
        count(options.max_ngram_order);
        BleuResult result;
        result.output_tokens = words_.output.size();
        result.expected_tokens = words_.expected.size();
        compute(options, result);
        return result;
    }

private:
    void read(Text text, const BleuOptions& options, Numbers& out) {
        out.clear();
        reader_.for_each(text, options.tokenizer, options.lowercase, words_.numbering(out));
    }
    // Matching and all n-grams of the output, for each order.
    void count(std::size_t orders) {
        correct_.assign(orders, 0);
        total_.assign(orders, 0);
        Ngrams& ngrams = words_.ngrams;
        correct_[0] = static_cast<double>(
            ngrams.start(words_.expected, words_.output, words_.vocabulary.size(), words_.counts));
        total_[0] = static_cast<double>(ngrams.output_size());
        for (std::size_t n = 1; n < orders && ngrams.output_size() > 0; ++n) {
            correct_[n] = static_cast<double>(ngrams.extend());
            total_[n] = static_cast<double>(ngrams.output_size());
        }
    }
    // sacrebleu's compute_bleu, operation by operation.
    void compute(const BleuOptions& options, BleuResult& result) {
        const auto output = static_cast<double>(result.output_tokens);
        const auto expected = static_cast<double>(result.expected_tokens);
        result.brevity_penalty = output >= expected ? 1.0 : output > 0 ? std::exp(1 - expected / output) : 0.0;
        bool any = false;
        for (const double matches : correct_) any = any || matches > 0;
        if (!any) return;
        const std::size_t orders = options.max_ngram_order;
        std::size_t used = orders;
        double smooth = 1, logs = 0;
        precisions_.assign(orders, 0);
        for (std::size_t n = 0; n < orders; ++n) {
            if (options.smoothing == BleuSmoothing::add_k && n > 0) {
                correct_[n] += options.smooth_value;
                total_[n] += options.smooth_value;
            }
            if (total_[n] == 0) break;
            if (options.effective_order) used = n + 1;
            if (correct_[n] != 0) precisions_[n] = 100.0 * correct_[n] / total_[n];
            else if (options.smoothing == BleuSmoothing::exp) {
                smooth *= 2;
                precisions_[n] = 100.0 / (smooth * total_[n]);
            } else if (options.smoothing == BleuSmoothing::floor) {
                precisions_[n] = 100.0 * options.smooth_value / total_[n];
            }
        }
        for (std::size_t n = 0; n < used; ++n) logs += precisions_[n] == 0 ? -9999999999.0 : std::log(precisions_[n]);
        const double percent = result.brevity_penalty * std::exp(logs / static_cast<double>(used));
        result.score = std::min(percent / 100, 1.0);
    }

    WordsWorkspace words_;
    BleuTokenReader reader_;
    std::vector<double> correct_, total_, precisions_;
};

inline void bleu_many(const Text* outputs, const Text* expected, std::size_t count, const BleuOptions& options,
                      BleuResult* results, Bleu& workspace) {
    for (std::size_t i = 0; i < count; ++i) results[i] = workspace.score(outputs[i], expected[i], options);
}

}  // namespace pe
