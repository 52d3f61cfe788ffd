// Sentence BLEU, with the numbers of sacrebleu 2.6.0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "prepared.hpp"

namespace pe::words {

enum class BleuSmoothing { none, floor, add_k, exp };

struct BleuOptions {
    Tokenizer tokenizer = Tokenizer::v13a;
    bool lowercase = false;
    BleuSmoothing smoothing = BleuSmoothing::exp;
    double smooth_value = 0;
    std::size_t max_ngram_order = 4;
    bool effective_order = true;
    bool details = false;  // whether to tell the shared n-grams of each order
};

struct BleuResult {
    double score = 0;  // in [0, 1]
    double brevity_penalty = 0;
    std::size_t output_tokens = 0, expected_tokens = 0;
    std::vector<std::size_t> overlap;  // by order, where details are wanted
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
        std::vector<Order> orders(options_.max_ngram_order);
        for (std::size_t n = 1; n <= orders.size(); ++n) {
            orders[n - 1].correct = static_cast<double>(words.shared(n));
            orders[n - 1].total = static_cast<double>(result.output_tokens - std::min(result.output_tokens, n - 1));
            if (options_.details) result.overlap.push_back(words.shared(n));
        }
        compute(orders, result);
        return result;
    }

private:
    // N-grams of the output of one length: those that match, and all.
    struct Order {
        double correct = 0, total = 0, precision = 0;
    };

    // sacrebleu's compute_bleu, operation by operation.
    void compute(std::vector<Order>& orders, BleuResult& result) const {
        const auto output = static_cast<double>(result.output_tokens);
        const auto expected = static_cast<double>(result.expected_tokens);
        result.brevity_penalty = output >= expected ? 1.0 : output > 0 ? std::exp(1 - expected / output) : 0.0;
        bool any = false;
        for (const Order& order : orders) any = any || order.correct > 0;
        if (!any) return;
        std::size_t used = orders.size();
        double smooth = 1, logs = 0;
        for (std::size_t n = 0; n < orders.size(); ++n) {
            auto& [correct, total, precision] = orders[n];
            if (options_.smoothing == BleuSmoothing::add_k && n > 0) {
                correct += options_.smooth_value;
                total += options_.smooth_value;
            }
            if (total == 0) break;
            if (options_.effective_order) used = n + 1;
            if (correct != 0) precision = 100.0 * correct / total;
            else if (options_.smoothing == BleuSmoothing::exp) {
                smooth *= 2;
                precision = 100.0 / (smooth * total);
            } else if (options_.smoothing == BleuSmoothing::floor) {
                precision = 100.0 * options_.smooth_value / total;
            }
        }
        for (std::size_t n = 0; n < used; ++n)
            logs += orders[n].precision == 0 ? -9999999999.0 : std::log(orders[n].precision);
        const double percent = result.brevity_penalty * std::exp(logs / static_cast<double>(used));
        result.score = std::min(percent / 100, 1.0);
    }

    BleuOptions options_;
    std::size_t words_;
};

}  // namespace pe::words
