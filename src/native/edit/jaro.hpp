// Jaro-Winkler, in time linear in the lengths.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/portable.hpp"
#include "levenshtein/affix.hpp"
#include "levenshtein/scalar.hpp"
#include "levenshtein/vector_kernels.hpp"

namespace pe::edit {

class JaroWinklerKernel {
public:
    static constexpr bool takes_any_symbols = false;

    // The similarity, as RapidFuzz computes it to the last bit.
    template <typename Symbol>
    double operator()(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right, std::size_t symbols) {
        const std::size_t shorter = std::min(left.size, right.size);
        const std::size_t prefix = common_prefix(left.data, right.data, shorter);
        double similarity = jaro(left, right, prefix, symbols);
        if (similarity > 0.7) {
            similarity += static_cast<double>(std::min<std::size_t>(prefix, 4)) * 0.1 * (1.0 - similarity);
            similarity = std::min(similarity, 1.0);
        }
        return 1.0 - (1.0 - similarity);
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Matches {
        std::size_t count, displaced;  // how many there are, and how many of them stand in another order
    };

    template <typename Symbol>
    double jaro(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right, std::size_t prefix,
                std::size_t symbols) {
        if (left.size == 0 && right.size == 0) return 1.0;
        if (left.size == 0 || right.size == 0) return 0.0;
        const std::size_t half = std::max(left.size, right.size) / 2, reach = half > 0 ? half - 1 : 0;
        // What both begin with matches itself.
        const vector_kernels::Sequence<Symbol> left_rest{left.data + prefix, left.size - prefix};
        const vector_kernels::Sequence<Symbol> right_rest{right.data + prefix, right.size - prefix};
        const bool is_short = std::max(left_rest.size, right_rest.size) <= 64;
        const Matches matches = is_short ? match_bits(left_rest, right_rest, reach, symbols)
                                         : match_chains(left_rest, right_rest, reach, symbols);
        if (prefix + matches.count == 0) return 0.0;
        const auto common = static_cast<double>(prefix + matches.count);
        double sum = common / static_cast<double>(left.size);
        sum += common / static_cast<double>(right.size);
        sum += (common - static_cast<double>(matches.displaced / 2)) / common;
        return sum / 3.0;
    }

    // A symbol of `right` matches the first equal one of `left` that is at most `reach` places away and not taken. In short
    // texts a place is a bit, and nothing depends on what cannot be foreseen.
    template <typename Symbol>
    Matches match_bits(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right, std::size_t reach,
                       std::size_t symbols) {
        if (places_.size() < symbols) places_.resize(symbols);
        for (std::size_t i = 0; i < left.size; ++i) places_[left.data[i]] |= std::uint64_t{1} << i;
        std::uint64_t taken = 0, matched = 0;
        for (std::size_t j = 0; j < right.size; ++j) {
            const std::uint64_t near = low_bits(j + reach + 1) & ~low_bits(j > reach ? j - reach : 0);
            const std::uint64_t free = places_[right.data[j]] & near & ~taken;
            taken |= free & (~free + 1);
            matched |= std::uint64_t{free != 0} << j;
        }
        const std::size_t count = popcount(taken);
        std::size_t displaced = 0;
        for (; matched != 0; matched &= matched - 1, taken &= taken - 1)
            displaced += (places_[right.data[count_trailing_zeros(matched)]] & taken & (~taken + 1)) == 0;
        for (std::size_t i = 0; i < left.size; ++i) places_[left.data[i]] = 0;
        return {count, displaced};
    }

    // The same for texts of any length. As windows only move on, each symbol's places are taken in their order: a chain of
    // places and where it has got to is all that is needed.
    template <typename Symbol>
    Matches match_chains(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right, std::size_t reach,
                         std::size_t symbols) {
        if (first_.size() < symbols) first_.resize(symbols, none);
        const auto grow = [](auto& memory, std::size_t size) {
            if (memory.size() < size) memory.resize(size);
        };
        grow(next_, left.size);
        grow(is_taken_, left.size);
        grow(left_matches_, left.size);
        grow(right_matches_, right.size);
        for (std::size_t i = left.size; i-- > 0;) {
            next_[i] = first_[left.data[i]];
            first_[left.data[i]] = static_cast<std::uint32_t>(i);
            is_taken_[i] = 0;
        }
        Matches matches{0, 0};
        const std::size_t end = std::min(right.size, left.size + reach);
        for (std::size_t j = 0; j < end; ++j) {
            std::uint32_t& place = first_[right.data[j]];
            while (place != none && place + reach < j) place = next_[place];
            if (place == none || place > j + reach) continue;
            is_taken_[place] = 1;
            place = next_[place];
            right_matches_[matches.count++] = right.data[j];
        }
        std::size_t found = 0;
        for (std::size_t i = 0; i < left.size; ++i) {
            left_matches_[found] = left.data[i];
            found += is_taken_[i];
            first_[left.data[i]] = none;
        }
        for (std::size_t i = 0; i < matches.count; ++i) matches.displaced += left_matches_[i] != right_matches_[i];
        return matches;
    }

    std::vector<std::uint64_t> places_;  // by symbol; all zero between uses
    std::vector<std::uint32_t> first_;  // by symbol: its first place that is not taken or out of reach; none between uses
    std::vector<std::uint32_t> next_;   // by place: the next one of the same symbol
    std::vector<std::uint8_t> is_taken_;
    std::vector<std::uint32_t> left_matches_, right_matches_;
};

}  // namespace pe::edit
