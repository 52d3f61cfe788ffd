// What all bindings share: columns come in as anything with `__arrow_c_stream__`, results leave with `__arrow_c_array__`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "arrow.hpp"
#include "result.hpp"

namespace nb = nanobind;

namespace pe {

inline ArrowChunks read_chunks(nb::handle column) {
    nb::object capsule = column.attr("__arrow_c_stream__")();
    auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (!stream) nb::raise_python_error();
    return ArrowChunks(stream);
}

// A capsule that releases its structure unless a consumer took it over.
template <class Structure>
nb::object capsule(Structure* structure, const char* name) {
    PyObject* object = PyCapsule_New(structure, name, [](PyObject* self) {
        auto* held = static_cast<Structure*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
        if (held->release) held->release(held);
        delete held;
    });
    if (!object) nb::raise_python_error();
    return nb::steal(object);
}

inline void bind_result(nb::module_& module) {
    nb::class_<Result>(module, "Result", "Columns of numbers, for one Arrow consumer.")
        .def(
            "__arrow_c_array__",
            [](Result& result, nb::handle) {
                auto schema = std::make_unique<ArrowSchema>();
                auto array = std::make_unique<ArrowArray>();
                result.move_to(schema.get(), array.get());
                nb::object schema_capsule = capsule(schema.release(), "arrow_schema");
                return nb::make_tuple(schema_capsule, capsule(array.release(), "arrow_array"));
            },
            nb::arg("requested_schema") = nb::none());
}

}  // namespace pe
