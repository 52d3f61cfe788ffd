// Word overlap over columns of texts: ROUGE, word sets, SQuAD's F1, BLEU, GLEU, chrF and the response evaluator.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "pairs.hpp"
#include "words/bleu.hpp"
#include "words/chrf.hpp"
#include "words/gleu.hpp"
#include "words/porter.hpp"
#include "words/response.hpp"
#include "words/rouge.hpp"
#include "words/token_f1.hpp"
#include "words/word_sets.hpp"

namespace pe {

using namespace words;

namespace {

template <class Choice>
Choice choose(const std::string& name, std::initializer_list<std::pair<const char*, Choice>> choices) {
    for (const auto& [known, choice] : choices)
        if (name == known) return choice;
    throw std::invalid_argument("unknown choice '" + name + "'");
}

Tokenizer choose_tokenizer(const std::string& name) {
    return choose<Tokenizer>(name, {{"rouge", Tokenizer::rouge},
                                    {"whitespace", Tokenizer::whitespace},
                                    {"unicode", Tokenizer::unicode},
                                    {"characters", Tokenizer::characters},
                                    {"auto", Tokenizer::automatic},
                                    {"separated", Tokenizer::separated}});
}

// The options of one metric, as Python gave them.
class Options {
public:
    explicit Options(const nb::dict& values) : values_(values) {}
    template <class Value>
    Value get(const char* name) const {
        return nb::cast<Value>(values_[name]);
    }
    std::string text(const char* name) const { return get<std::string>(name); }
    bool flag(const char* name) const { return get<bool>(name); }

private:
    nb::dict values_;
};

// A metric of a call: scores prepared pairs into its columns, from several threads at once.
class Metric {
public:
    explicit Metric(std::size_t rows) : result(rows) {}
    virtual ~Metric() = default;
    virtual void score(Prepared& pair, std::size_t row) const = 0;
    Result result;
};

// A column of `details`; where they are not wanted, writing to it does nothing.
class Counted {
public:
    Counted(Result& result, bool wanted, const char* name) : values_(wanted ? result.add_integers(name) : nullptr) {}
    void set(std::size_t row, std::size_t count) const {
        if (values_) values_[row] = static_cast<std::int64_t>(count);
    }

private:
    std::int64_t* values_;
};

class Measured {
public:
    Measured(Result& result, bool wanted, const char* name) : values_(wanted ? result.add_floats(name) : nullptr) {}
    void set(std::size_t row, double value) const {
        if (values_) values_[row] = value;
    }

private:
    double* values_;
};

class RougeColumns : public Metric {
public:
    RougeColumns(std::size_t rows, const Options& options, Needs& needs)
        : Metric(rows), rouge_(read(options), needs), details_(options.flag("details")) {
        wanted_ = choose<double RougeResult::*>(
            options.text("measure"),
            {{"f1", &RougeResult::f1}, {"precision", &RougeResult::precision}, {"recall", &RougeResult::recall}});
    }
    void score(Prepared& pair, std::size_t row) const override {
        const RougeResult scored = rouge_.score(pair);
        score_.set(row, scored.*wanted_);
        precision_.set(row, scored.precision);
        recall_.set(row, scored.recall);
        f1_.set(row, scored.f1);
        output_tokens_.set(row, scored.output_tokens);
        expected_tokens_.set(row, scored.expected_tokens);
        overlap_.set(row, scored.overlap);
    }

private:
    static RougeOptions read(const Options& given) {
        RougeOptions options;
        options.tokenizer = choose_tokenizer(given.text("tokenizer"));
        options.stemmer = given.flag("stemmer");
        const std::string variant = given.text("variant");
        if (variant == "rougeL") options.kind = RougeKind::lcs;
        else if (variant == "rougeLsum") options.kind = RougeKind::lcs_of_lines;
        else options.order = static_cast<std::size_t>(variant.back() - '0');
        return options;
    }
    Rouge rouge_;
    bool details_;
    double RougeResult::*wanted_;
    Measured score_{result, true, "score"}, precision_{result, details_, "precision"}, recall_{result, details_, "recall"},
        f1_{result, details_, "f1"};
    Counted output_tokens_{result, details_, "output_tokens"}, expected_tokens_{result, details_, "expected_tokens"},
        overlap_{result, details_, "overlap"};
};

class WordSetsColumns : public Metric {
public:
    WordSetsColumns(std::size_t rows, const Options& options, Needs& needs, double (*score_of)(const SetSizes&))
        : Metric(rows),
          sets_(choose_tokenizer(options.text("tokenizer")), options.flag("fold_case"), needs),
          score_of_(score_of),
          details_(options.flag("details")) {}
    void score(Prepared& pair, std::size_t row) const override {
        const SetSizes sizes = sets_.score(pair);
        score_.set(row, score_of_(sizes));
        output_words_.set(row, sizes.output);
        expected_words_.set(row, sizes.expected);
        overlap_.set(row, sizes.overlap);
        union_.set(row, sizes.all());
    }

private:
    WordSets sets_;
    double (*score_of_)(const SetSizes&);
    bool details_;
    Measured score_{result, true, "score"};
    Counted output_words_{result, details_, "output_words"}, expected_words_{result, details_, "expected_words"},
        overlap_{result, details_, "overlap"}, union_{result, details_, "union"};
};

class TokenF1Columns : public Metric {
public:
    TokenF1Columns(std::size_t rows, const Options& options, Needs& needs)
        : Metric(rows), f1_(needs), details_(options.flag("details")) {}
    void score(Prepared& pair, std::size_t row) const override {
        const TokenF1Result scored = f1_.score(pair);
        score_.set(row, scored.f1);
        precision_.set(row, scored.precision);
        recall_.set(row, scored.recall);
        output_tokens_.set(row, scored.output_tokens);
        expected_tokens_.set(row, scored.expected_tokens);
        overlap_.set(row, scored.overlap);
    }

private:
    TokenF1 f1_;
    bool details_;
    Measured score_{result, true, "score"}, precision_{result, details_, "precision"}, recall_{result, details_, "recall"};
    Counted output_tokens_{result, details_, "output_tokens"}, expected_tokens_{result, details_, "expected_tokens"},
        overlap_{result, details_, "overlap"};
};

class BleuColumns : public Metric {
public:
    BleuColumns(std::size_t rows, const Options& options, Needs& needs)
        : Metric(rows), bleu_(read(options), needs), details_(options.flag("details")) {}
    void score(Prepared& pair, std::size_t row) const override {
        const BleuResult scored = bleu_.score(pair);
        score_.set(row, scored.score);
        brevity_penalty_.set(row, scored.brevity_penalty);
        output_tokens_.set(row, scored.output_tokens);
        expected_tokens_.set(row, scored.expected_tokens);
    }

private:
    static BleuOptions read(const Options& given) {
        BleuOptions options;
        options.tokenizer = choose<Tokenizer>(given.text("tokenize"), {{"13a", Tokenizer::v13a},
                                                                       {"intl", Tokenizer::intl},
                                                                       {"char", Tokenizer::characters},
                                                                       {"none", Tokenizer::whitespace}});
        options.smoothing = choose<BleuSmoothing>(given.text("smooth_method"), {{"none", BleuSmoothing::none},
                                                                                {"floor", BleuSmoothing::floor},
                                                                                {"add-k", BleuSmoothing::add_k},
                                                                                {"exp", BleuSmoothing::exp}});
        options.lowercase = given.flag("lowercase");
        options.smooth_value = given.get<double>("smooth_value");
        options.max_ngram_order = given.get<std::size_t>("max_ngram_order");
        options.effective_order = given.flag("effective_order");
        return options;
    }
    Bleu bleu_;
    bool details_;
    Measured score_{result, true, "score"}, brevity_penalty_{result, details_, "brevity_penalty"};
    Counted output_tokens_{result, details_, "output_tokens"}, expected_tokens_{result, details_, "expected_tokens"};
};

class ChrfColumns : public Metric {
public:
    ChrfColumns(std::size_t rows, const Options& options, Needs& needs)
        : Metric(rows),
          chrf_({options.get<std::size_t>("char_order"), options.get<std::size_t>("word_order"), options.get<double>("beta"),
                 options.flag("lowercase"), options.flag("whitespace"), options.flag("eps_smoothing")},
                needs),
          details_(options.flag("details")) {}
    void score(Prepared& pair, std::size_t row) const override {
        const ChrfResult scored = chrf_.score(pair);
        score_.set(row, scored.score);
        precision_.set(row, scored.precision);
        recall_.set(row, scored.recall);
    }

private:
    Chrf chrf_;
    bool details_;
    Measured score_{result, true, "score"}, precision_{result, details_, "precision"}, recall_{result, details_, "recall"};
};

class GleuColumns : public Metric {
public:
    GleuColumns(std::size_t rows, const Options& options, Needs& needs)
        : Metric(rows),
          gleu_({options.get<std::size_t>("min_len"), options.get<std::size_t>("max_len"), options.flag("fold_case")}, needs),
          details_(options.flag("details")) {}
    void score(Prepared& pair, std::size_t row) const override {
        const GleuResult scored = gleu_.score(pair);
        score_.set(row, scored.score);
        overlap_.set(row, scored.overlap);
        output_ngrams_.set(row, scored.output_ngrams);
        expected_ngrams_.set(row, scored.expected_ngrams);
    }

private:
    Gleu gleu_;
    bool details_;
    Measured score_{result, true, "score"};
    Counted overlap_{result, details_, "overlap"}, output_ngrams_{result, details_, "output_ngrams"},
        expected_ngrams_{result, details_, "expected_ngrams"};
};

class ResponseColumns : public Metric {
public:
    ResponseColumns(std::size_t rows, const Options& options, Needs& needs)
        : ResponseColumns(rows, read(options), options.flag("details"), needs) {}
    void score(Prepared& pair, std::size_t row) const override {
        const ResponseResult scored = response_.score(pair);
        score_.set(row, scored.score);
        precision_.set(row, scored.rouge.precision);
        recall_.set(row, scored.rouge.recall);
        f1_.set(row, scored.rouge.f1);
        output_words_.set(row, scored.words.output);
        expected_words_.set(row, scored.words.expected);
        overlap_.set(row, scored.words.overlap);
        union_.set(row, scored.words.all());
    }

private:
    ResponseColumns(std::size_t rows, const ResponseOptions& options, bool details, Needs& needs)
        : Metric(rows),
          response_(options, needs),
          is_rouge_(details && options.match == ResponseMatch::rouge),
          is_sets_(details && (options.match == ResponseMatch::recall || options.match == ResponseMatch::jaccard)) {}
    static ResponseOptions read(const Options& given) {
        ResponseOptions options;
        options.match = choose<ResponseMatch>(given.text("match_type"), {{"exact", ResponseMatch::exact},
                                                                         {"rouge", ResponseMatch::rouge},
                                                                         {"recall", ResponseMatch::recall},
                                                                         {"semantic", ResponseMatch::jaccard}});
        options.fold_case = given.flag("fold_case");
        options.normalize_whitespace = given.flag("normalize_whitespace");
        options.tokenizer = choose_tokenizer(given.text("tokenizer"));
        return options;
    }
    Response response_;
    bool is_rouge_, is_sets_;
    Measured score_{result, true, "score"}, precision_{result, is_rouge_, "precision"}, recall_{result, is_rouge_, "recall"},
        f1_{result, is_rouge_, "f1"};
    Counted output_words_{result, is_sets_, "output_words"}, expected_words_{result, is_sets_, "expected_words"},
        overlap_{result, is_sets_, "overlap"}, union_{result, is_sets_, "union"};
};

std::unique_ptr<Metric> make_metric(const std::string& name, std::size_t rows, const Options& options, Needs& needs) {
    if (name == "rouge") return std::make_unique<RougeColumns>(rows, options, needs);
    if (name == "jaccard") return std::make_unique<WordSetsColumns>(rows, options, needs, jaccard_of);
    if (name == "recall") return std::make_unique<WordSetsColumns>(rows, options, needs, recall_of);
    if (name == "token_f1") return std::make_unique<TokenF1Columns>(rows, options, needs);
    if (name == "bleu") return std::make_unique<BleuColumns>(rows, options, needs);
    if (name == "gleu") return std::make_unique<GleuColumns>(rows, options, needs);
    if (name == "chrf") return std::make_unique<ChrfColumns>(rows, options, needs);
    if (name == "response") return std::make_unique<ResponseColumns>(rows, options, needs);
    throw std::invalid_argument("unknown metric '" + name + "'");
}

// All metrics over the same pair of columns, in one pass.
std::vector<Result> word_metrics(nb::handle output, nb::handle expected, const nb::list& metrics, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const std::size_t rows = broadcast_size(left.size(), right.size());
    Needs needs;
    std::vector<std::unique_ptr<Metric>> made;
    for (nb::handle metric : metrics) {
        const auto [name, options] = nb::cast<std::pair<std::string, nb::dict>>(metric);
        made.push_back(make_metric(name, rows, Options(options), needs));
    }
    {
        nb::gil_scoped_release released;
        for_each_pair<Prepared>(
            left, right, threads, [&](Prepared& prepared) { prepared.start(needs); },
            [&](const PairWindow::Pair& pair, Prepared& prepared) {
                prepared.set_pair(pair.output, pair.expected);
                for (const auto& metric : made) metric->score(prepared, pair.row);
            },
            [&](std::size_t row) {
                for (const auto& metric : made) metric->result.set_null(row);
            });
    }
    std::vector<Result> results;
    for (const auto& metric : made) results.push_back(std::move(metric->result));
    return results;
}

// Where the texts of a column are in memory. Two columns that exist at the same time have the same texts if this is equal.
nb::tuple place(nb::handle column) {
    const ArrowChunks chunks = read_chunks(column);
    nb::list places;
    for (const Owned<ArrowArray>& chunk : chunks.chunks()) {
        if (chunk->length == 0) continue;
        // Validity and views; what follows is fixed by them, or made anew for each reader.
        for (int i = 0; i < 2; ++i) places.append(reinterpret_cast<std::uintptr_t>(chunk->buffers[i]));
        places.append(chunk->offset);
        places.append(chunk->length);
    }
    return nb::tuple(places);
}

std::string stem(std::string word) {
    word.resize(PorterStemmer::stem(word.data(), word.size()));
    return word;
}

}  // namespace

void bind_words(nb::module_& module) {
    using nb::arg;
    module.def("stem", &stem, arg("word"), "The stem of a lowercase English word, as NLTK's PorterStemmer gives it.");
    module.def("place", &place, arg("texts"), "Where the texts of a column are in memory.");
    module.def("words", &word_metrics, arg("output"), arg("expected"), arg("metrics"), nb::kw_only(), arg("threads"),
               "Scores of word metrics over one pair of columns; each metric is its name and all of its options.");
}

}  // namespace pe
