// Shared character n-grams of all orders up to some order, from one sort of both texts' longest n-grams.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
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
    static constexpr unsigned most_bits = 63, most_digit_bits = 12;
    static constexpr std::size_t fewest_to_radix_sort = 512, most_to_radix_sort = 0xFFFFFFFF;

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
    // The side bit is left out: it needs no order.
    void sort(unsigned bits) {
        if (keys_.size() < fewest_to_radix_sort || keys_.size() > most_to_radix_sort) return std::sort(keys_.begin(), keys_.end());
        const unsigned passes = (bits + most_digit_bits - 1) / most_digit_bits;
        const unsigned digit_bits = (bits + passes - 1) / passes;
        const std::size_t digits = std::size_t{1} << digit_bits;
        sorted_.resize(keys_.size());
        for (unsigned shift = 1; shift <= bits; shift += digit_bits) {
            const auto digit = [=](std::uint64_t key) { return key >> shift & (digits - 1); };
            starts_.assign(digits, 0);
            for (const std::uint64_t key : keys_) ++starts_[digit(key)];
            std::uint32_t sum = 0;
            for (std::size_t i = 0; i < digits; ++i) sum += std::exchange(starts_[i], sum);
            for (const std::uint64_t key : keys_) sorted_[starts_[digit(key)]++] = key;
            keys_.swap(sorted_);
        }
    }
    // Neighbours that share their first n symbols are a group of order n. Groups of one match nothing, so that a group
    // begins where more symbols are shared with the next key than with the one before.
    void count_groups(unsigned bits, unsigned order, std::vector<std::size_t>& matches) {
        // By the highest bit in which two keys differ: how many symbols they share.
        std::array<std::uint8_t, 64> shared_by_bit{};
        for (unsigned bit = 0; bit < bits * order; ++bit) shared_by_bit[bit] = static_cast<std::uint8_t>(order - 1 - bit / bits);
        struct Group {
            std::size_t begin, outputs_before;
        };
        std::array<Group, most_bits> groups;
        std::size_t outputs = 0;
        unsigned before = 0;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            unsigned shared = 0;
            if (i + 1 < keys_.size()) {
                const std::uint64_t differ = (keys_[i] ^ keys_[i + 1]) >> 1;
                shared = differ == 0 ? order : shared_by_bit[63 - static_cast<unsigned>(__builtin_clzll(differ))];
            }
            for (unsigned n = before; n < shared; ++n) groups[n] = {i, outputs};
            outputs += keys_[i] & 1;
            for (unsigned n = shared; n < before; ++n) {
                const std::size_t in_output = outputs - groups[n].outputs_before;
                matches[n] += std::min(in_output, i + 1 - groups[n].begin - in_output);
            }
            before = shared;
        }
    }

    std::vector<std::uint64_t> keys_, sorted_;
    std::vector<std::uint32_t> starts_;
};

}  // namespace pe
