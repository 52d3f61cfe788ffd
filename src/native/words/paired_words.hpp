// The words of both texts of a pair, and what they have in common.
#pragma once

#include "lcs.hpp"
#include "ngrams.hpp"
#include "vocabulary.hpp"

namespace pe::words {

// The words of an expected text, numbered anew from 0, and outputs in the same numbers: small enough for tables in place of
// searches. An expected text that stands in many rows is numbered once.

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

// Words in common, as multisets and as sets: what needs no order of words.

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

// The words of both texts of a pair, and what they have in common: computed when first asked for.

class PairedWords {
public:
    // Numbers of the vocabulary, below `limit`; and where each line with words ends, if lines are kept apart.
    struct Side {
        Numbers words;
        std::vector<std::size_t> line_ends;
    };
    Side output, expected;

    void set_longest_ngrams(std::size_t order) { shared_.resize(order); }
    // To be called when `expected` was read, before `output_changed`.
    void expected_changed(std::size_t limit) {
        limit_ = limit;
        has_counts_ = has_numbers_ = has_ngrams_ = has_rows_ = false;
    }
    void output_changed(std::size_t limit) {
        limit_ = limit;
        has_output_numbers_ = has_shared_ = has_sets_ = false;
    }

    // How many n-grams are shared, as multisets; n is at most what was said beforehand.
    std::size_t shared(std::size_t n) {
        if (is_first(has_shared_)) {
            if (shared_.size() == 1) shared_[0] = counts().count(output.words, limit_);
            else count_ngrams();
        }
        return shared_[n - 1];
    }
    const SetSizes& sets() {
        if (is_first(has_sets_)) sizes_ = counts().compare(output.words, limit_);
        return sizes_;
    }
    std::size_t common_subsequence() {
        ExpectedWords& words = numbers();
        if (is_first(has_rows_)) lcs_.set_rows(words.expected(), words.distinct());
        return lcs_.length(words.output());
    }
    // Line by line of expected: the words in the union of its common subsequences with each line of the output. No word
    // counts more often than the output has it.
    std::size_t words_in_line_subsequences() {
        const ExpectedWords& words = numbers();
        left_.assign(words.distinct(), 0);
        for (const std::uint32_t word : words.output())
            if (word != no_number) ++left_[word];
        cut(words.output(), output.line_ends, output_lines_);
        std::size_t hits = 0, begin = 0;
        for (const std::size_t end : expected.line_ends) {
            line_.assign(words.expected().begin() + static_cast<std::ptrdiff_t>(begin),
                         words.expected().begin() + static_cast<std::ptrdiff_t>(end));
            begin = end;
            lcs_.start_rows(line_, words.distinct());
            for (const Numbers& other : output_lines_) lcs_.mark_rows(other);
            const std::vector<std::uint8_t>& used = lcs_.used();
            for (std::size_t i = 0; i < line_.size(); ++i) {
                std::uint32_t& left = left_[line_[i]];
                const bool hit = used[i] != 0 && left != 0;
                hits += hit;
                left -= hit;
            }
        }
        has_rows_ = false;
        return hits;
    }

private:
    static bool is_first(bool& has) { return !std::exchange(has, true); }
    SharedWords& counts() {
        if (is_first(has_counts_)) counts_.set_expected(expected.words, limit_);
        return counts_;
    }
    // Both texts in numbers of their own.
    ExpectedWords& numbers() {
        if (is_first(has_numbers_)) numbers_.set_expected(expected.words, limit_);
        if (is_first(has_output_numbers_)) numbers_.set_output(output.words, limit_);
        return numbers_;
    }
    void count_ngrams() {
        ExpectedWords& words = numbers();
        if (is_first(has_ngrams_)) ngrams_.set_expected(words.expected(), words.distinct());
        ngrams_.count(words.output(), shared_);
    }
    static void cut(const Numbers& words, const std::vector<std::size_t>& ends, std::vector<Numbers>& lines) {
        lines.resize(ends.size());
        std::size_t begin = 0;
        for (std::size_t i = 0; i < ends.size(); begin = ends[i++])
            lines[i].assign(words.begin() + static_cast<std::ptrdiff_t>(begin),
                            words.begin() + static_cast<std::ptrdiff_t>(ends[i]));
    }

    SharedWords counts_;
    ExpectedWords numbers_;
    SharedNgrams ngrams_;
    Lcs lcs_;
    std::size_t limit_ = 0;
    std::vector<std::size_t> shared_;
    SetSizes sizes_;
    Numbers left_, line_;
    std::vector<Numbers> output_lines_;
    // What is there of the expected text, and of the output.
    bool has_counts_ = false, has_numbers_ = false, has_ngrams_ = false, has_rows_ = false;
    bool has_output_numbers_ = false, has_shared_ = false, has_sets_ = false;
};

}  // namespace pe::words
