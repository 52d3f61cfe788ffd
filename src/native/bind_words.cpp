// Word overlap over columns of texts: ROUGE, word sets, SQuAD's F1, BLEU, chrF and the response evaluator.
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "batches.hpp"
#include "bind.hpp"
#include "words/bleu.hpp"
#include "words/chrf.hpp"
#include "words/porter.hpp"
#include "words/response.hpp"
#include "words/rouge.hpp"
#include "words/sets.hpp"
#include "words/token_f1.hpp"

namespace pe {
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
                                    {"separated", Tokenizer::separated}});
}

template <class Workspace, class Scored>
struct Scratch {
    Workspace workspace;
    std::vector<Scored> results;
};

// Scores all pairs with `score(outputs, expected, count, results, workspace)` and calls `write(row, scored)` for each.
template <class Workspace, class Scored, class Score, class Write>
void score_pairs(const TextColumn& output, const TextColumn& expected, std::size_t threads, Result& result, Score&& score,
                 Write&& write) {
    nb::gil_scoped_release released;
    using Space = Scratch<Workspace, Scored>;
    for_each_batch<Space>(output, expected, threads, result, [&](const Batch& batch, Space& scratch) {
        scratch.results.resize(batch.size());
        score(batch.left.data(), batch.right.data(), batch.size(), scratch.results.data(), scratch.workspace);
        for (std::size_t i = 0; i < batch.size(); ++i) write(batch.rows[i], scratch.results[i]);
    });
}

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

Result rouge(nb::handle output, nb::handle expected, const std::string& variant, const std::string& measure,
             const std::string& tokenizer, bool stemmer, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    RougeOptions options;
    options.tokenizer = choose_tokenizer(tokenizer);
    options.stemmer = stemmer;
    if (variant == "rougeL") options.kind = RougeKind::lcs;
    else if (variant == "rougeLsum") options.kind = RougeKind::lcs_of_sentences;
    else options.order = static_cast<std::size_t>(variant.back() - '0');
    const auto wanted = choose<double RougeResult::*>(
        measure, {{"f1", &RougeResult::f1}, {"precision", &RougeResult::precision}, {"recall", &RougeResult::recall}});
    Result result(broadcast_size(left.size(), right.size()));
    const Measured score(result, true, "score"), precision(result, details, "precision"),
        recall(result, details, "recall"), f1(result, details, "f1");
    const Counted output_tokens(result, details, "output_tokens"), expected_tokens(result, details, "expected_tokens"),
        overlap(result, details, "overlap");
    score_pairs<WordsWorkspace, RougeResult>(
        left, right, threads, result,
        [&](const Text* outputs, const Text* references, std::size_t count, RougeResult* results, WordsWorkspace& workspace) {
            rouge_many(outputs, references, count, options, results, workspace);
        },
        [&](std::size_t row, const RougeResult& scored) {
            score.set(row, scored.*wanted);
            precision.set(row, scored.precision);
            recall.set(row, scored.recall);
            f1.set(row, scored.f1);
            output_tokens.set(row, scored.output_tokens);
            expected_tokens.set(row, scored.expected_tokens);
            overlap.set(row, scored.overlap);
        });
    return result;
}

Result word_sets(nb::handle output, nb::handle expected, const std::string& metric, const std::string& tokenizer,
                 bool fold_case, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const SetOptions options{choose_tokenizer(tokenizer), fold_case};
    const auto score_of = choose<double (*)(const SetSizes&)>(metric, {{"jaccard", jaccard_of}, {"recall", recall_of}});
    Result result(broadcast_size(left.size(), right.size()));
    const Measured score(result, true, "score");
    const Counted output_words(result, details, "output_words"), expected_words(result, details, "expected_words"),
        overlap(result, details, "overlap"), all(result, details, "union");
    score_pairs<WordsWorkspace, SetSizes>(
        left, right, threads, result,
        [&](const Text* outputs, const Text* references, std::size_t count, SetSizes* results, WordsWorkspace& workspace) {
            sets_many(outputs, references, count, options, results, workspace);
        },
        [&](std::size_t row, const SetSizes& sizes) {
            score.set(row, score_of(sizes));
            output_words.set(row, sizes.output);
            expected_words.set(row, sizes.expected);
            overlap.set(row, sizes.overlap);
            all.set(row, sizes.all());
        });
    return result;
}

Result token_f1(nb::handle output, nb::handle expected, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    Result result(broadcast_size(left.size(), right.size()));
    const Measured score(result, true, "score"), precision(result, details, "precision"), recall(result, details, "recall");
    const Counted output_tokens(result, details, "output_tokens"), expected_tokens(result, details, "expected_tokens"),
        overlap(result, details, "overlap");
    score_pairs<WordsWorkspace, TokenF1Result>(
        left, right, threads, result, token_f1_many, [&](std::size_t row, const TokenF1Result& scored) {
            score.set(row, scored.f1);
            precision.set(row, scored.precision);
            recall.set(row, scored.recall);
            output_tokens.set(row, scored.output_tokens);
            expected_tokens.set(row, scored.expected_tokens);
            overlap.set(row, scored.overlap);
        });
    return result;
}

Result bleu(nb::handle output, nb::handle expected, const std::string& tokenize, bool lowercase,
            const std::string& smooth_method, double smooth_value, std::size_t max_ngram_order, bool effective_order,
            bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    BleuOptions options;
    options.tokenizer = choose<BleuTokenizer>(tokenize, {{"13a", BleuTokenizer::v13a},
                                                         {"intl", BleuTokenizer::intl},
                                                         {"char", BleuTokenizer::characters},
                                                         {"none", BleuTokenizer::none}});
    options.smoothing = choose<BleuSmoothing>(smooth_method, {{"none", BleuSmoothing::none},
                                                              {"floor", BleuSmoothing::floor},
                                                              {"add-k", BleuSmoothing::add_k},
                                                              {"exp", BleuSmoothing::exp}});
    options.lowercase = lowercase;
    options.smooth_value = smooth_value;
    options.max_ngram_order = max_ngram_order;
    options.effective_order = effective_order;
    Result result(broadcast_size(left.size(), right.size()));
    const Measured score(result, true, "score"), brevity_penalty(result, details, "brevity_penalty");
    const Counted output_tokens(result, details, "output_tokens"), expected_tokens(result, details, "expected_tokens");
    score_pairs<Bleu, BleuResult>(
        left, right, threads, result,
        [&](const Text* outputs, const Text* references, std::size_t count, BleuResult* results, Bleu& workspace) {
            bleu_many(outputs, references, count, options, results, workspace);
        },
        [&](std::size_t row, const BleuResult& scored) {
            score.set(row, scored.score);
            brevity_penalty.set(row, scored.brevity_penalty);
            output_tokens.set(row, scored.output_tokens);
            expected_tokens.set(row, scored.expected_tokens);
        });
    return result;
}

Result chrf(nb::handle output, nb::handle expected, std::size_t char_order, std::size_t word_order, double beta,
            bool lowercase, bool whitespace, bool eps_smoothing, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const ChrfOptions options{char_order, word_order, beta, lowercase, whitespace, eps_smoothing};
    Result result(broadcast_size(left.size(), right.size()));
    const Measured score(result, true, "score"), precision(result, details, "precision"), recall(result, details, "recall");
    score_pairs<Chrf, ChrfResult>(
        left, right, threads, result,
        [&](const Text* outputs, const Text* references, std::size_t count, ChrfResult* results, Chrf& workspace) {
            chrf_many(outputs, references, count, options, results, workspace);
        },
        [&](std::size_t row, const ChrfResult& scored) {
            score.set(row, scored.score);
            precision.set(row, scored.precision);
            recall.set(row, scored.recall);
        });
    return result;
}

Result response(nb::handle output, nb::handle expected, const std::string& match_type, bool fold_case,
                bool normalize_whitespace, bool details, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    ResponseOptions options;
    options.match = choose<ResponseMatch>(match_type, {{"exact", ResponseMatch::exact},
                                                       {"rouge", ResponseMatch::rouge},
                                                       {"recall", ResponseMatch::recall},
                                                       {"semantic", ResponseMatch::jaccard}});
    options.fold_case = fold_case;
    options.normalize_whitespace = normalize_whitespace;
    const bool is_rouge = details && options.match == ResponseMatch::rouge;
    const bool is_sets = details && (options.match == ResponseMatch::recall || options.match == ResponseMatch::jaccard);
    Result result(broadcast_size(left.size(), right.size()));
    const Measured score(result, true, "score"), precision(result, is_rouge, "precision"),
        recall(result, is_rouge, "recall"), f1(result, is_rouge, "f1");
    const Counted output_words(result, is_sets, "output_words"), expected_words(result, is_sets, "expected_words"),
        overlap(result, is_sets, "overlap"), all(result, is_sets, "union");
    score_pairs<WordsWorkspace, ResponseResult>(
        left, right, threads, result,
        [&](const Text* outputs, const Text* references, std::size_t count, ResponseResult* results,
            WordsWorkspace& workspace) { response_many(outputs, references, count, options, results, workspace); },
        [&](std::size_t row, const ResponseResult& scored) {
            score.set(row, scored.score);
            precision.set(row, scored.rouge.precision);
            recall.set(row, scored.rouge.recall);
            f1.set(row, scored.rouge.f1);
            output_words.set(row, scored.words.output);
            expected_words.set(row, scored.words.expected);
            overlap.set(row, scored.words.overlap);
            all.set(row, scored.words.all());
        });
    return result;
}

std::string stem(std::string word) {
    word.resize(PorterStemmer::stem(word.data(), word.size()));
    return word;
}

}  // namespace

void bind_words(nb::module_& module) {
    using nb::arg;
    module.def("stem", &stem, arg("word"), "The stem of a lowercase English word, as NLTK's PorterStemmer gives it.");
    module.def("rouge", &rouge, arg("output"), arg("expected"), nb::kw_only(), arg("variant"), arg("measure"),
               arg("tokenizer"), arg("stemmer"), arg("details"), arg("threads"));
    module.def("word_sets", &word_sets, arg("output"), arg("expected"), nb::kw_only(), arg("metric"), arg("tokenizer"),
               arg("fold_case"), arg("details"), arg("threads"));
    module.def("token_f1", &token_f1, arg("output"), arg("expected"), nb::kw_only(), arg("details"), arg("threads"));
    module.def("bleu", &bleu, arg("output"), arg("expected"), nb::kw_only(), arg("tokenize"), arg("lowercase"),
               arg("smooth_method"), arg("smooth_value"), arg("max_ngram_order"), arg("effective_order"), arg("details"),
               arg("threads"));
    module.def("chrf", &chrf, arg("output"), arg("expected"), nb::kw_only(), arg("char_order"), arg("word_order"),
               arg("beta"), arg("lowercase"), arg("whitespace"), arg("eps_smoothing"), arg("details"), arg("threads"));
    module.def("response", &response, arg("output"), arg("expected"), nb::kw_only(), arg("match_type"), arg("fold_case"),
               arg("normalize_whitespace"), arg("details"), arg("threads"));
}

}  // namespace pe
