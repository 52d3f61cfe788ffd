// Word overlap: ROUGE, word sets, SQuAD's F1, BLEU, GLEU, chrF, word errors and the response evaluator. Several of them over
// the same two columns are one function, which reads each text once.
#include <functional>
#include <initializer_list>

#include "../edit/alignment.hpp"
#include "../edit/levenshtein/levenshtein.hpp"
#include "../core/batches.hpp"
#include "../words/metrics.hpp"
#include "function.hpp"
#include "scores.hpp"

namespace pe::plugin {
namespace {

using namespace words;

// A metric of a call: scores prepared pairs into its columns, from several threads at once.
class WordMetric {
public:
    WordMetric(const Value& options, std::vector<Field> fields) : common(options), fields(std::move(fields)) {}

    void add_columns(Result& result) {
        scores_ = result.add_floats("score");
        for (const Field& field : fields) {
            // References may be ranked by something else than the score.
            const bool is_wanted = common.details || Text(field.name) == Text(summary.rank), is_real = field.type == Type::real;
            wants_any |= is_wanted;
            reals_.push_back(is_wanted && is_real ? result.add_floats(field.name.c_str()) : nullptr);
            counts_.push_back(is_wanted && !is_real ? result.add_integers(field.name.c_str()) : nullptr);
        }
    }
    // What is told beside a score, in the order of the fields.
    void write(std::size_t row, double score, const std::vector<double>& told) const {
        scores_[row] = score;
        for (std::size_t i = 0; i < told.size(); ++i) {
            if (reals_[i]) reals_[i][row] = told[i];
            if (counts_[i]) counts_[i][row] = static_cast<std::int64_t>(told[i]);
        }
    }

    const Common common;
    const std::vector<Field> fields;
    Summary summary;
    std::function<void(Prepared& pair, std::size_t row)> score;
    bool wants_any = false;

private:
    double* scores_ = nullptr;
    std::vector<double*> reals_;
    std::vector<std::int64_t*> counts_;
};

// A kernel and the fields that are told beside the score: numbers first, then counts. `kernel.score(pair)` is what there is to
// know of a pair, `score_of` its score, and `tell(scored)` all that is told beside.
template <class Kernel, class ScoreOf, class Tell>
std::unique_ptr<WordMetric> made(const Value& options, Kernel kernel, ScoreOf score_of,
                                 std::initializer_list<const char*> reals, const std::vector<std::string>& counts, Tell tell) {
    std::vector<Field> fields;
    for (const char* name : reals) fields.push_back({name, Type::real});
    for (const std::string& name : counts) fields.push_back({name, Type::whole});
    auto metric = std::make_unique<WordMetric>(options, std::move(fields));
    metric->score = [kernel = std::move(kernel), score_of, tell, out = metric.get()](Prepared& pair, std::size_t row) {
        const auto scored = kernel.score(pair);
        out->write(row, score_of(scored), out->wants_any ? tell(scored) : std::vector<double>());
    };
    return metric;
}

double real(std::size_t count) { return static_cast<double>(count); }

// The n-grams that both texts have, by order: `overlap_1`, `overlap_2`, …
std::vector<std::string> with_overlaps(std::vector<std::string> counts, std::size_t orders) {
    for (std::size_t n = 1; n <= orders; ++n) counts.push_back("overlap_" + std::to_string(n));
    return counts;
}
std::vector<double> with_overlaps(std::vector<double> told, const std::vector<std::size_t>& overlap) {
    for (const std::size_t count : overlap) told.push_back(real(count));
    return told;
}

// Words that a regular expression found come joined.
Tokenizer tokenizer_of(const Value& options, Tokenizer automatic = Tokenizer::automatic) {
    if (options.is_set("words")) return Tokenizer::separated;
    return named_tokenizer(options["tokenizer"], automatic);
}

std::unique_ptr<WordMetric> make_rouge(const Value& options, Needs& needs) {
    RougeOptions rouge;
    rouge.tokenizer = tokenizer_of(options);
    rouge.stemmer = options["stemmer"].flag();
    const std::string& variant = options["variant"].text();
    if (variant == "rougeL") rouge.kind = RougeKind::lcs;
    else if (variant == "rougeLsum") rouge.kind = RougeKind::lcs_of_lines;
    else rouge.order = static_cast<std::size_t>(variant.back() - '0');
    const auto measure = options["measure"].choose<double RougeResult::*>(
        {{"f1", &RougeResult::f1}, {"precision", &RougeResult::precision}, {"recall", &RougeResult::recall}});
    auto metric = made(
        options, Rouge(rouge, needs), [measure](const RougeResult& scored) { return scored.*measure; },
        {"precision", "recall", "f1"}, {"output_tokens", "expected_tokens", "overlap"},
        [](const RougeResult& scored) -> std::vector<double> {
            return {scored.precision,    scored.recall, scored.f1, real(scored.output_tokens), real(scored.expected_tokens),
                    real(scored.overlap)};
        });
    // References are ranked by F1, whatever the measure.
    if (measure != &RougeResult::f1) metric->summary.rank = "f1";
    return metric;
}

std::vector<double> told_of(const SetSizes& sizes, bool has_all) {
    std::vector<double> told{real(sizes.output), real(sizes.expected), real(sizes.overlap)};
    if (has_all) told.push_back(real(sizes.all()));
    return told;
}
std::vector<std::string> set_counts(bool has_all) {
    if (has_all) return {"output_words", "expected_words", "overlap", "union"};
    return {"output_words", "expected_words", "overlap"};
}

std::unique_ptr<WordMetric> make_sets(const Value& options, Needs& needs) {
    const bool has_all = options["metric"].text() == "jaccard";
    return made(options,
                WordSets(tokenizer_of(options, Tokenizer::automatic_whitespace), !options["case_sensitive"].flag(), needs),
                has_all ? jaccard_of : recall_of, {}, set_counts(has_all),
                [has_all](const SetSizes& sizes) { return told_of(sizes, has_all); });
}

std::unique_ptr<WordMetric> make_token_f1(const Value& options, Needs& needs) {
    const auto tokenizer = options["tokenizer"].choose<Tokenizer>({{"auto", Tokenizer::automatic_squad},
                                                                   {"whitespace", Tokenizer::squad},
                                                                   {"unicode", Tokenizer::squad_unicode},
                                                                   {"characters", Tokenizer::squad_characters}});
    return made(
        options, TokenF1(tokenizer, needs), [](const RougeResult& scored) { return scored.f1; }, {"precision", "recall"},
        {"output_tokens", "expected_tokens", "overlap"},
        [](const RougeResult& scored) -> std::vector<double> {
            return {scored.precision, scored.recall, real(scored.output_tokens), real(scored.expected_tokens),
                    real(scored.overlap)};
        });
}

std::unique_ptr<WordMetric> make_bleu(const Value& options, Needs& needs) {
    BleuOptions bleu;
    bleu.tokenizer = options["tokenize"].choose<Tokenizer>({{"13a", Tokenizer::v13a},
                                                            {"intl", Tokenizer::intl},
                                                            {"char", Tokenizer::characters},
                                                            {"none", Tokenizer::whitespace}});
    bleu.smoothing = options["smooth_method"].choose<BleuSmoothing>({{"none", BleuSmoothing::none},
                                                                     {"floor", BleuSmoothing::floor},
                                                                     {"add-k", BleuSmoothing::add_k},
                                                                     {"exp", BleuSmoothing::exp}});
    bleu.lowercase = options["lowercase"].flag();
    bleu.smooth_value = options["smooth_value"].real();
    bleu.max_ngram_order = options["max_ngram_order"].count();
    bleu.effective_order = options["effective_order"].flag();
    bleu.details = options["details"].flag();
    return made(
        options, Bleu(bleu, needs), [](const BleuResult& scored) { return scored.score; }, {"brevity_penalty"},
        with_overlaps({"output_tokens", "expected_tokens"}, bleu.max_ngram_order),
        [](const BleuResult& scored) {
            return with_overlaps({scored.brevity_penalty, real(scored.output_tokens), real(scored.expected_tokens)},
                                 scored.overlap);
        });
}

std::unique_ptr<WordMetric> make_chrf(const Value& options, Needs& needs) {
    const ChrfOptions chrf{options["char_order"].count(), options["word_order"].count(), options["beta"].real(),
                           options["lowercase"].flag(),   options["whitespace"].flag(),  options["eps_smoothing"].flag(),
                           options["details"].flag()};
    return made(
        options, Chrf(chrf, needs), [](const ChrfResult& scored) { return scored.score; }, {"precision", "recall"},
        with_overlaps({"output_characters", "expected_characters"}, chrf.char_order),
        [](const ChrfResult& scored) {
            return with_overlaps(
                {scored.precision, scored.recall, real(scored.output_characters), real(scored.expected_characters)},
                scored.overlap);
        });
}

std::unique_ptr<WordMetric> make_gleu(const Value& options, Needs& needs) {
    const GleuOptions gleu{options["min_len"].count(), options["max_len"].count(), !options["case_sensitive"].flag()};
    return made(
        options, Gleu(gleu, needs), [](const GleuResult& scored) { return scored.score; }, {},
        {"overlap", "output_ngrams", "expected_ngrams"},
        [](const GleuResult& scored) -> std::vector<double> {
            return {real(scored.overlap), real(scored.output_ngrams), real(scored.expected_ngrams)};
        });
}

std::unique_ptr<WordMetric> make_response(const Value& options, Needs& needs) {
    ResponseOptions response;
    response.match = options["match_type"].choose<ResponseMatch>({{"auto", ResponseMatch::rouge},
                                                                  {"exact", ResponseMatch::exact},
                                                                  {"rouge", ResponseMatch::rouge},
                                                                  {"recall", ResponseMatch::recall},
                                                                  {"semantic", ResponseMatch::jaccard}});
    response.fold_case = !options["case_sensitive"].flag();
    response.normalize_whitespace = options["normalize_whitespace"].flag();
    response.tokenizer = tokenizer_of(options);
    const bool has_sets = response.match == ResponseMatch::recall || response.match == ResponseMatch::jaccard;
    // judge-llm's word sets are those of `str.split`, in every script.
    if (has_sets && response.tokenizer == Tokenizer::automatic) response.tokenizer = Tokenizer::whitespace;
    const auto score_of = [](const ResponseResult& scored) { return scored.score; };
    if (response.match == ResponseMatch::rouge)
        return made(options, Response(response, needs), score_of, {"precision", "recall", "f1"}, {},
                    [](const ResponseResult& scored) -> std::vector<double> {
                        return {scored.rouge.precision, scored.rouge.recall, scored.rouge.f1};
                    });
    const bool has_all = response.match == ResponseMatch::jaccard;
    return made(
        options, Response(response, needs), score_of, {}, has_sets ? set_counts(has_all) : std::vector<std::string>(),
        [=](const ResponseResult& scored) { return has_sets ? told_of(scored.words, has_all) : std::vector<double>(); });
}

// Errors of transcripts, over words.
struct WordErrors {
    double score = 0;
    edit::EditCounts counts;
    std::size_t length = 0;
};

struct WerKernel {
    std::size_t words;
    bool details, is_automatic;
    WordErrors score(Prepared& pair) const {
        thread_local edit::LevenshteinWorkspace workspace;
        const Numbers &output = pair.words(words).output.words, &expected = pair.words(words).expected.words;
        WordErrors scored;
        scored.length = expected.size();
        const std::size_t errors =
            edit::levenshtein_sequence(output.data(), output.size(), expected.data(), expected.size(), workspace);
        scored.score = edit::score_of_errors(errors, expected.size());
        if (is_automatic && output.empty() && expected.empty()) scored.score = pair.are_equal_folded(pair.texts(), true);
        if (details) scored.counts = edit::count_edits(expected.data(), expected.size(), output.data(), output.size());
        return scored;
    }
};

std::unique_ptr<WordMetric> make_wer(const Value& options, Needs& needs) {
    const Tokenizer tokenizer = tokenizer_of(options, Tokenizer::automatic_unicode);
    const WerKernel kernel{needs.add_words(needs.add_texts({}), {tokenizer, !options["case_sensitive"].flag(), false}),
                           options["details"].flag(), is_automatic(tokenizer)};
    return made(
        options, kernel, [](const WordErrors& scored) { return scored.score; }, {},
        {"substitutions", "insertions", "deletions", "length"},
        [](const WordErrors& scored) -> std::vector<double> {
            return {real(scored.counts.substitutions), real(scored.counts.insertions), real(scored.counts.deletions),
                    real(scored.length)};
        });
}

std::unique_ptr<WordMetric> make_metric(const Value& options, Needs& needs) {
    using MakeMetric = std::unique_ptr<WordMetric> (*)(const Value&, Needs&);
    return options["metric"].choose<MakeMetric>({{"rouge", make_rouge},
                                                 {"jaccard", make_sets},
                                                 {"recall", make_sets},
                                                 {"token_f1", make_token_f1},
                                                 {"bleu", make_bleu},
                                                 {"chrf", make_chrf},
                                                 {"gleu", make_gleu},
                                                 {"wer", make_wer},
                                                 {"response", make_response}})(options, needs);
}

// One metric, or several: then the result is a struct of their structs.
class WordFunction : public Function {
public:
    explicit WordFunction(const Value& options)
        : is_one_(!options.has("metrics")), name_(options["metric"].text()), has_words_(options.is_set("words")) {
        if (is_one_) metrics_.push_back(make_metric(options, needs_));
        else
            for (const Value& metric : options["metrics"].items()) {
                names_.push_back(metric["name"].text());
                metrics_.push_back(make_metric(metric, needs_));
            }
    }
    Field type(const Dtypes& columns) const override {
        check_sides(name_, "expected", columns);
        if (is_one_) return struct_of(0, "");
        Field all{"", Type::structure};
        for (std::size_t i = 0; i < metrics_.size(); ++i) all.fields.push_back(struct_of(i, names_[i]));
        return all;
    }
    Column run(const std::vector<Input>& columns) const override {
        const Pairs pairs = read_pairs(columns, false, has_words_);
        std::vector<Result> results;
        for (const auto& metric : metrics_) {
            results.emplace_back(pairs.count());
            metric->add_columns(results.back());
        }
        for_each_pair<Prepared>(
            pairs.output, pairs.expected, thread_count(), [&](Prepared& prepared) { prepared.start(needs_); },
            [&](const PairWindow::Pair& pair, Prepared& prepared) {
                prepared.set_pair(pair.output, pair.expected);
                for (const auto& metric : metrics_) metric->score(prepared, pair.row);
            },
            [&](std::size_t row) {
                for (Result& result : results) result.set_null(row);
            });
        Column all;
        all.rows = pairs.rows;
        all.add_no_validity();
        for (std::size_t i = 0; i < metrics_.size(); ++i)
            all.children.push_back(
                make_result(pairs, results[i], metrics_[i]->common, metrics_[i]->fields, metrics_[i]->summary));
        return is_one_ ? std::move(all.children[0]) : std::move(all);
    }

private:
    Field struct_of(std::size_t i, const std::string& name) const {
        return {name, Type::structure, result_fields(metrics_[i]->common, metrics_[i]->fields)};
    }

    bool is_one_;
    std::string name_;
    bool has_words_;
    Needs needs_;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<WordMetric>> metrics_;
};

}  // namespace

std::unique_ptr<Function> make_words(const Value& options) { return std::make_unique<WordFunction>(options); }

}  // namespace pe::plugin
