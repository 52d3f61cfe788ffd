// Shared character n-grams of all orders up to some order, from one sort of both texts' longest n-grams.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "counts.hpp"
#include "ngrams.hpp"

namespace pe {

class CharacterNgrams {
public:
    // `matches[n - 1]` becomes the size of the multiset intersection of the n-grams. The symbols are from 1 to `symbols`.
    void overlap(const Numbers& expected, const Numbers& output, std::size_t symbols, std::vector<std::size_t>& matches,
                 Ngrams& ngrams, Counts& counts) {
        unsigned bits = 1;
        while (symbols >> bits != 0) ++bits;
        if (bits * matches.size() <= most_bits) return by_sorting(expected, output, bits, matches);
        matches[0] = ngrams.start(expected, output, symbols + 1, counts);
        for (std::size_t n = 1; n < matches.size(); ++n) matches[n] = ngrams.extend();
    }

private:
    static constexpr unsigned most_bits = 63, digit_bits = 11;
    static constexpr std::size_t fewest_to_radix_sort = 512;

    // A key is an n-gram of the longest order, its first symbol highest, and a lowest bit that is 1 for the output. Behind
    // the end of a text there are zeros. N-grams with equal beginnings are neighbours once sorted.
    void by_sorting(const Numbers& expected, const Numbers& output, unsigned bits, std::vector<std::size_t>& matches) {
        const auto order = static_cast<unsigned>(matches.size());
        std::fill(matches.begin(), matches.end(), 0);
        if (order == 0) return;
        keys_.resize(expected.size() + output.size());
        fill_keys(expected, bits, order, 0, keys_.data());
        fill_keys(output, bits, order, 1, keys_.data() + expected.size());
        sort(bits * order);
        count_groups(bits, order, matches);
        // N-grams that run over the end of a text also met as equal: one for each common ending shorter than they are.
        std::size_t ending = 0;
        const std::size_t shorter = std::min(expected.size(), output.size());
        while (ending < shorter && expected[expected.size() - 1 - ending] == output[output.size() - 1 - ending]) ++ending;
        for (std::size_t n = 1; n <= order; ++n) matches[n - 1] -= std::min(n - 1, ending);
    }
    static void fill_keys(const Numbers& text, unsigned bits, unsigned order, std::uint64_t side, std::uint64_t* keys) {
        std::uint64_t window = 0;
        for (std::size_t i = text.size(); i-- > 0;) {
            window = window >> bits | static_cast<std::uint64_t>(text[i]) << (bits * (order - 1));
            keys[i] = window << 1 | side;
        }
    }
    void sort(unsigned bits) {
        if (keys_.size() < fewest_to_radix_sort) return std::sort(keys_.begin(), keys_.end());
        const unsigned passes = (bits + digit_bits - 1) / digit_bits;
        constexpr std::size_t radix = std::size_t{1} << digit_bits;
        starts_.assign(passes * radix, 0);
        for (const std::uint64_t key : keys_)
            for (unsigned pass = 0; pass < passes; ++pass) ++starts_[pass * radix + digit(key, pass)];
        sorted_.resize(keys_.size());
        for (unsigned pass = 0; pass < passes; ++pass) {
            std::uint32_t* starts = &starts_[pass * radix];
            std::uint32_t sum = 0;
            for (std::size_t i = 0; i < radix; ++i) {
                const std::uint32_t size = starts[i];
                starts[i] = sum;
                sum += size;
            }
            for (const std::uint64_t key : keys_) sorted_[starts[digit(key, pass)]++] = key;
            keys_.swap(sorted_);
        }
    }
    // The side bit is left out: it needs no order.
    static std::size_t digit(std::uint64_t key, unsigned pass) {
        return key >> (1 + pass * digit_bits) & ((1u << digit_bits) - 1);
    }
    void count_groups(unsigned bits, unsigned order, std::vector<std::size_t>& matches) {
        // By the highest bit in which two keys differ: how many symbols they have in common.
        std::array<unsigned, 64> common{};
        for (unsigned bit = 1; bit <= bits * order; ++bit) common[bit] = order - 1 - (bit - 1) / bits;
        struct Group {
            std::size_t begin = 0, outputs_before = 0;
        };
        std::array<Group, most_bits> groups{};
        std::size_t outputs = 0;
        const std::size_t size = keys_.size();
        for (std::size_t i = 0; i < size; ++i) {
            outputs += keys_[i] & 1;
            unsigned shared = 0;
            if (i + 1 < size) {
                const std::uint64_t differ = (keys_[i] ^ keys_[i + 1]) >> 1;
                if (differ == 0) continue;
                shared = common[64 - static_cast<unsigned>(__builtin_clzll(differ))];
            }
            for (unsigned n = shared; n < order; ++n) {
                Group& group = groups[n];
                const std::size_t in_output = outputs - group.outputs_before;
                matches[n] += std::min(in_output, i + 1 - group.begin - in_output);
                group = {i + 1, outputs};
            }
        }
    }

    std::vector<std::uint64_t> keys_, sorted_;
    std::vector<std::uint32_t> starts_;
};

}  // namespace pe
