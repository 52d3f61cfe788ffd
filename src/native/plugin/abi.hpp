// The C interface between Polars and the functions of a plugin: version 0.1, which Polars 1.35 to 2.x speak.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../core/columns.hpp"

#if defined(_WIN32)
#define PE_EXPORT extern "C" __declspec(dllexport)
#else
#define PE_EXPORT extern "C" __attribute__((visibility("default")))
#endif

extern "C" {
struct SeriesExport {
    ArrowSchema* field;
    ArrowArray** arrays;
    std::size_t len;
    void (*release)(SeriesExport*);
    void* private_data;
};
}
