// The extension `polars_evals._native`: kernels over Arrow columns. Each family of metrics binds its own functions.
#include "bind.hpp"
#include "interrupt.hpp"
#include "unicode.hpp"

namespace pe {
void bind_clean(nb::module_& module);
void bind_edit(nb::module_& module);
void bind_json(nb::module_& module);
void bind_similarity(nb::module_& module);
void bind_traces(nb::module_& module);
void bind_words(nb::module_& module);
}  // namespace pe

NB_MODULE(_native, module) {
    pe::throw_if_interrupted = [] {
        nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    };
    module.def(
        "set_sigma_sees_ascii", [](bool sees) { pe::unicode::sigma_sees_ascii = sees; }, nb::arg("sees"),
        "Say whether ASCII counts where lowercase decides if a sigma is a final one.");
    module.doc() = "Kernels over Arrow columns; see polars_evals.lift for how they are called.";
    pe::bind_result(module);
    pe::bind_clean(module);
    pe::bind_edit(module);
    pe::bind_json(module);
    pe::bind_similarity(module);
    pe::bind_traces(module);
    pe::bind_words(module);
}
