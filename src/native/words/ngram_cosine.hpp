// Cosine between the n-gram counts of two texts, with words or characters as units.
#pragma once

#include <cmath>

#include "../core/hashing.hpp"
#include "../unicode/decode.hpp"
#include "tokenizers.hpp"
#include "vocabulary.hpp"

namespace pe::words {

// Numbers for pairs of numbers: equal pairs, and only those, have the same one.
class PairNumbers {
public:
    PairNumbers() : slots_(fewest_slots) {}
    void clear() {
        size_ = 0;
        if (++generation_ == 0) {
            std::fill(slots_.begin(), slots_.end(), Slot{});
            generation_ = 1;
        }
    }
    std::size_t size() const { return size_; }

    std::uint32_t number(std::uint64_t pair) {
        Slot& slot = find(pair);
        if (slot.generation == generation_) return slot.number;
        const std::uint32_t added = size_++;
        slot = {pair, added, generation_};
        if (2 * static_cast<std::size_t>(size_) > slots_.size()) grow();
        return added;
    }

private:
    static constexpr std::size_t fewest_slots = 1024;

    // Slots of an earlier generation are free.
    struct Slot {
        std::uint64_t pair = 0;
        std::uint32_t number = 0, generation = 0;
    };
    Slot& find(std::uint64_t pair) {
        std::size_t at = hash_pair(pair, 0) & (slots_.size() - 1);
        while (slots_[at].generation == generation_ && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.generation == generation_) find(slot.pair) = slot;
    }

    std::vector<Slot> slots_;
    std::uint32_t size_ = 0, generation_ = 1;
};

struct NgramOptions {
    bool words, fold_case;
    std::size_t n;
    Tokenizer tokenizer = Tokenizer::whitespace;  // of words
};

class NgramCosine {
public:
    double operator()(Text output, Text expected, const NgramOptions& options) {
        if (vocabulary_.is_full()) vocabulary_.clear();
        Tokenizer tokenizer = options.tokenizer;
        if (options.words && is_automatic(tokenizer)) {
            const TokenizerChoices choices = choices_of(tokenizer);
            tokenizer = choices.is_wide(output) || choices.is_wide(expected) ? choices.wide : choices.usual;
        }
        read_units(output, options, tokenizer, output_);
        read_units(expected, options, tokenizer, expected_);
        if (output_.empty() || expected_.empty()) return output_.empty() && expected_.empty() ? 1.0 : 0.0;
        // A text of fewer than n units is one shorter n-gram.
        if (std::min(output_.size(), expected_.size()) < options.n) return output_ == expected_ ? 1.0 : 0.0;
        output_counts_.resize(std::max(output_counts_.size(), number_ngrams(options)));
        expected_counts_.resize(output_counts_.size());
        for (const std::uint32_t ngram : output_) ++output_counts_[ngram];
        for (const std::uint32_t ngram : expected_) ++expected_counts_[ngram];
        // Summed over occurrences, not over distinct n-grams, a count gives its own square.
        std::uint64_t product = 0, output_square = 0, expected_square = 0;
        for (const std::uint32_t ngram : output_) {
            product += expected_counts_[ngram];
            output_square += output_counts_[ngram];
        }
        for (const std::uint32_t ngram : expected_) expected_square += expected_counts_[ngram];
        for (const std::uint32_t ngram : output_) output_counts_[ngram] = 0;
        for (const std::uint32_t ngram : expected_) expected_counts_[ngram] = 0;
        // The root of the product, not the product of the roots: equal counts give exactly 1.
        const double length = std::sqrt(static_cast<double>(output_square) * static_cast<double>(expected_square));
        return std::min(1.0, static_cast<double>(product) / length);
    }

private:
    void read_units(Text text, const NgramOptions& options, Tokenizer tokenizer, std::vector<std::uint32_t>& units) {
        if (!options.words) return unicode::decode(text, options.fold_case, text.size(), units);
        units.clear();
        words_.clear();
        reader_.read(text, tokenizer, options.fold_case, words_);
        vocabulary_.number(words_, false, units);
    }
    // Turns the units of both texts into the numbers of their n-grams, all below what is returned. An n-gram of up to 2k
    // units is a pair of n-grams of k units that may overlap: the time grows with the logarithm of n.
    std::size_t number_ngrams(const NgramOptions& options) {
        std::size_t width = 1, limit = vocabulary_.size();
        if (!options.words) {
            // Up to three code points fit a number of 64 bits.
            width = std::min<std::size_t>(options.n, 3);
            limit = renumber(width - 1, [width](const std::uint32_t* units) {
                std::uint64_t packed = 0;
                for (std::size_t i = 0; i < width; ++i) packed = packed << 21 | units[i];
                return packed;
            });
        }
        while (width < options.n) {
            const std::size_t step = std::min(width, options.n - width);
            limit = renumber(
                step, [step](const std::uint32_t* units) { return static_cast<std::uint64_t>(units[0]) << 32 | units[step]; });
            width += step;
        }
        return limit;
    }
    // Replaces each number, but for the last `shorter`, by that of what `pair` makes of it and those behind it.
    template <class Pair>
    std::size_t renumber(std::size_t shorter, Pair pair) {
        pairs_.clear();
        for (std::vector<std::uint32_t>* units : {&output_, &expected_}) {
            const std::size_t size = units->size() - shorter;
            for (std::size_t i = 0; i < size; ++i) (*units)[i] = pairs_.number(pair(units->data() + i));
            units->resize(size);
        }
        return pairs_.size();
    }

    TokenReader reader_;
    WordList words_;
    Vocabulary vocabulary_;
    PairNumbers pairs_;
    std::vector<std::uint32_t> output_, expected_;
    std::vector<std::uint32_t> output_counts_, expected_counts_;  // all zero between calls
};

}  // namespace pe::words
