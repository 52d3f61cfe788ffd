// The symbols that Polars looks for: two for each function. No exception leaves them, and every path releases the columns.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "abi.hpp"
#include "function.hpp"
#include "functions.hpp"

#if defined(__linux__)
#include <sched.h>
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

std::unique_ptr<Function> make_function(Make make, const std::uint8_t* kwargs, std::size_t size) {
    const Value options = Value::unpickle(kwargs, size);
    use_sigma_table(options);
    return make(options);
}

void resolve(Make make, const ArrowSchema* columns, std::size_t count, ArrowSchema* out, const std::uint8_t* kwargs, std::size_t size) {
    *out = {};
    try {
        Dtypes dtypes;
        for (std::size_t i = 0; i < count; ++i) dtypes.push_back(columns + i);
        Field field = make_function(make, kwargs, size)->type(dtypes);
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

void call(Make make, SeriesExport* columns, std::size_t count, const std::uint8_t* kwargs, std::size_t size, SeriesExport* out) {
    *out = {};
    try {
        std::vector<Input> inputs;
        inputs.reserve(count);
        for (std::size_t i = 0; i < count; ++i) inputs.emplace_back(columns + i);
        const std::unique_ptr<Function> function = make_function(make, kwargs, size);
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

#define PE_FUNCTION(name, make_it)                                                                                     \
    PE_EXPORT void _polars_plugin_##name(SeriesExport* columns, std::size_t count, const std::uint8_t* kwargs,         \
                                         std::size_t size, SeriesExport* out, void*) {                                 \
        pe::plugin::call(make_it, columns, count, kwargs, size, out);                                                  \
    }                                                                                                                  \
    PE_EXPORT void _polars_plugin_field_##name(const ArrowSchema* columns, std::size_t count, ArrowSchema* out,        \
                                               const std::uint8_t* kwargs, std::size_t size) {                         \
        pe::plugin::resolve(make_it, columns, count, out, kwargs, size);                                               \
    }

using namespace pe::plugin;
PE_FUNCTION(levenshtein, make_levenshtein)
PE_FUNCTION(osa, make_osa)
PE_FUNCTION(indel, make_indel)
PE_FUNCTION(damerau_levenshtein, make_damerau_levenshtein)
PE_FUNCTION(hamming, make_hamming)
PE_FUNCTION(jaro_winkler, make_jaro_winkler)
PE_FUNCTION(rouge, make_words)
PE_FUNCTION(jaccard, make_words)
PE_FUNCTION(recall, make_words)
PE_FUNCTION(token_f1, make_words)
PE_FUNCTION(bleu, make_words)
PE_FUNCTION(chrf, make_words)
PE_FUNCTION(gleu, make_words)
PE_FUNCTION(wer, make_words)
PE_FUNCTION(response, make_words)
PE_FUNCTION(words, make_words)
PE_FUNCTION(exact_match, make_exact_match)
PE_FUNCTION(contains, make_contains)
PE_FUNCTION(starts_with, make_starts_with)
PE_FUNCTION(ends_with, make_ends_with)
PE_FUNCTION(length_between, make_length_between)
PE_FUNCTION(similarity, make_similarity)
PE_FUNCTION(cer, make_cer)
PE_FUNCTION(json_match, make_json_match)
PE_FUNCTION(choice, make_choice)
PE_FUNCTION(numeric_match, make_numeric_match)
PE_FUNCTION(given, make_given)
PE_FUNCTION(pairs, make_pairs)
PE_FUNCTION(paired, make_paired)
PE_FUNCTION(levenshtein_distance, make_levenshtein_distance)
PE_FUNCTION(cosine, make_cosine)
PE_FUNCTION(recall_at_k, make_recall_at_k)
PE_FUNCTION(precision_at_k, make_precision_at_k)
PE_FUNCTION(ndcg, make_ndcg)
PE_FUNCTION(reciprocal_rank, make_reciprocal_rank)
PE_FUNCTION(clean, make_clean)
PE_FUNCTION(as_text_lists, make_as_text_lists)
PE_FUNCTION(as_json, make_as_json)
PE_FUNCTION(json_readable, make_json_readable)
