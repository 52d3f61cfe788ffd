// Rows, dealt out to the threads of the pool.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include "interrupt.hpp"

namespace pe {

// How many threads compute, of how many there should be. A thread that helps another's call takes no further piece while there
// are too many, and comes back when there are fewer.
class Crowd {
public:
    std::atomic<std::size_t> computing{0};
    std::size_t most = 0;

    bool has_room() const { return computing < most; }
    // Whether this thread, a helper, is to leave.
    static bool sends_away() {
        if (helps == nullptr || helps->computing.load(std::memory_order_relaxed) <= helps->most) return false;
        was_sent_away = true;
        return true;
    }
    static inline thread_local const Crowd* helps = nullptr;
    static inline thread_local bool was_sent_away = false;
};

// Pieces shrink towards the end, so that all threads finish at about the same time, and are limited in bytes, because rows
// differ in length by orders of magnitude. `size_of(row)` says how many bytes a row has; it is asked once for each, in order.
template <class SizeOf>
class Dealer {
public:
    Dealer(std::size_t rows, std::size_t threads, SizeOf size_of) : rows_(rows), threads_(threads), size_of_(std::move(size_of)) {}

    // The next rows, from `begin` to `end`; false when none is left, or nothing more is wanted.
    bool next(std::size_t& begin, std::size_t& end) {
        if (is_stopped() || Crowd::sends_away()) return false;
        std::lock_guard<std::mutex> lock(mutex_);
        const std::size_t wanted = std::clamp((rows_ - row_) / (4 * threads_), fewest_rows, most_rows);
        begin = row_;
        for (std::size_t bytes = 0; row_ < rows_; ++row_) {
            if (bytes >= most_bytes || (row_ - begin >= wanted && bytes >= fewest_bytes)) break;
            bytes += size_of_(row_);
        }
        end = row_;
        return end > begin;
    }

private:
    static constexpr std::size_t fewest_rows = 16, most_rows = 2048, fewest_bytes = 4096, most_bytes = 1 << 19;

    std::mutex mutex_;
    const std::size_t rows_, threads_;
    SizeOf size_of_;
    std::size_t row_ = 0;
};

}  // namespace pe
