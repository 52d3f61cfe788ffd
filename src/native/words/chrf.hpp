// Sentence chrF and chrF++, with the numbers of sacrebleu 2.6.0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "prepared.hpp"

namespace pe::words {

struct ChrfOptions {
    std::size_t char_order = 6, word_order = 0;
    double beta = 2;
    bool lowercase = false, whitespace = false, eps_smoothing = false;
    bool details = false;  // whether to tell the shared character n-grams of each order
};

struct ChrfResult {
    double score = 0;  // in [0, 1]
    double precision = 0, recall = 0;
    std::size_t output_characters = 0, expected_characters = 0;
    std::vector<std::size_t> overlap;  // of characters by order, where details are wanted
};

class Chrf {
public:
    Chrf(const ChrfOptions& options, Needs& needs) : options_(options) {
        const std::size_t texts = needs.add_texts({});
        const Tokenizer characters = options.whitespace ? Tokenizer::spaced_code_points : Tokenizer::code_points;
        characters_ = needs.add_words(texts, {characters, options.lowercase, false}, options.char_order);
        if (options.word_order > 0)
            words_ = needs.add_words(texts, {Tokenizer::chrf, options.lowercase, false}, options.word_order);
    }

    ChrfResult score(Prepared& pair) const {
        Totals totals;
        PairedWords& characters = pair.words(characters_);
        add_orders(characters, options_.char_order, totals);
        ChrfResult told;
        if (options_.details) {
            told.output_characters = characters.output.words.size();
            told.expected_characters = characters.expected.words.size();
            for (std::size_t n = 1; n <= options_.char_order; ++n) told.overlap.push_back(characters.shared(n));
        }
        if (options_.word_order > 0) add_orders(pair.words(words_), options_.word_order, totals);
        return finish(totals, std::move(told));
    }

private:
    struct Totals {
        double score = 0, precision = 0, recall = 0;
        std::size_t orders = 0;
    };
    static constexpr double epsilon = 1e-16;

    void add_orders(PairedWords& words, std::size_t orders, Totals& totals) const {
        const std::size_t output = words.output.words.size(), expected = words.expected.words.size();
        for (std::size_t n = 1; n <= orders; ++n)
            add_order(output - std::min(output, n - 1), expected - std::min(expected, n - 1), words.shared(n), totals);
    }

    // What follows does sacrebleu's operations in sacrebleu's order.
    void add_order(std::size_t output, std::size_t expected, std::size_t match, Totals& totals) const {
        if (expected == 0) output = 0;
        const double factor = options_.beta * options_.beta;
        const double precision = output > 0 ? static_cast<double>(match) / static_cast<double>(output) : epsilon;
        const double recall = expected > 0 ? static_cast<double>(match) / static_cast<double>(expected) : epsilon;
        const double divisor = factor * precision + recall;
        totals.score += divisor > 0 ? (1 + factor) * precision * recall / divisor : epsilon;
        if (output == 0 || expected == 0) return;
        totals.precision += precision;
        totals.recall += recall;
        ++totals.orders;
    }
    ChrfResult finish(const Totals& totals, ChrfResult result) const {
        const double factor = options_.beta * options_.beta;
        if (totals.orders > 0) {
            result.precision = totals.precision / static_cast<double>(totals.orders);
            result.recall = totals.recall / static_cast<double>(totals.orders);
        }
        double percent = 0;
        if (options_.eps_smoothing) {
            percent = 100 * totals.score / static_cast<double>(options_.char_order + options_.word_order);
        } else if (result.precision + result.recall > 0) {
            double score = (1 + factor) * result.precision * result.recall;
            score /= factor * result.precision + result.recall;
            percent = 100 * score;
        }
        result.score = std::min(percent / 100, 1.0);
        return result;
    }

    ChrfOptions options_;
    std::size_t characters_ = 0, words_ = 0;
};

}  // namespace pe::words
