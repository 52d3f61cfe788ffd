// The extension `polars_evals._native`: what Python calls by itself. Metrics are functions of the
// plugin, which Polars calls (see plugin/exports.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "edit/levenshtein/workspace.hpp"
#include "plugin/function.hpp"
#include "words/porter.hpp"
#include "core/interrupt.hpp"
#include "core/signals.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace nb = nanobind;

namespace pe {
namespace {

// When the main thread was told that Ctrl-C came, in milliseconds of a clock of its own; 0: it was not.
std::atomic<std::int64_t> notified_at{0};

struct Interrupted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Python ends: calls that still last are to stop.
std::atomic<bool> is_leaving{false};

std::int64_t now() {
    using namespace std::chrono;
    return 1 + duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// Noted when the module is loaded: asking Python would run Python, and with it what waits for the main thread to be back there.
std::atomic<unsigned long> main_thread{0};
bool is_main_thread() { return main_thread == PyThread_get_thread_ident(); }
void note_main_thread() {
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
    call_in_forked_child([] { main_thread = PyThread_get_thread_ident(); });
}

bool is_default_handler() {
    const nb::module_ signal = nb::module_::import_("signal");
    return signal.attr("getsignal")(signal.attr("SIGINT")).is(signal.attr("default_int_handler"));
}

// Python's own handler runs when the query is over, and raises KeyboardInterrupt: the signal is left for it, and the call ends
// with an error. In the main thread another handler runs at once, and whatever it raises ends the call. On another thread a
// call ends if the main thread does not get to run any Python: then it waits for this very call. A handler that is not Python's
// own is left to decide when its turn comes.
void ask_for_interrupt() {
    constexpr std::int64_t patience = 40;
#if !defined(_WIN32)  // there, no handler of ours counts signals
    if (!is_leaving && !InterruptSignal::is_call_stopped() && !InterruptSignal::came()) return;
#endif
    nb::gil_scoped_acquire acquired;
    const auto stop = [] {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        nb::raise_python_error();
    };
    if (is_leaving || InterruptSignal::is_call_stopped()) stop();
    const bool is_main = is_main_thread();
    if (is_main && !is_default_handler()) {
        if (PyErr_CheckSignals() != 0) {
            InterruptSignal::stop_calls();
            nb::raise_python_error();
        }
        return InterruptSignal::forget();
    }
#if defined(_WIN32)
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
#endif
    if (!InterruptSignal::came()) return;
    // The signal counts as handled when the main thread is back in Python, not before: until then the query may begin new
    // calls.
    std::int64_t untold = 0;
    if (notified_at.compare_exchange_strong(untold, now())) {
        const auto forget = [](void*) {
            InterruptSignal::forget();
            notified_at = 0;
            return 0;
        };
        if (Py_AddPendingCall(forget, nullptr) != 0) notified_at = 0;
        if (!is_main) return;
    }
    if (is_main) stop();
    if (now() - untold < patience || !is_default_handler()) return;
    stop();
}

// Python's handler may run while this looks at Python, and what it raises goes no further than Polars. So the signal is set
// again: Python raises KeyboardInterrupt when the query is over.
void throw_if_interrupted() {
    bool is_interrupted = false;
    try {
        ask_for_interrupt();
    } catch (const nb::python_error& error) {
        if (!error.matches(PyExc_KeyboardInterrupt)) throw;
        is_interrupted = true;
        if (!is_leaving) InterruptSignal::stop_calls();
    }
    if (!is_interrupted) return;
    nb::gil_scoped_acquire acquired;
    if (!is_leaving) PyErr_SetInterrupt();
    throw Interrupted("interrupted");
}

// A query that was interrupted may leave calls behind on other threads. One that comes back to a Python that has ended would
// take the program down, so they are stopped before, and waited for.
void leave() {
    using namespace std::chrono;
    if (!InterruptSignal::has_calls()) return;
    is_leaving = true;
    nb::gil_scoped_release released;
    for (int turn = 0; turn < 500 && InterruptSignal::has_calls(); ++turn) std::this_thread::sleep_for(milliseconds(10));
    // Back from its call, a thread has to pass through Python into Polars.
    std::this_thread::sleep_for(milliseconds(50));
}

void end_call() { InterruptSignal::end(notified_at == 0); }

}  // namespace
void bind_traces(nb::module_& module);
}  // namespace pe

NB_MODULE(_native, module) {
    pe::note_main_thread();
    pe::interrupts = {pe::InterruptSignal::begin, pe::end_call, pe::throw_if_interrupted};
    nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
        try {
            std::rethrow_exception(raised);
        } catch (const pe::Interrupted&) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
    });
    module.doc() = "Kernels over Arrow columns; see polars_evals.expressions for how they are called.";
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(pe::leave));
    module.def(
        "targets",
        [] {
            nb::list names;
            for (const pe::edit::Target& target : pe::edit::available_targets()) names.append(target.name);
            return names;
        },
        "The kinds of machine whose kernels this one can run, the best last.");
    module.def(
        "stem",
        [](std::string word) {
            word.resize(pe::words::PorterStemmer::stem(word.data(), word.size()));
            return word;
        },
        nb::arg("word"), "The stem of a lowercase English word, as NLTK's PorterStemmer gives it.");
    pe::bind_traces(module);
}
