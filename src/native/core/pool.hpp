// One pool of threads for the whole process.
//
// A call works on its own thread. Threads of the pool help it as long as fewer threads compute than there are processors: they
// leave while Polars makes several calls at once, and come back when calls end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "interrupt.hpp"
#include "portable.hpp"

namespace pe {

// Rows, dealt out to the threads of the pool.

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
    Dealer(std::size_t rows, std::size_t threads, SizeOf size_of)
        : rows_(rows), threads_(threads), size_of_(std::move(size_of)) {}

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

class Pool {
public:
    // The pool, started at its first use. Only the first call's `size` counts.
    static Pool& get(std::size_t size) {
        std::lock_guard<std::mutex> lock(*instance_mutex());
        if (!instance()) {
            static const bool is_registered = (call_in_forked_child(after_fork), true);
            (void)is_registered;
            instance() = new Pool(std::max<std::size_t>(size, 1));
        }
        return *instance();
    }
    // How many threads it has: none where the system would start none, and then nobody helps.
    std::size_t size() const { return size_; }

    // Calls `work()` on this thread and on threads of the pool that are free before it is over, and returns when all are over.
    // `work` takes pieces of a common job until none is left, or until `is_stopped()`. Meanwhile this thread calls `watch()`
    // now and then; if that throws, the job is stopped.
    void run(const std::function<void()>& work, const std::function<void()>& watch = interrupts.throw_if_wanted) {
        const Watched watched;
        Job job{work, 0, nullptr, {}, {false}};
        Lookout lookout(watch, job.stopped);
        std::unique_lock<std::mutex> lock(mutex_);
        ++crowd_.computing;
        jobs_.push_back(&job);
        if (crowd_.has_room()) wake_.notify_all();
        lock.unlock();
        do_work(job, &lookout);
        lock.lock();
        forget(job);
        --crowd_.computing;
        if (!jobs_.empty()) wake_.notify_all();
        while (!job.over.wait_for(lock, Lookout::between_looks, [&] { return job.helpers == 0; })) {
            lock.unlock();
            lookout.look();
            lock.lock();
        }
        if (lookout.error) std::rethrow_exception(lookout.error);
        if (job.error) std::rethrow_exception(job.error);
    }

    // Starts a thread that calls `serve`, or throws.
    using Start = std::function<void(std::function<void()> serve)>;

    // Works with the threads that start: a system may refuse more of them. The pool must outlive all of its threads.
    explicit Pool(std::size_t size, const Start& start = start_thread) {
        std::lock_guard<std::mutex> lock(mutex_);  // no thread serves before `size_` is final
        crowd_.most = size;
        try {
            for (; size_ < size; ++size_) start([this] { serve(); });
        } catch (const std::system_error&) {
        }
    }

private:
    struct Job {
        const std::function<void()>& work;
        std::size_t helpers;
        std::exception_ptr error;
        std::condition_variable over;
        std::atomic<bool> stopped;
    };
    struct Watched {
        Watched() { interrupts.begin(); }
        ~Watched() { interrupts.end(); }
        Watched(const Watched&) = delete;
    };

    static void start_thread(std::function<void()> serve) { std::thread(std::move(serve)).detach(); }

    [[noreturn]] void serve() {
        name_this_thread("polars-evals");
        Crowd::helps = &crowd_;
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            wake_.wait(lock, [&] { return !jobs_.empty() && crowd_.has_room(); });
            // The job that waited longest, and then the others in turn.
            Job& job = *jobs_.front();
            jobs_.pop_front();
            jobs_.push_back(&job);
            ++job.helpers;
            ++crowd_.computing;
            Crowd::was_sent_away = false;
            lock.unlock();
            do_work(job, nullptr);
            lock.lock();
            --crowd_.computing;
            if (!Crowd::was_sent_away) forget(job);  // nothing is left to take
            if (--job.helpers == 0) job.over.notify_one();
        }
    }

    void do_work(Job& job, Lookout* lookout) {
        std::exception_ptr error;
        try {
            const Stoppable stoppable(job.stopped, lookout);
            job.work();
        } catch (const Stopped&) {
        } catch (...) {
            error = std::current_exception();
        }
        if (!error) return;
        job.stopped = true;
        std::lock_guard<std::mutex> lock(mutex_);
        if (!job.error) job.error = error;
    }

    // No further thread helps.
    void forget(const Job& job) {
        const auto place = std::find(jobs_.begin(), jobs_.end(), &job);
        if (place != jobs_.end()) jobs_.erase(place);
    }

    // A forked child has none of the threads: it forgets the pool and starts its own when it needs one.
    static void after_fork() {
        instance_mutex() = new std::mutex;
        instance() = nullptr;
    }
    static Pool*& instance() {
        static Pool* pool = nullptr;
        return pool;
    }
    static std::mutex*& instance_mutex() {
        static auto* mutex = new std::mutex;
        return mutex;
    }

    std::size_t size_ = 0;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Job*> jobs_;
    Crowd crowd_;
};

}  // namespace pe
