// Sentence chrF and chrF++, with the numbers of sacrebleu 2.6.0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "character_ngrams.hpp"
#include "workspace.hpp"

namespace pe {

struct ChrfOptions {
    std::size_t char_order = 6, word_order = 0;
    double beta = 2;
    bool lowercase = false, whitespace = false, eps_smoothing = false;
};

struct ChrfResult {
    double score = 0;  // in [0, 1]
    double precision = 0, recall = 0;
};

class Chrf {
public:
    ChrfResult score(Text output, Text expected, const ChrfOptions& options) {
        totals_ = {};
        if (options.lowercase) {
            lower_into(output, words_.left);
            lower_into(expected, words_.right);
            output = words_.left.view();
            expected = words_.right.view();
        }
        add_characters(output, expected, options);
        if (options.word_order > 0) add_words(output, expected, options);
        return finish(options);
    }

private:
    // Numbers code points from 1 on, in the order of their first use.
    class Symbols {
    public:
        void start() {
            if (++pair_ == 0) {
                ascii_.fill({});
                pair_ = 1;
            }
            size_ = 0;
            if (wide_.size() > 0) wide_.clear();
        }
        std::size_t size() const { return size_; }
        std::uint32_t number(std::uint32_t code) {
            if (code < 128) {
                Entry& entry = ascii_[code];
                if (entry.pair != pair_) entry = {pair_, ++size_};
                return entry.number;
            }
            char bytes[16] = {};
            std::memcpy(bytes, &code, sizeof code);
            return wide_.find_or_add(bytes, sizeof code, [&] { return ++size_; });
        }

    private:
        struct Entry {
            std::uint32_t pair = 0, number = 0;
        };
        std::array<Entry, 128> ascii_{};
        Interner wide_;
        std::uint32_t pair_ = 0, size_ = 0;
    };
    struct Totals {
        double score = 0, precision = 0, recall = 0;
        std::size_t orders = 0;
    };
    static constexpr double epsilon = 1e-16;

    void add_characters(Text output, Text expected, const ChrfOptions& options) {
        symbols_.start();
        read_characters(output, options.whitespace, words_.output);
        read_characters(expected, options.whitespace, words_.expected);
        matches_.assign(options.char_order, 0);
        characters_.overlap(words_.expected, words_.output, symbols_.size(), matches_, words_.ngrams, words_.counts);
        for (std::size_t n = 1; n <= options.char_order; ++n)
            add_order(ngrams_of(words_.output, n), ngrams_of(words_.expected, n), matches_[n - 1], options);
    }
    void read_characters(Text text, bool keep_spaces, Numbers& out) {
        out.resize(text.size());
        std::size_t size = 0;
        const char* const end = text.data() + text.size();
        for (const char* at = text.data(); at < end;) {
            const std::uint32_t code = unicode::next(at, end);
            if (keep_spaces || !is_space(code)) out[size++] = symbols_.number(code);
        }
        out.resize(size);
    }
    static std::size_t ngrams_of(const Numbers& text, std::size_t n) { return text.size() >= n ? text.size() - n + 1 : 0; }

    void add_words(Text output, Text expected, const ChrfOptions& options) {
        words_.vocabulary.start_pair(false);
        read_words(output, words_.output);
        read_words(expected, words_.expected);
        Ngrams& ngrams = words_.ngrams;
        for (std::size_t n = 0; n < options.word_order; ++n) {
            const std::size_t match =
                n == 0 ? ngrams.start(words_.expected, words_.output, words_.vocabulary.size(), words_.counts)
                       : ngrams.extend();
            add_order(ngrams.output_size(), ngrams.expected_size(), match, options);
        }
    }
    // One punctuation mark stands alone, at the end of a word or else at its start.
    void read_words(Text text, Numbers& out) {
        out.clear();
        const auto take = words_.numbering(out);
        words_.reader.split(text, [&](const char* word, std::size_t length) {
            if (length > 1 && is_ascii_punctuation(static_cast<unsigned char>(word[length - 1]))) {
                take(word, length - 1);
                take(word + length - 1, 1);
            } else if (length > 1 && is_ascii_punctuation(static_cast<unsigned char>(word[0]))) {
                take(word, 1);
                take(word + 1, length - 1);
            } else take(word, length);
        });
    }

    // What follows does sacrebleu's operations in sacrebleu's order.
    void add_order(std::size_t output, std::size_t expected, std::size_t match, const ChrfOptions& options) {
        if (expected == 0) output = 0;
        const double factor = options.beta * options.beta;
        const double precision = output > 0 ? static_cast<double>(match) / static_cast<double>(output) : epsilon;
        const double recall = expected > 0 ? static_cast<double>(match) / static_cast<double>(expected) : epsilon;
        const double divisor = factor * precision + recall;
        totals_.score += divisor > 0 ? (1 + factor) * precision * recall / divisor : epsilon;
        if (output == 0 || expected == 0) return;
        totals_.precision += precision;
        totals_.recall += recall;
        ++totals_.orders;
    }
    ChrfResult finish(const ChrfOptions& options) const {
        ChrfResult result;
        const double factor = options.beta * options.beta;
        if (totals_.orders > 0) {
            result.precision = totals_.precision / static_cast<double>(totals_.orders);
            result.recall = totals_.recall / static_cast<double>(totals_.orders);
        }
        double percent = 0;
        if (options.eps_smoothing) {
            percent = 100 * totals_.score / static_cast<double>(options.char_order + options.word_order);
        } else if (result.precision + result.recall > 0) {
            double score = (1 + factor) * result.precision * result.recall;
            score /= factor * result.precision + result.recall;
            percent = 100 * score;
        }
        result.score = std::min(percent / 100, 1.0);
        return result;
    }

    WordsWorkspace words_;
    CharacterNgrams characters_;
    Symbols symbols_;
    std::vector<std::size_t> matches_;
    Totals totals_;
};

inline void chrf_many(const Text* outputs, const Text* expected, std::size_t count, const ChrfOptions& options,
                      ChrfResult* results, Chrf& workspace) {
    for (std::size_t i = 0; i < count; ++i) results[i] = workspace.score(outputs[i], expected[i], options);
}

}  // namespace pe
