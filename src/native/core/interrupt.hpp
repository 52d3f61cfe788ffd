// Ctrl-C during a long call.
#pragma once

#include <atomic>

namespace pe {

// How the user stops a call. The kernels know nothing of Python: the module sets these when it is loaded.
struct Interrupts {
    void (*begin)() = [] {};               // a call begins that may take long,
    void (*end)() = [] {};                 // and ends;
    void (*throw_if_wanted)() = [] {};  // in between, it asks now and then whether it is to stop
};
inline Interrupts interrupts;

// Whether the job that this thread works for is to stop. Kernels that may take long for a pair ask now and then, and so do
// those who deal out work.
inline thread_local const std::atomic<bool>* stop_flag = nullptr;
inline bool is_stopped() { return stop_flag != nullptr && stop_flag->load(std::memory_order_relaxed); }

struct Stopped {};
inline void throw_if_stopped() {
    if (is_stopped()) throw Stopped{};
}

// While it lives, this thread works for a job with that flag.
class Stoppable {
public:
    explicit Stoppable(const std::atomic<bool>& flag) : before_(stop_flag) { stop_flag = &flag; }
    ~Stoppable() { stop_flag = before_; }
    Stoppable(const Stoppable&) = delete;

private:
    const std::atomic<bool>* before_;
};

}  // namespace pe
