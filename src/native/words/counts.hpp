// How much two sequences of small numbers share, as multisets and as sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pe {

using Numbers = std::vector<std::uint32_t>;
inline constexpr std::uint32_t no_number = 0xFFFFFFFF;

class Counts {
public:
    // The size of the multiset intersection. Numbers are below `limit`.
    std::size_t overlap(const Numbers& expected, const Numbers& output, std::size_t limit) {
        if (counts_.size() < limit) counts_.resize(limit);
        for (const std::uint32_t number : expected) ++counts_[number];
        std::size_t shared = 0;
        for (const std::uint32_t number : output) {
            const std::uint32_t left = counts_[number];  // no branch: whether a word is shared is hard to predict
            shared += left != 0;
            counts_[number] = left - (left != 0);
        }
        for (const std::uint32_t number : expected) counts_[number] = 0;
        return shared;
    }

private:
    std::vector<std::uint32_t> counts_;  // all zero between calls
};

struct SetSizes {
    std::size_t output = 0, expected = 0, overlap = 0;
    std::size_t all() const { return output + expected - overlap; }
};

class Sets {
public:
    // Numbers are below `limit`.
    SetSizes compare(const Numbers& expected, const Numbers& output, std::size_t limit) {
        if (marks_.size() < limit) marks_.resize(limit);
        SetSizes sizes;
        for (const std::uint32_t number : expected) {
            sizes.expected += marks_[number] == 0;
            marks_[number] = in_expected;
        }
        for (const std::uint32_t number : output) {
            const std::uint8_t mark = marks_[number];
            sizes.output += (mark & in_output) == 0;
            sizes.overlap += mark == in_expected;
            marks_[number] = mark | in_output;
        }
        for (const std::uint32_t number : expected) marks_[number] = 0;
        for (const std::uint32_t number : output) marks_[number] = 0;
        return sizes;
    }

private:
    static constexpr std::uint8_t in_expected = 1, in_output = 2;
    std::vector<std::uint8_t> marks_;  // all zero between calls
};

}  // namespace pe
