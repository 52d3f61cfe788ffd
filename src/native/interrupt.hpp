// Ctrl-C during a long call.
#pragma once

#include <exception>

namespace pe {

// Throws if the user wants to stop. The kernels know nothing of Python: the module sets this when it is loaded.
inline void (*throw_if_interrupted)() = [] {};

// Calls `stop()` and throws if the user wants to stop.
template <class Stop>
void watch_for_interrupt(Stop&& stop) {
    try {
        throw_if_interrupted();
    } catch (...) {
        stop();
        throw;
    }
}

}  // namespace pe
