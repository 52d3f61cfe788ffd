// One pool of threads for the whole process.
//
// Callers are threads of Polars, of which there are as many as the pool has. They sleep while the pool works for them, so
// that no more threads than that compute at any time, however many batches come in at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "interrupt.hpp"
#include "portable.hpp"

namespace pe {

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
    // How many threads it has: none where the system would start none, and then the callers do the work.
    std::size_t size() const { return size_; }

    // Calls `work()` on every thread of the pool that is free before the first of the calls is over, and returns
    // when all are over. `work` takes pieces of a common job until none is left, or until `is_stopped()`. Meanwhile the
    // calling thread calls `watch()` now and then; if that throws, the job is stopped.
    void run(const std::function<void()>& work, const std::function<void()>& watch = interrupts.throw_if_wanted) {
        if (size_ == 0) return work();
        const Watched watched;
        Job job{work, size_, 0, nullptr, {}, {false}};
        const auto is_over = [&] { return job.to_start == 0 && job.running == 0; };
        std::exception_ptr stopped;
        std::unique_lock<std::mutex> lock(mutex_);
        jobs_.push_back(&job);
        wake_.notify_all();
        while (!stopped && !job.over.wait_for(lock, between_looks, is_over)) {
            lock.unlock();
            try {
                watch();
            } catch (...) {
                stopped = std::current_exception();
                job.stopped = true;
            }
            lock.lock();
        }
        job.over.wait(lock, is_over);
        if (stopped) std::rethrow_exception(stopped);
        if (job.error) std::rethrow_exception(job.error);
    }

    // Starts a thread that calls `serve`, or throws.
    using Start = std::function<void(std::function<void()> serve)>;

    // Works with the threads that start: a system may refuse more of them. The pool must outlive all of its threads.
    explicit Pool(std::size_t size, const Start& start = start_thread) {
        std::lock_guard<std::mutex> lock(mutex_);  // no thread serves before `size_` is final
        try {
            for (; size_ < size; ++size_) start([this] { serve(); });
        } catch (const std::system_error&) {
        }
    }

private:
    struct Job {
        const std::function<void()>& work;
        std::size_t to_start;
        std::size_t running;
        std::exception_ptr error;
        std::condition_variable over;
        std::atomic<bool> stopped;
    };
    struct Watched {
        Watched() { interrupts.begin(); }
        ~Watched() { interrupts.end(); }
        Watched(const Watched&) = delete;
    };

    static constexpr std::chrono::milliseconds between_looks{50};

    static void start_thread(std::function<void()> serve) { std::thread(std::move(serve)).detach(); }

    [[noreturn]] void serve() {
        name_this_thread("polars-evals");
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            wake_.wait(lock, [&] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            ++job.running;
            if (--job.to_start == 0) jobs_.pop_front();
            lock.unlock();
            std::exception_ptr error;
            try {
                const Stoppable stoppable(job.stopped);
                job.work();
            } catch (const Stopped&) {
            } catch (...) {
                error = std::current_exception();
            }
            lock.lock();
            if (error && !job.error) job.error = error;
            if (job.to_start > 0) {  // nothing is left to take: no further thread need start
                job.to_start = 0;
                jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
            }
            if (--job.running == 0) job.over.notify_one();
        }
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
};

}  // namespace pe
