// Longest common subsequences, 64 rows of the table at a time (Hyyrö 2004).
//
// A column of the table is kept as the differences of neighbouring rows, one bit each: 0 where the length grows by one.
// Rows come in strips, so that the match masks stay small however long the texts are; what one strip hands to the next
// is one carry bit a column.
#pragma once

#include "../core/interrupt.hpp"
#include "vocabulary.hpp"

namespace pe::words {

class Lcs {
public:
    // The rows, below `limit`; once for all columns that are compared with them. They must stay where they are.
    void set_rows(const Numbers& rows, std::size_t limit) {
        release_strip();
        rows_ = &rows;
        limit_ = limit;
    }
    // The length for one sequence of columns. Those that are in no row may be `no_number`.
    std::size_t length(const Numbers& columns) {
        const std::size_t size = rows_->size();
        if (size <= strip) {
            if (size == 0) return 0;
            use_strip(*rows_, 0, limit_);
            static constexpr std::size_t (Lcs::* lengths[])(const Numbers&) = {
                &Lcs::short_length<1>, &Lcs::short_length<2>, &Lcs::short_length<3>, &Lcs::short_length<4>,
                &Lcs::short_length<5>, &Lcs::short_length<6>, &Lcs::short_length<7>, &Lcs::short_length<8>};
            if (blocks_ <= std::size(lengths)) return (this->*lengths[blocks_ - 1])(columns);
        }
        carries_.assign(columns.size(), 0);
        std::size_t total = 0;
        for (std::size_t begin = 0; begin < size; begin += strip) {
            throw_if_stopped();
            use_strip(*rows_, begin, limit_);
            state_.assign(blocks_, ~std::uint64_t{0});
            for (std::size_t j = 0; j < columns.size(); ++j) carries_[j] = step(state_.data(), columns[j], carries_[j]);
            total += zeros(state_.data(), blocks_);
        }
        return total;
    }

    // For rouge-score's union of subsequences: `start_rows` once, then `mark_rows` for every sequence of columns.
    void start_rows(const Numbers& rows, std::size_t limit) {
        set_rows(rows, limit);
        used_.assign(rows.size(), 0);
    }
    // Marks the rows of one longest common subsequence. Of several it takes the one that rouge-score finds: back from the
    // end, a match is always taken, and otherwise a column is dropped only where dropping the row would cost length.
    void mark_rows(const Numbers& columns) {
        const std::size_t strips = (rows_->size() + strip - 1) / strip;
        // What each strip gets from the one above it. The last strip's own carries are never read.
        carries_.assign(strips * columns.size(), 0);
        for (std::size_t s = 0; s + 1 < strips; ++s) {
            throw_if_stopped();
            use_strip(*rows_, s * strip, limit_);
            state_.assign(blocks_, ~std::uint64_t{0});
            for (std::size_t j = 0; j < columns.size(); ++j)
                carries_[(s + 1) * columns.size() + j] = step(state_.data(), columns[j], carries_[s * columns.size() + j]);
        }
        std::size_t j = columns.size();
        for (std::size_t s = strips; s-- > 0 && j > 0;) j = mark_strip(columns, j, s);
    }
    const std::vector<std::uint8_t>& used() const { return used_; }

private:
    static constexpr std::size_t strip = 1024;

    // Moves blocks to a column with these matches; takes and returns the carry.
    PE_ALWAYS_INLINE static std::uint64_t advance(std::uint64_t* state, std::size_t blocks, const std::uint64_t* matches,
                                                  std::uint64_t carry) {
        for (std::size_t b = 0; b < blocks; ++b) {
            const std::uint64_t before = state[b], taken = before & matches[b];
            const std::uint64_t part = before + taken, sum = part + carry;
            carry = (part < before) | (sum < part);
            state[b] = sum | (before - taken);
        }
        return carry;
    }
    static std::size_t zeros(const std::uint64_t* state, std::size_t blocks) {
        std::size_t count = 0;
        for (std::size_t b = 0; b < blocks; ++b) count += popcount(~state[b]);
        return count;
    }
    // The same for rows of one strip, with a state that stays in registers. Nothing is carried into the strip, so that
    // columns that are in no row change nothing.
    template <std::size_t blocks>
    std::size_t short_length(const Numbers& columns) {
        // Those that are in a row come first by themselves: which ones these are, no branch predicts.
        masks_of_columns_.resize(columns.size());
        std::size_t found = 0;
        for (const std::uint32_t column : columns) {
            masks_of_columns_[found] = mask_of_[std::min<std::size_t>(column, limit_)];
            found += masks_of_columns_[found] != no_number;
        }
        std::uint64_t state[blocks];
        std::fill_n(state, blocks, ~std::uint64_t{0});
        for (std::size_t i = 0; i < found; ++i) advance(state, blocks, &masks_[masks_of_columns_[i] * blocks], 0);
        return zeros(state, blocks);
    }

    std::size_t mark_strip(const Numbers& columns, std::size_t j, std::size_t s) {
        throw_if_stopped();
        const std::size_t first = s * strip;
        use_strip(*rows_, first, limit_);
        if (blocks_ == 1 && s == 0) return mark_short(columns, j);
        table_.resize(blocks_ * (j + 1));
        std::fill_n(table_.begin(), blocks_, ~std::uint64_t{0});
        for (std::size_t column = 0; column < j; ++column) {
            std::uint64_t* before = &table_[column * blocks_];
            std::copy_n(before, blocks_, before + blocks_);
            step(before + blocks_, columns[column], carries_[s * columns.size() + column]);
        }
        for (std::size_t i = std::min(rows_->size() - first, strip); i > 0 && j > 0;) {
            const std::size_t row = i - 1;
            if ((*rows_)[first + row] == columns[j - 1]) {
                used_[first + row] = 1;
                --i;
                --j;
            } else if (table_[j * blocks_ + row / 64] >> (row % 64) & 1) --i;
            else --j;
        }
        return j;
    }

    // The same for sentences of up to 64 words, which nearly all are.
    std::size_t mark_short(const Numbers& columns, std::size_t j) {
        table_.resize(j + 1);
        std::uint64_t state = table_[0] = ~std::uint64_t{0};
        for (std::size_t column = 0; column < j; ++column) {
            const std::uint32_t mask = mask_of(columns[column]);
            const std::uint64_t taken = mask == no_number ? 0 : state & masks_[mask];
            table_[column + 1] = state = (state + taken) | (state - taken);
        }
        if (~state << (64 - std::min<std::size_t>(rows_->size(), 64)) == 0) return 0;  // nothing in common
        for (std::size_t i = rows_->size(); i > 0 && j > 0;) {
            if ((*rows_)[i - 1] == columns[j - 1]) {
                used_[--i] = 1;
                --j;
            } else if (table_[j] >> (i - 1) & 1) --i;
            else --j;
        }
        return j;
    }

    // The match masks of rows [begin, begin + strip).
    void use_strip(const Numbers& rows, std::size_t begin, std::size_t limit) {
        if (!members_.empty() && begin == begin_) return;
        release_strip();
        begin_ = begin;
        const std::size_t size = std::min(rows.size() - begin, strip);
        blocks_ = (size + 63) / 64;
        // One more, for what is in no row.
        if (mask_of_.size() <= limit) mask_of_.resize(limit + 1, no_number);
        masks_.clear();
        for (std::size_t i = 0; i < size; ++i) {
            std::uint32_t& mask = mask_of_[rows[begin + i]];
            if (mask == no_number) {
                mask = static_cast<std::uint32_t>(members_.size());
                members_.push_back(rows[begin + i]);
                masks_.resize(masks_.size() + blocks_);
            }
            masks_[mask * blocks_ + i / 64] |= std::uint64_t{1} << (i % 64);
        }
    }
    void release_strip() {
        for (const std::uint32_t number : members_) mask_of_[number] = no_number;
        members_.clear();
    }

    std::uint32_t mask_of(std::uint32_t column) const { return column == no_number ? no_number : mask_of_[column]; }
    // Moves the state to the next column; takes and returns the carry from strip to strip.
    std::uint8_t step(std::uint64_t* state, std::uint32_t column, std::uint8_t carry_in) const {
        std::uint64_t carry = carry_in;
        const std::uint32_t mask = mask_of(column);
        if (mask == no_number) {
            for (std::size_t b = 0; carry != 0 && b < blocks_; ++b) {
                const std::uint64_t sum = state[b] + 1;
                carry = sum == 0;
                state[b] |= sum;
            }
            return static_cast<std::uint8_t>(carry);
        }
        return static_cast<std::uint8_t>(advance(state, blocks_, &masks_[mask * blocks_], carry));
    }

    std::size_t begin_ = 0, blocks_ = 0, limit_ = 0;
    std::vector<std::uint32_t> mask_of_;  // by number; `no_number` for all that are not in the strip
    Numbers masks_of_columns_;
    std::vector<std::uint32_t> members_;
    std::vector<std::uint64_t> masks_, state_, table_;
    std::vector<std::uint8_t> carries_, used_;
    const Numbers* rows_ = nullptr;
};

}  // namespace pe::words
