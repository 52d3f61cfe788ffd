// Words in common, as multisets and as sets: what needs no order of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vocabulary.hpp"

namespace pe {

struct SetSizes {
    std::size_t output = 0, expected = 0, overlap = 0;
    bool alike = true;  // whether two texts without any word count as equal
    std::size_t all() const { return output + expected - overlap; }
};

// Tables by number of the vocabulary, so that each word of an output costs one look. An expected text that stands in many
// rows is counted once.
class SharedWords {
public:
    // Numbers are below `limit`, here and in outputs.
    void set_expected(const Numbers& words, std::size_t limit) {
        for (const Member& member : members_) left_[member.word] = 0;
        if (left_.size() < limit) left_.resize(limit);
        members_.resize(words.size());
        std::size_t different = 0;
        for (const std::uint32_t word : words) {
            members_[different] = {word, 0};
            different += left_[word]++ == 0;
        }
        members_.resize(different);
        for (Member& member : members_) member.count = left_[member.word];
    }
    // The size of the intersection as multisets.
    std::size_t count(const Numbers& output, std::size_t limit) {
        if (left_.size() < limit) left_.resize(limit);
        std::size_t shared = 0;
        for (const std::uint32_t word : output) {
            // No branch: whether a word is shared is hard to predict.
            const std::uint32_t taken = left_[word] != 0;
            left_[word] -= taken;
            shared += taken;
        }
        for (const Member& member : members_) left_[member.word] = member.count;
        return shared;
    }
    SetSizes compare(const Numbers& output, std::size_t limit) {
        if (left_.size() < limit) left_.resize(limit);
        if (seen_.size() < limit) seen_.resize(limit);
        if (++outputs_ == 0) {  // before old marks would look new
            seen_.assign(seen_.size(), 0);
            outputs_ = 1;
        }
        SetSizes sizes;
        sizes.expected = members_.size();
        for (const std::uint32_t word : output) {
            const std::size_t is_new = seen_[word] != outputs_;
            seen_[word] = outputs_;
            sizes.output += is_new;
            sizes.overlap += is_new & static_cast<std::size_t>(left_[word] != 0);
        }
        return sizes;
    }

private:
    struct Member {
        std::uint32_t word, count;
    };
    std::vector<Member> members_;      // the different words of expected
    std::vector<std::uint32_t> left_;  // how often expected has each word of the vocabulary
    std::vector<std::uint32_t> seen_;  // the last output that had each word, by number
    std::uint32_t outputs_ = 0;
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
