// The metrics of words in common, each with the numbers of the package that it is known from.
#pragma once

#include <cmath>

#include "prepared.hpp"

namespace pe::words {

// ROUGE, with the numbers of rouge-score 0.1.2.

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

    // As rouge-score computes it, operation by operation: of so many words or n-grams.
    void set_measures(std::size_t output, std::size_t expected) {
        precision = static_cast<double>(overlap) / static_cast<double>(std::max<std::size_t>(output, 1));
        recall = static_cast<double>(overlap) / static_cast<double>(std::max<std::size_t>(expected, 1));
        f1 = overlap > 0 ? 2 * precision * recall / (precision + recall) : 0.0;
    }
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
        result.set_measures(output, expected);
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
    RougeOptions options_;
    std::size_t texts_, words_;
};

// Jaccard and recall: words in common, each counted once.

class WordSets {
public:
    WordSets(Tokenizer tokenizer, bool fold_case, Needs& needs, const Needs::Texts& normalization = {})
        : is_automatic_(is_automatic(tokenizer)),
          texts_(needs.add_texts(normalization)),
          words_(needs.add_words(texts_, {tokenizer, fold_case, false})) {}

    SetSizes score(Prepared& pair) const {
        SetSizes sizes = pair.words(words_).sets();
        if (is_automatic_ && sizes.all() == 0) sizes.alike = pair.are_equal_folded(pair.texts(texts_), true);
        return sizes;
    }

private:
    bool is_automatic_;
    std::size_t texts_, words_;
};

// SQuAD's F1: words without case, punctuation and articles, as multisets.

class TokenF1 {
public:
    TokenF1(Tokenizer tokenizer, Needs& needs) : words_(needs.add_words(needs.add_texts({}), {tokenizer, true, false})) {}

    RougeResult score(Prepared& pair) const {
        PairedWords& words = pair.words(words_);
        RougeResult result;
        result.output_tokens = words.output.words.size();
        result.expected_tokens = words.expected.words.size();
        result.overlap = words.shared(1);
        result.set_measures(result.output_tokens, result.expected_tokens);
        if (result.output_tokens == 0 && result.expected_tokens == 0) result.precision = result.recall = result.f1 = 1.0;
        return result;
    }

private:
    std::size_t words_;
};

// Sentence BLEU, with the numbers of sacrebleu 2.6.0.

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
          words_(needs.add_words(needs.add_texts({}), {options.tokenizer, options.lowercase, false}, options.max_ngram_order)) {
    }

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
        for (std::size_t n = 0; n < used; ++n) logs += orders[n].precision == 0 ? -9999999999.0 : std::log(orders[n].precision);
        const double percent = result.brevity_penalty * std::exp(logs / static_cast<double>(used));
        result.score = std::min(percent / 100, 1.0);
    }

    BleuOptions options_;
    std::size_t words_;
};

// GLEU, with the numbers of NLTK's `sentence_gleu`.

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

// Sentence chrF and chrF++, with the numbers of sacrebleu 2.6.0.

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

// Texts made comparable and then a word metric: judge-llm's Response Evaluator.

enum class ResponseMatch { exact, rouge, recall, jaccard };

struct ResponseOptions {
    ResponseMatch match = ResponseMatch::rouge;
    bool fold_case = true;
    bool normalize_whitespace = true;
    Tokenizer tokenizer = Tokenizer::automatic;  // of rouge, recall and jaccard
};

struct ResponseResult {
    double score = 0;
    RougeResult rouge;  // of ResponseMatch::rouge
    SetSizes words;     // of ResponseMatch::recall and jaccard
};

class Response {
public:
    Response(const ResponseOptions& options, Needs& needs) : options_(options) {
        const Normalization normalization{options.fold_case, options.normalize_whitespace};
        switch (options.match) {
            case ResponseMatch::exact:
                texts_ = needs.add_texts(normalization);
                if (options.normalize_whitespace) words_ = needs.add_words(texts_, {Tokenizer::whitespace, false, false});
                break;
            case ResponseMatch::rouge:
                rouge_.emplace(RougeOptions{RougeKind::ngrams, 1, options.tokenizer, true}, needs, normalization);
                break;
            case ResponseMatch::recall:
            case ResponseMatch::jaccard: sets_.emplace(options.tokenizer, false, needs, normalization);
        }
    }

    ResponseResult score(Prepared& pair) const {
        ResponseResult result;
        const bool no_output = unicode::strip(pair.texts().output).empty(),
                   no_expected = unicode::strip(pair.texts().expected).empty();
        if (no_output || no_expected) {
            result.score = no_output && no_expected ? 1.0 : 0.0;
            return result;
        }
        switch (options_.match) {
            case ResponseMatch::exact: result.score = are_equal(pair) ? 1.0 : 0.0; break;
            case ResponseMatch::rouge:
                result.rouge = rouge_->score(pair);
                result.score = result.rouge.f1;
                break;
            case ResponseMatch::recall:
            case ResponseMatch::jaccard:
                result.words = sets_->score(pair);
                result.score = options_.match == ResponseMatch::recall ? recall_of(result.words) : jaccard_of(result.words);
        }
        return result;
    }

private:
    bool are_equal(Prepared& pair) const {
        if (options_.normalize_whitespace) return pair.words(words_).output.words == pair.words(words_).expected.words;
        return unicode::strip(pair.texts(texts_).output) == unicode::strip(pair.texts(texts_).expected);
    }

    ResponseOptions options_;
    std::size_t texts_ = 0, words_ = 0;
    std::optional<Rouge> rouge_;
    std::optional<WordSets> sets_;
};

}  // namespace pe::words
