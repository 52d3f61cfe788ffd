// Words in common, as multisets and as sets: what needs no order of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vocabulary.hpp"

namespace pe::words {

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
        for (const Member& member : members_) words_[member.word].left = 0;
        if (words_.size() < limit) words_.resize(limit);
        members_.resize(words.size());
        std::size_t different = 0;
        for (const std::uint32_t word : words) {
            members_[different] = {word, 0};
            different += words_[word].left++ == 0;
        }
        members_.resize(different);
        for (Member& member : members_) member.count = words_[member.word].left;
    }
    // The size of the intersection as multisets.
    std::size_t count(const Numbers& output, std::size_t limit) {
        if (words_.size() < limit) words_.resize(limit);
        std::size_t shared = 0;
        for (const std::uint32_t word : output) {
            // No branch: whether a word is shared is hard to predict.
            std::uint32_t& left = words_[word].left;
            const std::uint32_t taken = left != 0;
            left -= taken;
            shared += taken;
        }
        for (const Member& member : members_) words_[member.word].left = member.count;
        return shared;
    }
    SetSizes compare(const Numbers& output, std::size_t limit) {
        if (words_.size() < limit) words_.resize(limit);
        if (++outputs_ == 0) {  // before old marks would look new
            for (Entry& entry : words_) entry.seen = 0;
            outputs_ = 1;
        }
        SetSizes sizes;
        sizes.expected = members_.size();
        for (const std::uint32_t word : output) {
            Entry& entry = words_[word];
            const std::size_t is_new = entry.seen != outputs_;
            entry.seen = outputs_;
            sizes.output += is_new;
            sizes.overlap += is_new & static_cast<std::size_t>(entry.left != 0);
        }
        return sizes;
    }

private:
    struct Member {
        std::uint32_t word, count;
    };
    struct Entry {
        std::uint32_t left = 0;  // how often expected has the word
        std::uint32_t seen = 0;  // the last output that had it, by number
    };
    std::vector<Member> members_;  // the different words of expected
    std::vector<Entry> words_;     // of the vocabulary
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

}  // namespace pe::words
