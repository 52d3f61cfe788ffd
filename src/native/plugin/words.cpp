// Word overlap: ROUGE, word sets, SQuAD's F1, BLEU, GLEU, chrF, word errors and the response evaluator. Several of them over
// the same two columns are one function, which reads each text once.
#include <functional>
#include <limits>

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
    virtual ~WordMetric() = default;
    virtual void add_columns(Result& result) = 0;
    virtual void score(Prepared& pair, std::size_t row) const = 0;

    const Common common;
    const std::vector<Field> fields;
    Summary summary;
};

// What a kernel tells beside the score: a name, and where in its result it stands.
template <class Scored>
struct Detail {
    Detail(const char* name, double Scored::*real) : name(name), real(real) {}
    Detail(const char* name, std::size_t Scored::*count) : name(name), count(count) {}
    Detail(std::string name, std::vector<std::size_t> Scored::*counts, std::size_t place)
        : name(std::move(name)), counts(counts), place(place) {}
    std::size_t count_of(const Scored& scored) const { return count ? scored.*count : (scored.*counts)[place]; }
    std::string name;
    double Scored::*real = nullptr;
    std::size_t Scored::*count = nullptr;
    std::vector<std::size_t> Scored::*counts = nullptr;
    std::size_t place = 0;
};

// The n-grams that both texts have, by order: `overlap_1`, `overlap_2`, …
template <class Scored>
void add_overlaps(std::vector<Detail<Scored>>& details, std::vector<std::size_t> Scored::*overlap, std::size_t orders) {
    for (std::size_t n = 1; n <= orders; ++n) details.emplace_back("overlap_" + std::to_string(n), overlap, n - 1);
}

template <class Scored>
class TabledMetric : public WordMetric {
public:
    using Kernel = std::function<Scored(Prepared&)>;
    TabledMetric(const Value& options, Kernel kernel, double Scored::*score, std::vector<Detail<Scored>> details)
        : WordMetric(options, fields_of(details)), kernel_(std::move(kernel)), wanted_(score), details_(std::move(details)) {}

    void add_columns(Result& result) override {
        scores_ = result.add_floats("score");
        for (const Detail<Scored>& detail : details_) {
            // References may be ranked by something else than the score.
            const bool is_wanted = common.details || Text(detail.name) == Text(summary.rank);
            reals_.push_back(is_wanted && detail.real ? result.add_floats(detail.name.c_str()) : nullptr);
            counts_.push_back(is_wanted && !detail.real ? result.add_integers(detail.name.c_str()) : nullptr);
        }
    }
    void score(Prepared& pair, std::size_t row) const override {
        const Scored scored = kernel_(pair);
        scores_[row] = scored.*wanted_;
        for (std::size_t i = 0; i < details_.size(); ++i) {
            if (reals_[i]) reals_[i][row] = scored.*details_[i].real;
            if (counts_[i]) counts_[i][row] = static_cast<std::int64_t>(details_[i].count_of(scored));
        }
    }

private:
    static std::vector<Field> fields_of(const std::vector<Detail<Scored>>& details) {
        std::vector<Field> fields;
        for (const Detail<Scored>& detail : details) fields.push_back({detail.name, detail.real ? Type::real : Type::whole});
        return fields;
    }

    Kernel kernel_;
    double Scored::*wanted_;
    std::vector<Detail<Scored>> details_;
    double* scores_ = nullptr;
    std::vector<double*> reals_;
    std::vector<std::int64_t*> counts_;
};

template <class Scored, class Kernel>
std::unique_ptr<WordMetric> tabled(const Value& options, Kernel kernel, double Scored::*score, std::vector<Detail<Scored>> details) {
    auto call = [kernel](Prepared& pair) { return kernel.score(pair); };
    return std::make_unique<TabledMetric<Scored>>(options, std::move(call), score, std::move(details));
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
    auto made = tabled<RougeResult>(options, Rouge(rouge, needs), measure,
                                    {{"precision", &RougeResult::precision},
                                     {"recall", &RougeResult::recall},
                                     {"f1", &RougeResult::f1},
                                     {"output_tokens", &RougeResult::output_tokens},
                                     {"expected_tokens", &RougeResult::expected_tokens},
                                     {"overlap", &RougeResult::overlap}});
    // References are ranked by F1, whatever the measure.
    if (measure != &RougeResult::f1) made->summary.rank = "f1";
    return made;
}

struct Sets {
    double score = 0;
    std::size_t output = 0, expected = 0, overlap = 0, all = 0;
};
const std::vector<Detail<Sets>> set_details{{"output_words", &Sets::output}, {"expected_words", &Sets::expected}, {"overlap", &Sets::overlap}, {"union", &Sets::all}};

struct SetsKernel {
    WordSets sets;
    double (*score_of)(const SetSizes&);
    Sets score(Prepared& pair) const {
        const SetSizes sizes = sets.score(pair);
        return {score_of(sizes), sizes.output, sizes.expected, sizes.overlap, sizes.all()};
    }
};

std::unique_ptr<WordMetric> make_sets(const Value& options, Needs& needs, double (*score_of)(const SetSizes&), std::size_t details) {
    const SetsKernel kernel{{tokenizer_of(options, Tokenizer::automatic_whitespace), !options["case_sensitive"].flag(), needs}, score_of};
    return tabled<Sets>(options, kernel, &Sets::score, {set_details.begin(), set_details.begin() + static_cast<std::ptrdiff_t>(details)});
}
std::unique_ptr<WordMetric> make_jaccard(const Value& options, Needs& needs) { return make_sets(options, needs, jaccard_of, 4); }
std::unique_ptr<WordMetric> make_recall(const Value& options, Needs& needs) { return make_sets(options, needs, recall_of, 3); }

std::unique_ptr<WordMetric> make_token_f1(const Value& options, Needs& needs) {
    const auto tokenizer = options["tokenizer"].choose<Tokenizer>({{"auto", Tokenizer::automatic_squad},
                                                                   {"whitespace", Tokenizer::squad},
                                                                   {"unicode", Tokenizer::squad_unicode},
                                                                   {"characters", Tokenizer::squad_characters}});
    return tabled<TokenF1Result>(options, TokenF1(tokenizer, needs), &TokenF1Result::f1,
                                 {{"precision", &TokenF1Result::precision},
                                  {"recall", &TokenF1Result::recall},
                                  {"output_tokens", &TokenF1Result::output_tokens},
                                  {"expected_tokens", &TokenF1Result::expected_tokens},
                                  {"overlap", &TokenF1Result::overlap}});
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
    std::vector<Detail<BleuResult>> details{{"brevity_penalty", &BleuResult::brevity_penalty},
                                            {"output_tokens", &BleuResult::output_tokens},
                                            {"expected_tokens", &BleuResult::expected_tokens}};
    add_overlaps(details, &BleuResult::overlap, bleu.max_ngram_order);
    return tabled<BleuResult>(options, Bleu(bleu, needs), &BleuResult::score, std::move(details));
}

std::unique_ptr<WordMetric> make_chrf(const Value& options, Needs& needs) {
    const ChrfOptions chrf{options["char_order"].count(),  options["word_order"].count(),   options["beta"].real(),
                           options["lowercase"].flag(), options["whitespace"].flag(), options["eps_smoothing"].flag(),
                           options["details"].flag()};
    std::vector<Detail<ChrfResult>> details{{"precision", &ChrfResult::precision},
                                            {"recall", &ChrfResult::recall},
                                            {"output_characters", &ChrfResult::output_characters},
                                            {"expected_characters", &ChrfResult::expected_characters}};
    add_overlaps(details, &ChrfResult::overlap, chrf.char_order);
    return tabled<ChrfResult>(options, Chrf(chrf, needs), &ChrfResult::score, std::move(details));
}

std::unique_ptr<WordMetric> make_gleu(const Value& options, Needs& needs) {
    const GleuOptions gleu{options["min_len"].count(), options["max_len"].count(), !options["case_sensitive"].flag()};
    return tabled<GleuResult>(options, Gleu(gleu, needs), &GleuResult::score,
                              {{"overlap", &GleuResult::overlap},
                               {"output_ngrams", &GleuResult::output_ngrams},
                               {"expected_ngrams", &GleuResult::expected_ngrams}});
}

struct Words {
    double score = 0, precision = 0, recall = 0, f1 = 0;
    std::size_t output = 0, expected = 0, overlap = 0, all = 0;
};

struct ResponseKernel {
    Response response;
    Words score(Prepared& pair) const {
        const ResponseResult scored = response.score(pair);
        const SetSizes& sets = scored.words;
        return {scored.score, scored.rouge.precision, scored.rouge.recall, scored.rouge.f1,
                sets.output,  sets.expected,          sets.overlap,        sets.all()};
    }
};

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
    std::vector<Detail<Words>> details;
    if (response.match == ResponseMatch::rouge)
        details = {{"precision", &Words::precision}, {"recall", &Words::recall}, {"f1", &Words::f1}};
    if (has_sets) details = {{"output_words", &Words::output}, {"expected_words", &Words::expected}, {"overlap", &Words::overlap}};
    if (response.match == ResponseMatch::jaccard) details.push_back({"union", &Words::all});
    return tabled<Words>(options, ResponseKernel{Response(response, needs)}, &Words::score, std::move(details));
}

// Errors of transcripts, over words.
struct WordErrors {
    double score = 0;
    std::size_t substitutions = 0, insertions = 0, deletions = 0, length = 0;
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
        if (!details) return scored;
        const edit::EditCounts counts = edit::count_edits(expected.data(), expected.size(), output.data(), output.size());
        scored.substitutions = counts.substitutions;
        scored.insertions = counts.insertions;
        scored.deletions = counts.deletions;
        return scored;
    }
};

std::unique_ptr<WordMetric> make_wer(const Value& options, Needs& needs) {
    const Tokenizer tokenizer = tokenizer_of(options, Tokenizer::automatic_unicode);
    const WerKernel kernel{needs.add_words(needs.add_texts({}), {tokenizer, !options["case_sensitive"].flag(), false}),
                           options["details"].flag(), is_automatic(tokenizer)};
    return tabled<WordErrors>(options, kernel, &WordErrors::score,
                              {{"substitutions", &WordErrors::substitutions},
                               {"insertions", &WordErrors::insertions},
                               {"deletions", &WordErrors::deletions},
                               {"length", &WordErrors::length}});
}

std::unique_ptr<WordMetric> make_metric(const Value& options, Needs& needs) {
    using MakeMetric = std::unique_ptr<WordMetric> (*)(const Value&, Needs&);
    return options["metric"].choose<MakeMetric>({{"rouge", make_rouge},
                                                 {"jaccard", make_jaccard},
                                                 {"recall", make_recall},
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
        : is_one_(!options.has("metrics")),
          name_(options["metric"].text()),
          has_words_(options.is_set("words")) {
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
            all.children.push_back(make_result(pairs, results[i], metrics_[i]->common, metrics_[i]->fields, metrics_[i]->summary));
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
