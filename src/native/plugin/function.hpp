// A function of the plugin: what its result is, told from the types of its columns alone, and the result.
#pragma once

#include "../core/table.hpp"
#include "inputs.hpp"
#include "options.hpp"

// clang-format off
#define PE_FUNCTIONS(define) \
    define(levenshtein, make_edit) define(osa, make_edit) define(indel, make_edit) define(damerau_levenshtein, make_edit) \
    define(hamming, make_edit) define(jaro_winkler, make_edit) \
    define(rouge, make_words) define(jaccard, make_words) define(recall, make_words) define(token_f1, make_words) \
    define(bleu, make_words) define(chrf, make_words) define(gleu, make_words) define(wer, make_words) \
    define(response, make_words) define(words, make_words) \
    define(exact_match, make_comparison) define(contains, make_comparison) define(starts_with, make_comparison) \
    define(ends_with, make_comparison) define(length_between, make_length_between) define(similarity, make_similarity) \
    define(cer, make_cer) define(json_match, make_json_match) define(choice, make_choice) \
    define(numeric_match, make_numeric_match) define(given, make_given) define(pairs, make_pairs) define(paired, make_paired) \
    define(levenshtein_distance, make_levenshtein_distance) define(cosine, make_cosine) \
    define(recall_at_k, make_ranked_ids) define(precision_at_k, make_ranked_ids) define(ndcg, make_ranked_ids) \
    define(reciprocal_rank, make_ranked_ids) \
    define(clean, make_clean) define(as_text_lists, make_as_text_lists) define(as_json, make_as_json) \
    define(json_readable, make_json_readable)
// clang-format on

namespace pe::plugin {

using Dtypes = std::vector<const ArrowSchema*>;

class Function {
public:
    virtual ~Function() = default;
    // The type of the result; columns of a wrong type are `Refused`.
    virtual Field type(const Dtypes& columns) const = 0;
    virtual Column run(const std::vector<Input>& columns) const = 0;
};

// Makes functions of their options, by name.
using Make = std::unique_ptr<Function> (*)(const Value& options);

// How many threads a call may use: those of Polars' own pool. The module sets it; else it is told as Polars tells it.
std::size_t thread_count();

// All functions of the plugin, once: the name that plans have, and what makes the function of its options.

#define PE_DECLARE(name, make) std::unique_ptr<Function> make(const Value& options);
PE_FUNCTIONS(PE_DECLARE)
#undef PE_DECLARE

}  // namespace pe::plugin
