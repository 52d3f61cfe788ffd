// Sentence BLEU, with the numbers of sacrebleu 2.6.0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "prepared.hpp"

namespace pe {

enum class BleuSmoothing { none, floor, add_k, exp };

struct BleuOptions {
    Tokenizer tokenizer = Tokenizer::v13a;
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
    Bleu(const BleuOptions& options, Needs& needs)
        : options_(options),
          words_(needs.add_words(needs.add_texts({}), {options.tokenizer, options.lowercase, false}, options.max_ngram_order)) {}

    BleuResult score(Prepared& pair) const {
        PairedWords& words = pair.words(words_);
        BleuResult result;
        result.output_tokens = words.output.words.size();
        result.expected_tokens = words.expected.words.size();
        // Matching and all n-grams of the output, for each order.
        std::vector<double> correct, total;
        for (std::size_t n = 1; n <= options_.max_ngram_order; ++n) {
            correct.push_back(static_cast<double>(words.shared(n)));
            total.push_back(static_cast<double>(result.output_tokens - std::min(result.output_tokens, n - 1)));
        }
        compute(correct, total, result);
        return result;
    }

private:
    // sacrebleu's compute_bleu, operation by operation.
    void compute(std::vector<double>& correct, std::vector<double>& total, BleuResult& result) const {
        const auto output = static_cast<double>(result.output_tokens);
        const auto expected = static_cast<double>(result.expected_tokens);
        result.brevity_penalty = output >= expected ? 1.0 : output > 0 ? std::exp(1 - expected / output) : 0.0;
        bool any = false;
        for (const double matches : correct) any = any || matches > 0;
        if (!any) return;
        const std::size_t orders = options_.max_ngram_order;
        std::size_t used = orders;
        double smooth = 1, logs = 0;
        std::vector<double> precisions(orders, 0);
        for (std::size_t n = 0; n < orders; ++n) {
            if (options_.smoothing == BleuSmoothing::add_k && n > 0) {
                correct[n] += options_.smooth_value;
                total[n] += options_.smooth_value;
            }
            if (total[n] == 0) break;
            if (options_.effective_order) used = n + 1;
            if (correct[n] != 0) precisions[n] = 100.0 * correct[n] / total[n];
            else if (options_.smoothing == BleuSmoothing::exp) {
                smooth *= 2;
                precisions[n] = 100.0 / (smooth * total[n]);
            } else if (options_.smoothing == BleuSmoothing::floor) {
                precisions[n] = 100.0 * options_.smooth_value / total[n];
            }
        }
        for (std::size_t n = 0; n < used; ++n) logs += precisions[n] == 0 ? -9999999999.0 : std::log(precisions[n]);
        const double percent = result.brevity_penalty * std::exp(logs / static_cast<double>(used));
        result.score = std::min(percent / 100, 1.0);
    }

    BleuOptions options_;
    std::size_t words_;
};

}  // namespace pe
