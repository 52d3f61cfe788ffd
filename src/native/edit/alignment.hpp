// Which edits turn one sequence into another, counted by kind: those that RapidFuzz finds.
#pragma once

#include <unordered_map>

#include "../core/text.hpp"
#include "../core/interrupt.hpp"

namespace pe::edit {

struct EditCounts {
    std::size_t substitutions = 0, insertions = 0, deletions = 0;
};

// 1 - error rate, and at least 0. Nothing against nothing is right.
inline double score_of_errors(std::size_t errors, std::size_t length) {
    if (length == 0) return errors == 0 ? 1.0 : 0.0;
    return std::max(1.0 - static_cast<double>(errors) / static_cast<double>(length), 0.0);
}

// The vertical differences of Hyyrö's bit-parallel table, row by row of `to`: which of them are +1, and which are -1. Only
// some rows are kept; those between them are made again when the way back comes to them.
class DifferenceRows {
public:
    DifferenceRows(const std::uint32_t* from, std::size_t from_size, const std::uint32_t* to, std::size_t to_size)
        : to_(to), to_size_(to_size), words_((from_size + 63) / 64), zeros_(words_) {
        for (std::size_t i = 0; i < from_size; ++i) {
            auto [found, is_new] = masks_.try_emplace(from[i]);
            if (is_new) found->second.resize(words_);
            found->second[i / 64] |= std::uint64_t{1} << (i % 64);
        }
        for (step_ = 64; step_ * step_ < to_size; step_ *= 2) {
        }
        State state{std::vector<std::uint64_t>(words_, ~std::uint64_t{0}), std::vector<std::uint64_t>(words_)};
        for (std::size_t row = 0; row < to_size; ++row) {
            if (row % step_ == 0) kept_.push_back(state);
            advance(state, row);
        }
    }
    bool is_plus(std::size_t row, std::size_t column) { return bit(at(row).plus, column); }
    bool is_minus(std::size_t row, std::size_t column) { return bit(at(row).minus, column); }

private:
    struct State {
        std::vector<std::uint64_t> plus, minus;
    };
    static bool bit(const std::vector<std::uint64_t>& bits, std::size_t i) { return bits[i / 64] >> (i % 64) & 1; }

    const State& at(std::size_t row) {
        if (row / step_ != block_) {
            block_ = row / step_;
            rows_.clear();
            State state = kept_[block_];
            for (std::size_t i = block_ * step_; i < std::min(to_size_, (block_ + 1) * step_); ++i) {
                advance(state, i);
                rows_.push_back(state);
            }
        }
        return rows_[row % step_];
    }
    void advance(State& state, std::size_t row) {
        if (row % 16 == 0) throw_if_stopped();
        const auto found = masks_.find(to_[row]);
        const std::vector<std::uint64_t>& matches = found == masks_.end() ? zeros_ : found->second;
        std::uint64_t plus_carry = 1, minus_carry = 0;
        for (std::size_t i = 0; i < words_; ++i) {
            std::uint64_t &plus = state.plus[i], &minus = state.minus[i];
            const std::uint64_t x = matches[i] | minus_carry;
            const std::uint64_t diagonal = (((x & plus) + plus) ^ plus) | x | minus;
            std::uint64_t rise = minus | ~(diagonal | plus), fall = diagonal & plus;
            const std::uint64_t rise_out = rise >> 63, fall_out = fall >> 63;
            rise = rise << 1 | plus_carry;
            fall = fall << 1 | minus_carry;
            plus_carry = rise_out;
            minus_carry = fall_out;
            plus = fall | ~(diagonal | rise);
            minus = rise & diagonal;
        }
    }

    const std::uint32_t* to_;
    std::size_t to_size_, words_, step_ = 64, block_ = static_cast<std::size_t>(-1);
    std::vector<std::uint64_t> zeros_;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> masks_;
    std::vector<State> kept_, rows_;
};

inline EditCounts count_edits(const std::uint32_t* from, std::size_t from_size, const std::uint32_t* to, std::size_t to_size) {
    while (from_size > 0 && to_size > 0 && from[0] == to[0]) ++from, --from_size, ++to, --to_size;
    while (from_size > 0 && to_size > 0 && from[from_size - 1] == to[to_size - 1]) --from_size, --to_size;
    EditCounts counts;
    if (from_size == 0 || to_size == 0) {
        counts.deletions = from_size;
        counts.insertions = to_size;
        return counts;
    }
    DifferenceRows rows(from, from_size, to, to_size);
    std::size_t column = from_size, row = to_size;
    while (row > 0 && column > 0) {
        if (rows.is_plus(row - 1, column - 1)) {
            ++counts.deletions;
            --column;
            continue;
        }
        --row;
        if (row > 0 && rows.is_minus(row - 1, column - 1)) {
            ++counts.insertions;
            continue;
        }
        --column;
        counts.substitutions += from[column] != to[row];
    }
    counts.deletions += column;
    counts.insertions += row;
    return counts;
}

}  // namespace pe::edit
