// Edit distances: of texts, and of lists of tokens.
#include <atomic>
#include <limits>
#include <unordered_map>

#include "../core/batches.hpp"
#include "../core/rounding.hpp"
#include "../edit/damerau.hpp"
#include "../edit/hamming.hpp"
#include "../edit/jaro.hpp"
#include "../edit/levenshtein/levenshtein.hpp"
#include "../edit/texts.hpp"
#include "functions.hpp"
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
    std::vector<std::uint32_t> left, right;
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
        result.distance = scratch.texts.compare(batch.left[i], batch.right[i], options, result, scratch.*kernel);
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

// One of the metrics that count edits, over the length of the longer text, or of both.
class EditMetric : public TextMetric {
public:
    EditMetric(const char* name, const Value& options, Distances measure, bool is_of_both = false)
        : TextMetric(name, options, distance_and_lengths), measure_(measure), is_of_both_(is_of_both), options_(edit_options(options)) {
        summary.decimals = decimals_of(options);
    }

protected:
    void score(const TextColumn& output, const TextColumn& expected, bool turns, Result& result) const override {
        // Of turns, only the average is rounded.
        const Similarity similarity(turns ? -1 : summary.decimals);
        double* score = result.add_floats("score");
        std::int64_t* distance = common.details ? result.add_integers("distance") : nullptr;
        std::int64_t* left_chars = common.details ? result.add_integers("output_chars") : nullptr;
        std::int64_t* right_chars = common.details ? result.add_integers("expected_chars") : nullptr;
        for_each_batch<Kept<EditScratch>>(output, expected, thread_count(), result, [&](const Batch& batch, EditScratch& scratch) {
            scratch.results.resize(batch.size());
            measure_(batch, options_, scratch);
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const EditResult& edit = scratch.results[i];
                const std::size_t row = batch.rows[i];
                const std::uint64_t both = std::uint64_t{edit.left_chars} + edit.right_chars;
                score[row] = similarity(edit.distance, is_of_both_ ? both : std::max(edit.left_chars, edit.right_chars));
                if (!common.details) continue;
                distance[row] = edit.distance;
                left_chars[row] = edit.left_chars;
                right_chars[row] = edit.right_chars;
            }
        });
    }

private:
    Distances measure_;
    bool is_of_both_;
    EditOptions options_;
};

class JaroWinkler : public TextMetric {
public:
    explicit JaroWinkler(const Value& options) : TextMetric("jaro_winkler", options, lengths), options_(edit_options(options)) {
        summary.decimals = decimals_of(options);
    }

protected:
    void score(const TextColumn& output, const TextColumn& expected, bool turns, Result& result) const override {
        const Rounding rounding(turns ? -1 : summary.decimals);
        double* score = result.add_floats("score");
        std::int64_t* left_chars = common.details ? result.add_integers("output_chars") : nullptr;
        std::int64_t* right_chars = common.details ? result.add_integers("expected_chars") : nullptr;
        for_each_batch<Kept<EditScratch>>(output, expected, thread_count(), result, [&](const Batch& batch, EditScratch& scratch) {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const std::size_t row = batch.rows[i];
                EditResult sizes{};
                score[row] = rounding(scratch.texts.compare(batch.left[i], batch.right[i], options_, sizes, scratch.jaro_winkler));
                if (!common.details) continue;
                left_chars[row] = sizes.left_chars;
                right_chars[row] = sizes.right_chars;
            }
        });
    }

private:
    EditOptions options_;
};

}  // namespace

std::unique_ptr<Function> make_levenshtein(const Value& options) {
    return std::make_unique<EditMetric>("levenshtein", options, measure_batch<LevenshteinMeasure>);
}
std::unique_ptr<Function> make_osa(const Value& options) {
    return std::make_unique<EditMetric>("osa", options, measure_batch<OsaMeasure>);
}
std::unique_ptr<Function> make_indel(const Value& options) {
    return std::make_unique<EditMetric>("indel", options, measure_batch<IndelMeasure>, true);
}
std::unique_ptr<Function> make_damerau_levenshtein(const Value& options) {
    return std::make_unique<EditMetric>("damerau_levenshtein", options, measure_each<&EditScratch::damerau>);
}
std::unique_ptr<Function> make_hamming(const Value& options) {
    return std::make_unique<EditMetric>("hamming", options, measure_each<&EditScratch::hamming>);
}
std::unique_ptr<Function> make_jaro_winkler(const Value& options) { return std::make_unique<JaroWinkler>(options); }

void use_sigma_table(const Value& options) {
    if (options.has("sigma")) unicode::sigma_table = &unicode::sigma_1_35;
}

}  // namespace pe::plugin
