// Names for n-grams: a longer n-gram is a shorter one and the token behind it, and that pair gets a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "counts.hpp"

namespace pe {

// Starts from the tokens themselves as 1-grams. Only the n-grams of `expected` get numbers; one of `output` that is not
// among them is `no_number`, and so are all that begin with it.
class Ngrams {
public:
    // Returns the size of the multiset intersection of the tokens, which are below `limit`.
    std::size_t start(const Numbers& expected_tokens, const Numbers& output_tokens, std::size_t limit, Counts& counts) {
        expected_tokens_ = &expected_tokens;
        output_tokens_ = &output_tokens;
        expected_ = expected_tokens;
        output_ = output_tokens;
        order_ = 1;
        return counts.overlap(expected_tokens, output_tokens, limit);
    }
    // From n-grams to (n+1)-grams; returns the size of their multiset intersection.
    std::size_t extend() {
        reserve(expected_.size());
        const std::size_t expected = drop_last(expected_), output = drop_last(output_);
        std::uint32_t names = 0;
        for (std::size_t i = 0; i < expected; ++i) {
            const std::uint64_t ngram = key(expected_[i], (*expected_tokens_)[i + order_]);
            Slot& slot = find(ngram);
            if (slot.name == no_number) slot = {ngram, names++, 0};
            ++slot.count;
            expected_[i] = slot.name;
        }
        std::size_t shared = 0;
        for (std::size_t i = 0; i < output; ++i) {
            if (output_[i] == no_number) continue;
            Slot& slot = find(key(output_[i], (*output_tokens_)[i + order_]));
            output_[i] = slot.name;
            shared += slot.count != 0;
            slot.count -= slot.count != 0;
        }
        ++order_;
        return shared;
    }
    std::size_t expected_size() const { return expected_.size(); }
    std::size_t output_size() const { return output_.size(); }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t name = no_number;  // the slot is free
        std::uint32_t count = 0;
    };
    static std::uint64_t key(std::uint32_t ngram, std::uint32_t token) {
        return static_cast<std::uint64_t>(ngram) << 32 | token;
    }
    static std::size_t drop_last(Numbers& ngrams) {
        if (!ngrams.empty()) ngrams.pop_back();
        return ngrams.size();
    }
    void reserve(std::size_t ngrams) {
        std::size_t slots = 16;
        while (slots < 2 * ngrams) slots *= 2;
        slots_.assign(slots, Slot{});
    }
    // Where the n-gram is, or belongs.
    Slot& find(std::uint64_t wanted) {
        std::uint64_t hash = wanted * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at].name != no_number && slots_[at].key != wanted) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }

    const Numbers* expected_tokens_ = nullptr;
    const Numbers* output_tokens_ = nullptr;
    Numbers expected_, output_;
    std::size_t order_ = 1;
    std::vector<Slot> slots_;
};

}  // namespace pe
