// One pool of threads for the whole process.
//
// Callers are threads of Polars, of which there are as many as the pool has. They sleep while the pool works for them, so
// that no more threads than that compute at any time, however many batches come in at once.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace pe {

class Pool {
public:
    // The pool, started at its first use. Only the first call's `size` counts.
    static Pool& get(std::size_t size) {
        std::lock_guard<std::mutex> lock(*instance_mutex());
        if (!instance()) {
            static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
            (void)registered;
            instance() = new Pool(std::max<std::size_t>(size, 1));
        }
        return *instance();
    }
    std::size_t size() const { return size_; }

    // Calls `work()` on every thread of the pool that is free before the first of the calls is over, and returns
    // when all are over. `work` takes pieces of a common job until none is left.
    void run(const std::function<void()>& work) {
        Job job{work, size_, 0, nullptr, {}};
        std::unique_lock<std::mutex> lock(mutex_);
        jobs_.push_back(&job);
        wake_.notify_all();
        job.over.wait(lock, [&] { return job.to_start == 0 && job.running == 0; });
        if (job.error) std::rethrow_exception(job.error);
    }

private:
    struct Job {
        const std::function<void()>& work;
        std::size_t to_start;
        std::size_t running;
        std::exception_ptr error;
        std::condition_variable over;
    };

    explicit Pool(std::size_t size) : size_(size) {
        for (std::size_t started = 0; started < size; ++started) std::thread([this] { serve(); }).detach();
    }

    [[noreturn]] void serve() {
#ifdef __linux__
        pthread_setname_np(pthread_self(), "polars-evals");
#endif
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            wake_.wait(lock, [&] { return !jobs_.empty(); });
            Job& job = *jobs_.front();
            ++job.running;
            if (--job.to_start == 0) jobs_.pop_front();
            lock.unlock();
            std::exception_ptr error;
            try {
                job.work();
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

    const std::size_t size_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Job*> jobs_;
};

}  // namespace pe
