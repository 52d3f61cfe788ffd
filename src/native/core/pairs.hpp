// Two columns of texts, pair by pair, those with the same expected text one after the other.
//
// In a comparison of versions the same expected text stands in many rows, wherever they are. Kernels that prepare it do
// so once, then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "columns.hpp"
#include "dealer.hpp"
#include "hashing.hpp"
#include "kept.hpp"
#include "pool.hpp"

namespace pe {

// The pairs of some thousand rows, without nulls.
class PairWindow {
public:
    struct Pair {
        Text output, expected;
        std::size_t row;
    };
    static constexpr std::size_t most_rows = 1 << 16;

    void clear() {
        pairs_.clear();
        bytes_ = 0;
    }
    void push(const Pair& pair) {
        pairs_.push_back(pair);
        bytes_ += pair.output.size() + pair.expected.size();
    }
    std::size_t size() const { return pairs_.size(); }
    // Of all texts.
    std::size_t bytes() const { return bytes_; }
    const Pair& operator[](std::size_t i) const { return pairs_[order_.empty() ? i : order_[i]]; }

    // Brings pairs that seem to have the same expected text together, where there are many of them.
    void group() {
        order_.clear();
        std::size_t slots = 16;
        while (slots < 2 * pairs_.size()) slots *= 2;
        slots_.assign(slots, Slot{});
        groups_.resize(pairs_.size());
        starts_.clear();
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            const std::uint64_t hash = glance(pairs_[i].expected);
            std::size_t at = hash & (slots - 1);
            while (slots_[at].group != none && slots_[at].hash != hash) at = (at + 1) & (slots - 1);
            if (slots_[at].group == none) {
                slots_[at] = {hash, static_cast<std::uint32_t>(starts_.size())};
                starts_.push_back(0);
            }
            groups_[i] = slots_[at].group;
            ++starts_[groups_[i]];
        }
        if (10 * starts_.size() > 9 * pairs_.size()) return;
        std::uint32_t sum = 0;
        for (std::uint32_t& start : starts_) {
            const std::uint32_t size = start;
            start = sum;
            sum += size;
        }
        order_.resize(pairs_.size());
        for (std::size_t i = 0; i < pairs_.size(); ++i) order_[starts_[groups_[i]]++] = static_cast<std::uint32_t>(i);
    }

private:
    static constexpr std::uint32_t none = 0xFFFFFFFF;
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t group = none;
    };

    // Looks at a few places of the text. That is enough: kernels compare expected texts themselves.
    static std::uint64_t glance(Text text) {
        std::uint64_t parts[3] = {};
        const std::size_t size = std::min<std::size_t>(text.size(), 8);
        if (size > 0) {
            std::memcpy(&parts[0], text.data(), size);
            std::memcpy(&parts[1], text.data() + (text.size() - size) / 2, size);
            std::memcpy(&parts[2], text.data() + text.size() - size, size);
        }
        return hash_pair(hash_pair(parts[0], text.size()) ^ parts[1], parts[2]);
    }

    std::vector<Pair> pairs_;
    std::size_t bytes_ = 0;
    std::vector<std::uint32_t> order_;  // none: as they are
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> groups_, starts_;
};

// Calls `kernel(pair, workspace)` for all pairs of the two columns, on the threads of the pool or, for a few, on this one;
// and `set_null(row)` where either side is null. `start(workspace)` comes before a thread's first pair.
template <class Workspace, class Start, class Kernel, class SetNull>
void for_each_pair(const TextColumn& output, const TextColumn& expected, std::size_t threads, const Start& start,
                   const Kernel& kernel, const SetNull& set_null) {
    constexpr std::size_t few_bytes = 1 << 13;
    const std::size_t rows = broadcast_size(output.size(), expected.size());
    TextColumn::Cursor left(output, 0), right(expected, 0);
    PairWindow window;
    for (std::size_t row = 0; row < rows;) {
        window.clear();
        for (; row < rows && window.size() < PairWindow::most_rows; ++row, left.next(), right.next()) {
            if (left.array().is_valid(left.row()) && right.array().is_valid(right.row()))
                window.push({left.array()[left.row()], right.array()[right.row()], row});
            else set_null(row);
        }
        if (expected.size() > 1) window.group();
        const auto size_of = [&](std::size_t i) { return window[i].output.size() + window[i].expected.size(); };
        Dealer dealer(window.size(), threads, size_of);
        const auto work = [&] {
            Kept<Workspace> workspace;
            start(*workspace);
            for (std::size_t begin, end; dealer.next(begin, end);) {
                for (; begin < end; ++begin) {
                    const PairWindow::Pair& pair = window[begin];
                    kernel(pair, *workspace);
                    if (pair.output.size() + pair.expected.size() > bulky_bytes) workspace.discard();
                }
            }
        };
        if (window.bytes() < few_bytes) work();
        else Pool::get(threads).run(work);
    }
}

}  // namespace pe
