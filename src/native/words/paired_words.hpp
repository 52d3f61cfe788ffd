// The words of both texts of a pair, and what they have in common: computed when first asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "expected.hpp"
#include "lcs.hpp"
#include "ngrams.hpp"
#include "sets.hpp"

namespace pe::words {

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
        if (!has_shared_) {
            if (shared_.size() == 1) shared_[0] = counts().count(output.words, limit_);
            else count_ngrams();
            has_shared_ = true;
        }
        return shared_[n - 1];
    }
    const SetSizes& sets() {
        if (!has_sets_) sizes_ = counts().compare(output.words, limit_);
        has_sets_ = true;
        return sizes_;
    }
    std::size_t common_subsequence() {
        ExpectedWords& words = numbers();
        if (!has_rows_) lcs_.set_rows(words.expected(), words.distinct());
        has_rows_ = true;
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
    SharedWords& counts() {
        if (!has_counts_) counts_.set_expected(expected.words, limit_);
        has_counts_ = true;
        return counts_;
    }
    // Both texts in numbers of their own.
    ExpectedWords& numbers() {
        if (!has_numbers_) numbers_.set_expected(expected.words, limit_);
        if (!has_output_numbers_) numbers_.set_output(output.words, limit_);
        has_numbers_ = has_output_numbers_ = true;
        return numbers_;
    }
    void count_ngrams() {
        ExpectedWords& words = numbers();
        if (!has_ngrams_) ngrams_.set_expected(words.expected(), words.distinct());
        has_ngrams_ = true;
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
