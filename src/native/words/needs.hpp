// The plan: what the metrics of a call need of each pair of texts. What several of them need is there once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "normalize.hpp"
#include "reading.hpp"

namespace pe::words {

class Needs {
public:
    using Texts = std::optional<Normalization>;
    struct Words {
        std::size_t texts;
        Reading reading;
        bool by_line;
        bool is_asked_for = false;  // by a metric, whatever the pair
        // With an automatic tokenizer it is one of these two, pair by pair.
        std::size_t usual = 0, wide = 0;
        std::size_t longest_ngrams = 1;

        bool is_automatic() const { return words::is_automatic(reading.tokenizer); }
        bool operator==(const Words& other) const {
            return texts == other.texts && reading == other.reading && by_line == other.by_line;
        }
    };

    // The texts as they are, or made comparable for the response evaluator. Returns where they will be.
    std::size_t add_texts(const Texts& normalization) { return add(texts_, normalization); }

    // Their words; `by_line` keeps the words of different lines apart. `ngrams` is the longest order of interest.
    std::size_t add_words(std::size_t texts, const Reading& reading, std::size_t ngrams = 1, bool by_line = false) {
        const std::size_t at = add(words_, Words{texts, reading, by_line});
        words_[at].is_asked_for = true;
        raise_order(at, ngrams);
        if (!words_[at].is_automatic()) return at;
        const TokenizerChoices choices = choices_of(reading.tokenizer);
        words_[at].usual = add_choice(at, choices.usual);
        words_[at].wide = add_choice(at, choices.wide);
        return at;
    }

    const std::vector<Texts>& texts() const { return texts_; }
    const std::vector<Words>& words() const { return words_; }

private:
    std::size_t add_choice(std::size_t automatic, Tokenizer tokenizer) {
        Words words = words_[automatic];
        words.reading.tokenizer = tokenizer;
        words.is_asked_for = false;
        const std::size_t at = add(words_, words);
        raise_order(at, words.longest_ngrams);
        return at;
    }
    void raise_order(std::size_t at, std::size_t ngrams) {
        words_[at].longest_ngrams = std::max(words_[at].longest_ngrams, ngrams);
    }
    template <class Need>
    static std::size_t add(std::vector<Need>& needs, const Need& need) {
        const auto found = std::find(needs.begin(), needs.end(), need);
        if (found != needs.end()) return static_cast<std::size_t>(found - needs.begin());
        needs.push_back(need);
        return needs.size() - 1;
    }

    std::vector<Texts> texts_;
    std::vector<Words> words_;
};

}  // namespace pe::words
