// Edit distances over columns of texts and of lists of texts.
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "batches.hpp"
#include "bind.hpp"
#include "core/rounding.hpp"
#include "edit/damerau.hpp"
#include "edit/hamming.hpp"
#include "edit/jaro.hpp"
#include "edit/levenshtein/levenshtein.hpp"
#include "edit/texts.hpp"
#include "unicode/decode.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace pe {

using namespace edit;

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

struct EditScratch {
    LevenshteinWorkspace kernel;
    EditTexts texts;
    DamerauKernel damerau;
    HammingKernel hamming;
    JaroWinklerKernel jaro_winkler;
    std::vector<EditResult> results;
    std::vector<std::uint32_t> left, right;
};

// Distances of a batch, by the name of the metric.
using Distances = void (*)(const Batch& batch, const EditOptions& options, EditScratch& scratch);

template <class Measure>
void measure_batch(const Batch& batch, const EditOptions& options, EditScratch& scratch) {
    measure_many<Measure>(batch.left.data(), batch.right.data(), batch.size(), options, scratch.results.data(), scratch.kernel);
}

template <auto kernel>
void measure_each(const Batch& batch, const EditOptions& options, EditScratch& scratch) {
    for (std::size_t i = 0; i < batch.size() && !is_stopped(); ++i) {
        EditResult& result = scratch.results[i];
        result.distance = scratch.texts.compare(batch.left[i], batch.right[i], options, result, scratch.*kernel);
    }
}

Distances distances_of(const std::string& metric) {
    if (metric == "levenshtein") return measure_batch<LevenshteinMeasure>;
    if (metric == "osa") return measure_batch<OsaMeasure>;
    if (metric == "indel") return measure_batch<IndelMeasure>;
    if (metric == "damerau_levenshtein") return measure_each<&EditScratch::damerau>;
    if (metric == "hamming") return measure_each<&EditScratch::hamming>;
    throw std::invalid_argument("no edit metric '" + metric + "'");
}

// One of the metrics that count edits, over the length of the longer text, or of both.
Result edit_similarity(nb::handle output, nb::handle expected, const std::string& metric, bool fold_case,
                       std::optional<std::size_t> max_chars, std::optional<int> decimals, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const EditOptions options{fold_case, max_chars.value_or(unlimited)};
    const Similarity similarity(decimals.value_or(-1));
    const Distances measure = distances_of(metric);
    const bool is_of_both = metric == "indel";
    Result result(broadcast_size(left.size(), right.size()));
    double* score = result.add_floats("score");
    std::int64_t* distance = details ? result.add_integers("distance") : nullptr;
    std::int64_t* left_chars = details ? result.add_integers("output_chars") : nullptr;
    std::int64_t* right_chars = details ? result.add_integers("expected_chars") : nullptr;
    nb::gil_scoped_release released;
    for_each_batch<EditScratch>(left, right, threads, result, [&](const Batch& batch, EditScratch& scratch) {
        scratch.results.resize(batch.size());
        measure(batch, options, scratch);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const EditResult& edit = scratch.results[i];
            const std::size_t row = batch.rows[i];
            const std::uint64_t both = std::uint64_t{edit.left_chars} + edit.right_chars;
            score[row] = similarity(edit.distance, is_of_both ? both : std::max(edit.left_chars, edit.right_chars));
            if (!details) continue;
            distance[row] = edit.distance;
            left_chars[row] = edit.left_chars;
            right_chars[row] = edit.right_chars;
        }
    });
    return result;
}

Result jaro_winkler(nb::handle output, nb::handle expected, bool fold_case, std::optional<std::size_t> max_chars,
                    std::optional<int> decimals, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const EditOptions options{fold_case, max_chars.value_or(unlimited)};
    const Rounding rounding(decimals.value_or(-1));
    Result result(broadcast_size(left.size(), right.size()));
    double* score = result.add_floats("score");
    std::int64_t* left_chars = details ? result.add_integers("output_chars") : nullptr;
    std::int64_t* right_chars = details ? result.add_integers("expected_chars") : nullptr;
    nb::gil_scoped_release released;
    for_each_batch<EditScratch>(left, right, threads, result, [&](const Batch& batch, EditScratch& scratch) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const std::size_t row = batch.rows[i];
            EditResult sizes{};
            score[row] = rounding(scratch.texts.compare(batch.left[i], batch.right[i], options, sizes, scratch.jaro_winkler));
            if (!details) continue;
            left_chars[row] = sizes.left_chars;
            right_chars[row] = sizes.right_chars;
        }
    });
    return result;
}

using Weights = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

// A distance above the cutoff is cutoff + 1.
std::int64_t cut(std::int64_t distance, std::optional<std::int64_t> cutoff) {
    return cutoff && distance > *cutoff ? *cutoff + 1 : distance;
}

std::int64_t weighted(const std::vector<std::uint32_t>& left, const std::vector<std::uint32_t>& right, const Weights& weights,
                      LevenshteinWorkspace& workspace) {
    const auto [insert, remove, substitute] = weights;
    return levenshtein_weighted(left.data(), left.size(), right.data(), right.size(), insert, remove, substitute, workspace);
}

Result levenshtein_distance(nb::handle output, nb::handle expected, Weights weights, std::optional<std::int64_t> cutoff,
                            std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const std::int64_t insert = std::get<0>(weights);
    const bool is_uniform = weights == Weights(insert, insert, insert);
    Result result(broadcast_size(left.size(), right.size()));
    std::int64_t* distance = result.add_integers("distance");
    nb::gil_scoped_release released;
    for_each_batch<EditScratch>(left, right, threads, result, [&](const Batch& batch, EditScratch& scratch) {
        if (is_uniform) {
            scratch.results.resize(batch.size());
            levenshtein_many(batch.left.data(), batch.right.data(), batch.size(), {false, unlimited},
                             scratch.results.data(), scratch.kernel);
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            std::int64_t cost = 0;
            if (is_uniform) cost = insert * scratch.results[i].distance;
            else {
                unicode::decode(batch.left[i], false, unlimited, scratch.left);
                unicode::decode(batch.right[i], false, unlimited, scratch.right);
                cost = weighted(scratch.left, scratch.right, weights, scratch.kernel);
            }
            distance[batch.rows[i]] = cut(cost, cutoff);
        }
    });
    return result;
}

// Numbers the tokens of two lists, so that equal tokens have equal numbers. A null token equals a null token only.
class TokenNumbers {
public:
    void restart() { numbers_.clear(); }
    void read(const TextListColumn::Cursor& list, std::vector<std::uint32_t>& out) {
        const TextListArray& array = list.array();
        out.clear();
        for (std::size_t at = array.begin(list.row()); at < array.end(list.row()); ++at) {
            if (!array.values().is_valid(at)) out.push_back(0);
            else out.push_back(numbers_.emplace(array.values()[at], static_cast<std::uint32_t>(numbers_.size() + 1)).first->second);
        }
    }

private:
    std::unordered_map<Text, std::uint32_t> numbers_;
};

Result levenshtein_lists(nb::handle output, nb::handle expected, Weights weights, std::optional<std::int64_t> cutoff,
                         std::size_t threads) {
    const TextListColumn left(read_chunks(output)), right(read_chunks(expected));
    const std::size_t rows = broadcast_size(left.size(), right.size());
    Result result(rows);
    std::int64_t* distance = result.add_integers("distance");
    nb::gil_scoped_release released;
    // One thread does it all, while this one watches for Ctrl-C.
    std::atomic<bool> is_taken{false};
    Pool::get(threads).run([&] {
        if (is_taken.exchange(true)) return;
        EditScratch scratch;
        TokenNumbers tokens;
        TextListColumn::Cursor left_at(left, 0), right_at(right, 0);
        for (std::size_t row = 0; row < rows && !is_stopped(); ++row, left_at.next(), right_at.next()) {
            if (!left_at.array().is_valid(left_at.row()) || !right_at.array().is_valid(right_at.row())) {
                result.set_null(row);
                continue;
            }
            tokens.restart();
            tokens.read(left_at, scratch.left);
            tokens.read(right_at, scratch.right);
            distance[row] = cut(weighted(scratch.left, scratch.right, weights, scratch.kernel), cutoff);
        }
    });
    return result;
}

// The kinds of machine whose kernels this one can run, the best last.
std::vector<std::string> targets() {
    std::vector<std::string> names;
    for (const Target& target : available_targets()) names.emplace_back(target.name);
    return names;
}

}  // namespace

void bind_edit(nb::module_& module) {
    module.def("targets", &targets);
    module.def("edit_similarity", &edit_similarity, nb::arg("output"), nb::arg("expected"), nb::kw_only(), nb::arg("metric"),
               nb::arg("fold_case"), nb::arg("max_chars").none(), nb::arg("decimals").none(), nb::arg("details"),
               nb::arg("threads"));
    module.def("jaro_winkler", &jaro_winkler, nb::arg("output"), nb::arg("expected"), nb::kw_only(), nb::arg("fold_case"),
               nb::arg("max_chars").none(), nb::arg("decimals").none(), nb::arg("details"), nb::arg("threads"));
    module.def("levenshtein_distance", &levenshtein_distance, nb::arg("output"), nb::arg("expected"), nb::kw_only(),
               nb::arg("weights"), nb::arg("score_cutoff").none(), nb::arg("threads"));
    module.def("levenshtein_lists", &levenshtein_lists, nb::arg("output"), nb::arg("expected"), nb::kw_only(),
               nb::arg("weights"), nb::arg("score_cutoff").none(), nb::arg("threads"));
}

}  // namespace pe
