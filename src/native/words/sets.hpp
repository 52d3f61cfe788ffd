// Word sets, for Jaccard and recall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "expected.hpp"

namespace pe {

struct SetSizes {
    std::size_t output = 0, expected = 0, overlap = 0;
    bool alike = true;  // whether two texts without any word count as equal
    std::size_t all() const { return output + expected - overlap; }
};

class Sets {
public:
    // `output` is the same text in numbers of the vocabulary, which are below `limit`.
    SetSizes compare(const ExpectedWords& words, const Numbers& output, std::size_t limit) {
        if (marks_.size() < limit) marks_.resize(limit);
        SetSizes sizes;
        sizes.expected = words.distinct();
        for (std::size_t i = 0; i < output.size(); ++i) {
            const std::size_t is_new = marks_[output[i]] == 0;
            marks_[output[i]] = 1;
            sizes.output += is_new;
            sizes.overlap += is_new & static_cast<std::size_t>(words.output()[i] != no_number);
        }
        for (const std::uint32_t word : output) marks_[word] = 0;
        return sizes;
    }

private:
    std::vector<std::uint8_t> marks_;  // all zero between calls
};

// Without any word on either side both are 1, or 0 for texts that are not alike.
inline double jaccard_of(const SetSizes& sizes) {
    return sizes.all() == 0 ? (sizes.alike ? 1.0 : 0.0) : static_cast<double>(sizes.overlap) / static_cast<double>(sizes.all());
}
inline double recall_of(const SetSizes& sizes) {
    if (sizes.expected == 0) return sizes.output == 0 && sizes.alike ? 1.0 : 0.0;
    return static_cast<double>(sizes.overlap) / static_cast<double>(sizes.expected);
}

}  // namespace pe
