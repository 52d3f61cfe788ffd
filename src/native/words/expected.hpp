// The words of an expected text, numbered anew from 0, and outputs in the same numbers: small enough for tables in place of
// searches. An expected text that stands in many rows is numbered once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vocabulary.hpp"

namespace pe::words {

class ExpectedWords {
public:
    // Takes the numbers of a vocabulary, which are below `limit`.
    void set_expected(const Numbers& words, std::size_t limit) {
        for (const std::uint32_t word : members_) local_of_[word] = no_number;
        members_.clear();
        if (local_of_.size() < limit) local_of_.resize(limit, no_number);
        expected_.resize(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
            std::uint32_t& local = local_of_[words[i]];
            if (local == no_number) {
                local = static_cast<std::uint32_t>(members_.size());
                members_.push_back(words[i]);
            }
            expected_[i] = local;
        }
    }
    void set_output(const Numbers& words, std::size_t limit) {
        if (local_of_.size() < limit) local_of_.resize(limit, no_number);
        output_.resize(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) output_[i] = local_of_[words[i]];
    }

    const Numbers& expected() const { return expected_; }
    // `no_number` for words that expected does not have.
    const Numbers& output() const { return output_; }
    // Different words of expected; their numbers are below.
    std::size_t distinct() const { return members_.size(); }

private:
    std::vector<std::uint32_t> local_of_;  // by number of the vocabulary; `no_number` for all that are not members
    Numbers members_, expected_, output_;
};

}  // namespace pe::words
