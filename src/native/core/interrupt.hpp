// Ctrl-C during a long call.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>

namespace pe {

// How the user stops a call. The kernels know nothing of Python: the module sets these when it is loaded.
struct Interrupts {
    void (*begin)() = [] {};            // a call begins that may take long,
    void (*end)() = [] {};              // and ends;
    void (*throw_if_wanted)() = [] {};  // in between, it asks now and then whether it is to stop
};
inline Interrupts interrupts;

// Asks for the thread that made a call while that thread works itself, not at every turn but every 50 milliseconds.
class Lookout {
public:
    static constexpr std::chrono::milliseconds between_looks{50};

    // `watch` throws if the call is to stop: then `stopped` is set, and the error is kept.
    Lookout(const std::function<void()>& watch, std::atomic<bool>& stopped) : watch_(watch), stopped_(stopped) {}
    void look_now_and_then() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_look_ < between_looks) return;
        last_look_ = now;
        look();
    }
    void look() {
        if (error) return;
        try {
            watch_();
        } catch (...) {
            error = std::current_exception();
            stopped_ = true;
        }
    }
    std::exception_ptr error;

private:
    const std::function<void()>& watch_;
    std::atomic<bool>& stopped_;
    std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
};

// Whether the job that this thread works for is to stop. Kernels that may take long for a pair ask now and then, and so do
// those who deal out work.
inline thread_local const std::atomic<bool>* stop_flag = nullptr;
inline thread_local Lookout* lookout = nullptr;
inline bool is_stopped() {
    if (stop_flag == nullptr) return false;
    if (lookout != nullptr) lookout->look_now_and_then();
    return stop_flag->load(std::memory_order_relaxed);
}

struct Stopped {};
inline void throw_if_stopped() {
    if (is_stopped()) throw Stopped{};
}

// While it lives, this thread works for a job with that flag, and looks out if it is the one that asked for it.
class Stoppable {
public:
    explicit Stoppable(const std::atomic<bool>& flag, Lookout* looks = nullptr)
        : flag_before_(stop_flag), lookout_before_(lookout) {
        stop_flag = &flag;
        lookout = looks;
    }
    ~Stoppable() {
        stop_flag = flag_before_;
        lookout = lookout_before_;
    }
    Stoppable(const Stoppable&) = delete;

private:
    const std::atomic<bool>* flag_before_;
    Lookout* lookout_before_;
};

}  // namespace pe
