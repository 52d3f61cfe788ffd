// Two columns of texts, cut into batches of pairs that the threads of the pool take one after the other.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "dealer.hpp"
#include "kept.hpp"
#include "pool.hpp"
#include "result.hpp"

namespace pe {

// Pairs without nulls; `rows[i]` is the row that pair i came from.
struct Batch {
    std::vector<Text> left, right;
    std::vector<std::size_t> rows;
    std::size_t size() const { return rows.size(); }

    // Becomes the rows from `begin` to `end`. Those with a null become null results instead.
    void read(const TextColumn& left_column, const TextColumn& right_column, std::size_t begin, std::size_t end, Result& result) {
        resize(end - begin);
        std::size_t count = 0;
        TextColumn::Cursor left_at(left_column, begin), right_at(right_column, begin);
        for (std::size_t row = begin; row < end; ++row, left_at.next(), right_at.next()) {
            if (!left_at.array().is_valid(left_at.row()) || !right_at.array().is_valid(right_at.row())) {
                result.set_null(row);
                continue;
            }
            left[count] = left_at.array()[left_at.row()];
            right[count] = right_at.array()[right_at.row()];
            rows[count++] = row;
        }
        resize(count);
    }

    bool has_bulky() const {
        for (std::size_t i = 0; i < size(); ++i)
            if (left[i].size() + right[i].size() > bulky_bytes) return true;
        return false;
    }

private:
    void resize(std::size_t count) {
        left.resize(count);
        right.resize(count);
        rows.resize(count);
    }
};

// How long the pairs of two columns are: those of the rows from the first on, one at each call. Only looks at lengths:
// reading texts is for the threads, side by side.
inline auto pair_sizes(const TextColumn& left, const TextColumn& right) {
    return [left_at = TextColumn::Cursor(left, 0), right_at = TextColumn::Cursor(right, 0)](std::size_t) mutable {
        const std::size_t size = left_at.array().size(left_at.row()) + right_at.array().size(right_at.row());
        left_at.next();
        right_at.next();
        return size;
    };
}

// Whether the texts of two columns are so few that other threads would take longer to wake than to help.
inline bool are_few(const TextColumn& left, const TextColumn& right) {
    constexpr std::size_t few_bytes = 1 << 15;
    const std::size_t rows = broadcast_size(left.size(), right.size());
    auto size_of = pair_sizes(left, right);
    std::size_t bytes = 0;
    for (std::size_t row = 0; row < rows && bytes < few_bytes; ++row) bytes += size_of(row);
    return bytes < few_bytes;
}

// Calls `kernel(batch, workspace)` for all pairs of the two columns, with one Workspace a thread. Nulls on either side
// become nulls of the result. A column of few texts is done on the calling thread. A `Kept` workspace stays for later calls
// unless a pair was so long that its memory is worth more.
template <class Workspace, class Kernel>
void for_each_batch(const TextColumn& left, const TextColumn& right, std::size_t threads, Result& result, Kernel&& kernel) {
    Dealer dealer(broadcast_size(left.size(), right.size()), threads, pair_sizes(left, right));
    const auto work = [&] {
        Workspace workspace;
        Batch batch;
        for (std::size_t begin, end; dealer.next(begin, end);) {
            batch.read(left, right, begin, end, result);
            if (batch.size() == 0) continue;
            if constexpr (is_kept<Workspace>) {
                kernel(static_cast<const Batch&>(batch), *workspace);
                if (batch.has_bulky()) workspace.discard();
            } else {
                kernel(static_cast<const Batch&>(batch), workspace);
            }
        }
    };
    if (are_few(left, right)) work();
    else Pool::get(threads).run(work);
}

}  // namespace pe
