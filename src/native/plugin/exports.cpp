// The symbols that Polars looks for: two for each function. No exception leaves them, and every path releases the columns.
#include <cstdlib>
#include <exception>
#include <thread>

#include "inputs.hpp"
#include "function.hpp"
#include "../unicode/characters.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

#if defined(_WIN32)
#define PE_EXPORT extern "C" __declspec(dllexport)
#else
#define PE_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace pe::plugin {
namespace {

constexpr std::uint32_t interface_version = 1;  // major << 16 | minor

thread_local std::string last_error;

void note_error() noexcept {
    last_error.clear();
    try {
        throw;
    } catch (const std::exception& error) {
        try {
            last_error = error.what();
        } catch (...) {  // no memory for the text
        }
    } catch (...) {
        last_error = "stopped";  // short enough to need no memory
    }
}

std::unique_ptr<Function> make_function(Make make, const Options& options) {
    // Lowercases as the Polars does that made the plan, where that is an old one.
    if (options.root().has("sigma")) unicode::sigma_bits = unicode::sigma_1_35;
    return make(options.root());
}

void resolve(Make make, const ArrowSchema* columns, std::size_t count, ArrowSchema* out, const std::uint8_t* kwargs,
             std::size_t size) {
    *out = {};
    try {
        Dtypes dtypes;
        for (std::size_t i = 0; i < count; ++i) dtypes.push_back(columns + i);
        Field field = make_function(make, Options(kwargs, size))->type(dtypes);
        field.name = columns[0].name;
        write_schema(field, out);
    } catch (...) {
        note_error();
    }
}

void release_series(SeriesExport* self) {
    self->field->release(self->field);
    delete self->field;
    delete self->arrays[0];
    delete[] self->arrays;
    self->release = nullptr;
}

void call(Make make, SeriesExport* columns, std::size_t count, const std::uint8_t* kwargs, std::size_t size,
          SeriesExport* out) {
    *out = {};
    try {
        std::vector<Input> inputs;
        inputs.reserve(count);
        for (std::size_t i = 0; i < count; ++i) inputs.emplace_back(columns + i);
        const Options options(kwargs, size);
        const std::unique_ptr<Function> function = make_function(make, options);
        Dtypes dtypes;
        for (const Input& input : inputs) dtypes.push_back(&input.dtype());
        Field field = function->type(dtypes);
        field.name = inputs[0].dtype().name;
        auto schema = std::make_unique<ArrowSchema>();
        auto array = std::make_unique<ArrowArray>();
        auto arrays = std::make_unique<ArrowArray*[]>(1);
        write_array(function->run(inputs), array.get());
        write_schema(field, schema.get());
        arrays[0] = array.release();
        *out = {schema.release(), arrays.release(), 1, release_series, out};
    } catch (...) {
        note_error();
    }
}

// As many as Polars has. It is not asked: that would start its threads, which a fork does not take along.
std::size_t available_threads() {
    if (const char* given = std::getenv("POLARS_MAX_THREADS")) {
        const unsigned long long count = std::strtoull(given, nullptr, 10);
        if (count > 0) return static_cast<std::size_t>(count);
    }
#if defined(__linux__)
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) return static_cast<std::size_t>(CPU_COUNT(&mask));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

std::size_t thread_count() {
    static const std::size_t count = available_threads();
    return count;
}

}  // namespace pe::plugin

PE_EXPORT std::uint32_t _polars_plugin_get_version() { return pe::plugin::interface_version; }
PE_EXPORT const char* _polars_plugin_get_last_error_message() { return pe::plugin::last_error.c_str(); }

#define PE_EXPORT_FUNCTION(name, make_it)                                                                       \
    PE_EXPORT void _polars_plugin_##name(SeriesExport* columns, std::size_t count, const std::uint8_t* kwargs,  \
                                         std::size_t size, SeriesExport* out, void*) {                          \
        pe::plugin::call(make_it, columns, count, kwargs, size, out);                                           \
    }                                                                                                           \
    PE_EXPORT void _polars_plugin_field_##name(const ArrowSchema* columns, std::size_t count, ArrowSchema* out, \
                                               const std::uint8_t* kwargs, std::size_t size) {                  \
        pe::plugin::resolve(make_it, columns, count, out, kwargs, size);                                        \
    }

using namespace pe::plugin;
PE_FUNCTIONS(PE_EXPORT_FUNCTION)
