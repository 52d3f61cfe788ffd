// What all bindings share: columns come in as anything with `__arrow_c_stream__`, results leave with `__arrow_c_array__`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "../core/columns.hpp"

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

// Binds a class whose columns go to one Arrow consumer. Where Python has no lock of its own, threads that share an object wait
// for each other.
template <class Columns>
void bind_columns(nb::module_& module, const char* name, const char* description) {
    nb::class_<Columns>(module, name, description)
        .def(
            "__arrow_c_array__",
            [](Columns& columns, nb::handle) {
                auto schema = std::make_unique<ArrowSchema>();
                auto array = std::make_unique<ArrowArray>();
                columns.move_to(schema.get(), array.get());
                nb::object schema_capsule = capsule(schema.release(), "arrow_schema");
                return nb::make_tuple(schema_capsule, capsule(array.release(), "arrow_array"));
            },
            nb::lock_self(), nb::arg("requested_schema") = nb::none());
}

}  // namespace pe
