// Sees Ctrl-C on any thread, without taking it from those who handle it.
//
// Python runs signal handlers in its main thread only, and that one waits in Polars while one of Polars' threads calls a
// kernel. So while a call lasts, a handler of our own stands before the one that is there, notes the signal, and passes it on.
#pragma once

#include <atomic>
#include <mutex>

#include "portable.hpp"

#if !defined(_WIN32)
#include <csignal>
#endif

namespace pe {

class InterruptSignal {
public:
    // Whether it came while a call lasted, and the main thread has not handled it since.
    static bool came() { return state().came.load() > state().handled.load(); }
    static void forget() { state().handled = state().came.load(); }

    // Ends all calls that began before the main thread handled the last signal: a query may have several of them, and waits for
    // all.
    static void stop_calls() { state().stopped = state().came.load(); }
    // Whether the call of this thread is one of them.
    static bool is_call_stopped() { return state().stopped.load() > handled_at_begin(); }

    // Whether a call lasts.
    static bool has_calls() {
        std::lock_guard<std::mutex> lock(state().mutex);
        return state().calls > 0;
    }

    static void begin() {
        static const bool is_registered = (call_in_forked_child(after_fork), true);
        (void)is_registered;
        handled_at_begin() = state().handled;
        std::lock_guard<std::mutex> lock(state().mutex);
        if (state().calls++ == 0) install();
    }
    // `forgets`: nobody has noticed a signal that came.
    static void end(bool forgets) {
        std::lock_guard<std::mutex> lock(state().mutex);
        if (--state().calls > 0) return;
        restore();
        if (forgets) forget();
    }

private:
    struct State {
        std::mutex mutex;
        int calls = 0;
        // Signals are counted: how many came, and how many of these were handled, or ended the calls.
        std::atomic<std::int64_t> came{0}, handled{0}, stopped{0};
    };
    // Never destroyed: threads may outlive the program's end.
    static State*& instance() {
        static auto* state = new State;
        return state;
    }
    static State& state() { return *instance(); }
    static std::int64_t& handled_at_begin() {
        thread_local std::int64_t count = 0;
        return count;
    }

#if defined(_WIN32)
    static void install() {}
    static void restore() {}
#else
    using Action = struct sigaction;

    static std::atomic<const Action*>& previous() {
        static std::atomic<const Action*> action{nullptr};
        return action;
    }
    static bool is_ours(const Action& action) { return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == pass_on; }
    static bool is_same(const Action& one, const Action& other) {
        if ((one.sa_flags & SA_SIGINFO) != (other.sa_flags & SA_SIGINFO)) return false;
        return one.sa_flags & SA_SIGINFO ? one.sa_sigaction == other.sa_sigaction : one.sa_handler == other.sa_handler;
    }

    static void pass_on(int number, siginfo_t* info, void* context) {
        ++instance()->came;
        const Action& before = *previous().load();
        if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(number, info, context);
        else before.sa_handler(number);
    }
    static void install() {
        Action now;
        if (sigaction(SIGINT, nullptr, &now) != 0 || is_ours(now) || (now.sa_flags & SA_RESETHAND)) return;
        // Ignored, or the end of the program: then there is nothing to do.
        if (!(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_IGN || now.sa_handler == SIG_DFL)) return;
        const Action* before = previous().load();
        // Somebody else's came in front of ours and may call it: in front of that one, ours would call itself.
        if (is_buried()) return;
        // One that may still be in use by a handler on another thread is never freed.
        if (before == nullptr || !is_same(*before, now)) previous() = new Action(now);
        Action ours = now;
        ours.sa_flags |= SA_SIGINFO;
        ours.sa_sigaction = pass_on;
        sigaction(SIGINT, &ours, nullptr);
    }
    static void restore() {
        Action now;
        const Action* before = previous().load();
        if (before == nullptr || sigaction(SIGINT, nullptr, &now) != 0) return;
        if (is_ours(now)) sigaction(SIGINT, before, nullptr);
        // Python puts its own handler in the place of ours; any other may have kept ours to call it.
        else if (!is_same(now, *before) && now.sa_handler != SIG_IGN && now.sa_handler != SIG_DFL) is_buried() = true;
    }
    static bool& is_buried() {
        static bool buried = false;
        return buried;
    }
#endif

    // The calls of the parent's other threads do not go on in a child.
    static void after_fork() {
        instance() = new State;
#if !defined(_WIN32)
        restore();
#endif
    }
};

}  // namespace pe
