// Cleaning of texts before they are scored.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "batches.hpp"
#include "bind.hpp"
#include "clean/choice.hpp"
#include "clean/code.hpp"
#include "clean/extract.hpp"
#include "clean/reasoning.hpp"
#include "clean/texts.hpp"

namespace pe {

using namespace clean;

namespace {

// What one thread has: a step with its own buffers, and where its texts go.
template <class Step>
void run(const TextColumn& column, std::size_t threads, Result& result, Texts& texts, std::int64_t* found, Step make) {
    using Made = decltype(make());
    struct Space {
        std::unique_ptr<Made> step;
        std::unique_ptr<Texts::Writer> writer;
    };
    nb::gil_scoped_release released;
    for_each_batch<Space>(column, column, threads, result, [&](const Batch& batch, Space& space) {
        if (!space.step) {
            space.step = std::make_unique<Made>(make());
            space.writer = std::make_unique<Texts::Writer>(texts);
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const Found cleaned = (*space.step)(batch.left[i]);
            space.writer->write(batch.rows[i], cleaned.text);
            found[batch.rows[i]] = cleaned.found;
        }
    });
}

nb::object clean_texts(nb::handle column, const std::string& step, const std::vector<std::string>& words, bool case_sensitive,
                 std::size_t threads) {
    const TextColumn read(read_chunks(column));
    Result result(read.size());
    std::int64_t* found = result.add_integers("found");
    Texts texts(read.size());
    const auto with = [&](auto make) { run(read, threads, result, texts, found, make); };
    if (step == "reasoning") with([] { return StripReasoning(); });
    else if (step == "fence") with([] { return Unfence(); });
    else if (step == "json") with([] { return ExtractJson(); });
    else if (step == "number") with([] { return NumberWindow(); });
    else if (step == "boxed") with([] { return ExtractBoxed(); });
    else if (step == "after") with([&] { return ExtractAfter(words, case_sensitive); });
    else if (step == "choice") with([&] { return ExtractChoice(words); });
    else throw std::invalid_argument("unknown step '" + step + "'");
    for (std::size_t row = 0; row < read.size(); ++row)
        if (!result.is_valid(row)) texts.set_null(row);
    return nb::make_tuple(nb::cast(std::move(texts)), nb::cast(std::move(result)));
}

}  // namespace

void bind_clean(nb::module_& module) {
    bind_columns<Texts>(module, "Texts", "A column of texts, for one Arrow consumer.");
    module.def("clean", &clean_texts, nb::arg("texts"), nb::kw_only(), nb::arg("step"), nb::arg("words"),
               nb::arg("case_sensitive"), nb::arg("threads"));
}

}  // namespace pe
