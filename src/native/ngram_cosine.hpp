// Cosine between the n-gram counts of two texts, with words or characters as units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "unicode.hpp"
#include "words/tokenizers.hpp"
#include "words/vocabulary.hpp"

namespace pe {

// Numbers for sequences of symbols: a tree whose edges stand in one hash table. Equal sequences, and only those, lead to
// the same node.
class SequenceTree {
public:
    static constexpr std::uint32_t root = 0;

    SequenceTree() : slots_(fewest_slots) {}
    void clear() {
        size_ = 1;
        if (++generation_ == 0) {
            std::fill(slots_.begin(), slots_.end(), Slot{});
            generation_ = 1;
        }
    }
    std::size_t size() const { return size_; }

    std::uint32_t child(std::uint32_t node, std::uint32_t symbol) {
        return number(static_cast<std::uint64_t>(node) << 32 | symbol);
    }
    // The node of the first one to three code points of a sequence, in one step. None is 0 once 1 is added, so that
    // sequences of different length differ.
    std::uint32_t start(const std::uint32_t* codes, std::size_t count) {
        std::uint64_t packed = 0;
        for (std::size_t i = 0; i < count; ++i) packed = packed << 21 | (codes[i] + 1);
        return number(packed | std::uint64_t{1} << 63);
    }

private:
    static constexpr std::size_t fewest_slots = 1024;

    // Slots of an earlier generation are free.
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t node = 0, generation = 0;
    };
    std::uint32_t number(std::uint64_t key) {
        Slot& slot = find(key);
        if (slot.generation == generation_) return slot.node;
        const std::uint32_t added = size_++;
        slot = {key, added, generation_};
        if (2 * static_cast<std::size_t>(size_) > slots_.size()) grow();
        return added;
    }
    Slot& find(std::uint64_t key) {
        std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at].generation == generation_ && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.generation == generation_) find(slot.key) = slot;
    }

    std::vector<Slot> slots_;
    std::uint32_t size_ = 1, generation_ = 1;
};

struct NgramOptions {
    bool words, fold_case;
    std::size_t n;
};

class NgramCosine {
public:
    double operator()(Text output, Text expected, const NgramOptions& options) {
        tree_.clear();
        vocabulary_.start_pair(false);
        read(output, options, output_);
        read(expected, options, expected_);
        if (output_.empty() || expected_.empty()) return output_.empty() && expected_.empty() ? 1.0 : 0.0;
        output_counts_.resize(std::max(output_counts_.size(), tree_.size()));
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
    void read_units(Text text, const NgramOptions& options) {
        if (!options.words) return decode(text, options.fold_case, text.size(), units_);
        units_.clear();
        reader_.for_each(text, Tokenizer::whitespace, options.fold_case, [this](const char* word, std::size_t length) {
            units_.push_back(vocabulary_.number(word, length));
        });
    }
    // The n-grams of a text, by number. A text of fewer than n units is one shorter n-gram.
    void read(Text text, const NgramOptions& options, std::vector<std::uint32_t>& ngrams) {
        read_units(text, options);
        const std::size_t order = std::min(options.n, units_.size());
        const std::size_t first = options.words ? 1 : std::min<std::size_t>(order, 3);
        ngrams.resize(order == 0 ? 0 : units_.size() - order + 1);
        for (std::size_t i = 0; i < ngrams.size(); ++i) {
            std::uint32_t node = options.words ? tree_.child(SequenceTree::root, units_[i]) : tree_.start(&units_[i], first);
            for (std::size_t k = first; k < order; ++k) node = tree_.child(node, units_[i + k]);
            ngrams[i] = node;
        }
    }

    TokenReader reader_;
    Vocabulary vocabulary_;
    SequenceTree tree_;
    std::vector<std::uint32_t> units_, output_, expected_;
    std::vector<std::uint32_t> output_counts_, expected_counts_;  // all zero between calls
};

}  // namespace pe
