// Two columns of texts, cut into batches of pairs that the threads of the pool take one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "interrupt.hpp"
#include "pool.hpp"
#include "result.hpp"

namespace pe {

// Pairs without nulls; `rows[i]` is the row that pair i came from.
struct Batch {
    std::vector<Text> left, right;
    std::vector<std::size_t> rows;
    std::size_t size() const { return rows.size(); }
    std::size_t bytes() const {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < size(); ++i) sum += left[i].size() + right[i].size();
        return sum;
    }
};

// Deals the rows out. Batches shrink towards the end, so that all threads finish at about the same time, and are limited
// in bytes, because rows differ in length by orders of magnitude.
class Dealer {
public:
    Dealer(const TextColumn& left, const TextColumn& right, std::size_t threads, Result& result)
        : left_(left, 0),
          right_(right, 0),
          rows_left_(broadcast_size(left.size(), right.size())),
          threads_(threads),
          result_(result) {}

    // Fills the batch with the next pairs; false when no row is left, or nothing more is wanted. Rows with a null become
    // null results.
    bool next(Batch& batch) {
        if (is_stopped()) return false;
        std::lock_guard<std::mutex> lock(mutex_);
        if (returned_.size() > 0) {
            std::swap(batch, returned_);
            returned_ = {};
            return true;
        }
        batch.left.clear();
        batch.right.clear();
        batch.rows.clear();
        const std::size_t wanted = std::clamp(rows_left_ / (4 * threads_), fewest_rows, most_rows);
        for (std::size_t bytes = 0; rows_left_ > 0; ++row_, --rows_left_, left_.next(), right_.next()) {
            if (bytes >= most_bytes || (batch.size() >= wanted && bytes >= fewest_bytes)) break;
            if (!left_.array().is_valid(left_.row()) || !right_.array().is_valid(right_.row())) {
                result_.set_null(row_);
                continue;
            }
            batch.left.push_back(left_.array()[left_.row()]);
            batch.right.push_back(right_.array()[right_.row()]);
            batch.rows.push_back(row_);
            bytes += batch.left.back().size() + batch.right.back().size();
        }
        return batch.size() > 0;
    }
    void give_back(Batch batch) { returned_ = std::move(batch); }
    bool is_done() const { return rows_left_ == 0; }

private:
    static constexpr std::size_t fewest_rows = 16, most_rows = 2048, fewest_bytes = 4096, most_bytes = 1 << 19;

    std::mutex mutex_;
    TextColumn::Cursor left_, right_;
    std::size_t row_ = 0, rows_left_;
    const std::size_t threads_;
    Result& result_;
    Batch returned_;
};

// Calls `kernel(batch, workspace)` for all pairs of the two columns, with one Workspace a thread. Nulls on either side
// become nulls of the result. A column of few texts is done on the calling thread.
template <class Workspace, class Kernel>
void for_each_batch(const TextColumn& left, const TextColumn& right, std::size_t threads, Result& result, Kernel&& kernel) {
    Dealer dealer(left, right, threads, result);
    const auto work = [&] {
        Workspace workspace;
        for (Batch batch; dealer.next(batch);) kernel(static_cast<const Batch&>(batch), workspace);
    };
    Batch first;
    if (!dealer.next(first)) return;
    constexpr std::size_t few_bytes = 1 << 15;
    const bool are_few = dealer.is_done() && first.bytes() < few_bytes;
    dealer.give_back(std::move(first));
    if (are_few) work();
    else Pool::get(threads).run(work);
}

}  // namespace pe
