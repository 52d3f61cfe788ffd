// Edit distances: of texts, and of lists of tokens.

#include "../core/batches.hpp"
#include "../core/rounding.hpp"
#include "../edit/distances.hpp"
#include "../edit/levenshtein/levenshtein.hpp"
#include "function.hpp"
#include "scores.hpp"

namespace pe::plugin {
namespace {

using namespace edit;

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

struct EditScratch {
    LevenshteinWorkspace kernel;
    EditTexts texts;
    DamerauKernel damerau;
    HammingKernel hamming;
    JaroWinklerKernel jaro_winkler;
    std::vector<EditResult> results;
    std::vector<double> similarities;  // of measures that count no edits
};

// Distances of a batch.
using Distances = void (*)(const Batch& batch, const EditOptions& options, EditScratch& scratch);

template <class Measure>
void measure_batch(const Batch& batch, const EditOptions& options, EditScratch& scratch) {
    measure_many<Measure>(batch.left.data(), batch.right.data(), batch.size(), options, scratch.results.data(), scratch.kernel);
}

template <auto kernel>
void measure_each(const Batch& batch, const EditOptions& options, EditScratch& scratch) {
    for (std::size_t i = 0; i < batch.size() && !is_stopped(); ++i) {
        EditResult& result = scratch.results[i];
        const auto measured = scratch.texts.compare(batch.left[i], batch.right[i], options, result, scratch.*kernel);
        if constexpr (std::is_floating_point_v<decltype(measured)>) scratch.similarities[i] = measured;
        else result.distance = measured;
    }
}

int decimals_of(const Value& options) {
    return options["decimals"].is_null() ? -1 : static_cast<int>(options["decimals"].whole());
}
EditOptions edit_options(const Value& options) {
    return {!options["case_sensitive"].flag(), options["max_chars"].is_null() ? unlimited : options["max_chars"].count()};
}

const std::vector<Field> lengths{{"output_chars", Type::whole}, {"expected_chars", Type::whole}};
const std::vector<Field> distance_and_lengths{{"distance", Type::whole}, lengths[0], lengths[1]};

// What edits are counted in relation to; without, the measure is a similarity itself.
enum class Over { longer, both, nothing };

class EditMetric : public TextMetric {
public:
    EditMetric(const Value& options, Distances measure, Over over)
        : TextMetric(options, over == Over::nothing ? lengths : distance_and_lengths),
          measure_(measure),
          over_(over),
          options_(edit_options(options)) {
        summary.decimals = decimals_of(options);
    }

protected:
    void score(const TextColumn& output, const TextColumn& expected, bool turns, Result& result) const override {
        // Of turns, only the average is rounded.
        const int decimals = turns ? -1 : summary.decimals;
        const Similarity similarity(decimals);
        const Rounding rounding(decimals);
        double* score = result.add_floats("score");
        std::int64_t* distance = common.details && over_ != Over::nothing ? result.add_integers("distance") : nullptr;
        std::int64_t* left_chars = common.details ? result.add_integers("output_chars") : nullptr;
        std::int64_t* right_chars = common.details ? result.add_integers("expected_chars") : nullptr;
        for_each_batch<Kept<EditScratch>>(
            output, expected, thread_count(), result, [&](const Batch& batch, EditScratch& scratch) {
                scratch.results.assign(batch.size(), {});
                scratch.similarities.resize(batch.size());
                measure_(batch, options_, scratch);
                for (std::size_t i = 0; i < batch.size(); ++i) {
                    const EditResult& edit = scratch.results[i];
                    const std::size_t row = batch.rows[i];
                    const std::uint64_t both = std::uint64_t{edit.left_chars} + edit.right_chars;
                    score[row] = over_ == Over::nothing ? rounding(scratch.similarities[i])
                                 : over_ == Over::both ? similarity(edit.distance, both)
                                                       : similarity(edit.distance, std::max(edit.left_chars, edit.right_chars));
                    if (distance) distance[row] = edit.distance;
                    if (!common.details) continue;
                    left_chars[row] = edit.left_chars;
                    right_chars[row] = edit.right_chars;
                }
            });
    }

private:
    Distances measure_;
    Over over_;
    EditOptions options_;
};

}  // namespace

std::unique_ptr<Function> make_edit(const Value& options) {
    using Kind = std::pair<Distances, Over>;
    const auto [measure, over] =
        options["metric"].choose<Kind>({{"levenshtein", {measure_batch<LevenshteinMeasure>, Over::longer}},
                                        {"osa", {measure_batch<OsaMeasure>, Over::longer}},
                                        {"indel", {measure_batch<IndelMeasure>, Over::both}},
                                        {"damerau_levenshtein", {measure_each<&EditScratch::damerau>, Over::longer}},
                                        {"hamming", {measure_each<&EditScratch::hamming>, Over::longer}},
                                        {"jaro_winkler", {measure_each<&EditScratch::jaro_winkler>, Over::nothing}}});
    return std::make_unique<EditMetric>(options, measure, over);
}

}  // namespace pe::plugin
