// Two columns of texts, pair by pair, those with the same expected text one after the other.
//
// In a comparison of versions the same expected text stands in many rows, wherever they are. Kernels that prepare it do
// so once, then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "columns.hpp"
#include "core/hashing.hpp"
#include "core/interrupt.hpp"
#include "core/kept.hpp"
#include "core/pool.hpp"

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

// Deals the pairs of a window out, in pieces that shrink towards the end, so that all threads finish at about the same
// time, and are limited in bytes, because rows differ in length by orders of magnitude.
class PieceDealer {
public:
    PieceDealer(const PairWindow& window, std::size_t threads) : window_(window), threads_(threads) {}

    // The next pairs, from `begin` to `end`; false when none is left, or nothing more is wanted.
    bool next(std::size_t& begin, std::size_t& end) {
        if (is_stopped()) return false;
        std::lock_guard<std::mutex> lock(mutex_);
        const std::size_t left = window_.size() - next_;
        const std::size_t wanted = std::clamp(left / (4 * threads_), fewest_rows, most_rows);
        begin = end = next_;
        for (std::size_t bytes = 0; end < window_.size(); ++end) {
            if (bytes >= most_bytes || (end - begin >= wanted && bytes >= fewest_bytes)) break;
            bytes += window_[end].output.size() + window_[end].expected.size();
        }
        next_ = end;
        return end > begin;
    }

private:
    static constexpr std::size_t fewest_rows = 16, most_rows = 2048, fewest_bytes = 4096, most_bytes = 1 << 19;

    const PairWindow& window_;
    const std::size_t threads_;
    std::mutex mutex_;
    std::size_t next_ = 0;
};

// Calls `kernel(pair, workspace)` for all pairs of the two columns, on the threads of the pool or, for a few, on this one;
// and `set_null(row)` where either side is null. `start(workspace)` comes before a thread's first pair.
template <class Workspace, class Start, class Kernel, class SetNull>
void for_each_pair(const TextColumn& output, const TextColumn& expected, std::size_t threads, const Start& start,
                   const Kernel& kernel, const SetNull& set_null) {
    constexpr std::size_t few_bytes = 1 << 13, bulky_bytes = 1 << 20;
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
        PieceDealer dealer(window, threads);
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
