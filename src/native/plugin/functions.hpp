// All functions of the plugin, by the families that define them.
#pragma once

#include "function.hpp"

namespace pe::plugin {

// Lowercases as the Polars does that made the plan, where that is an old one.
void use_sigma_table(const Value& options);

std::unique_ptr<Function> make_levenshtein(const Value& options);
std::unique_ptr<Function> make_osa(const Value& options);
std::unique_ptr<Function> make_indel(const Value& options);
std::unique_ptr<Function> make_damerau_levenshtein(const Value& options);
std::unique_ptr<Function> make_hamming(const Value& options);
std::unique_ptr<Function> make_jaro_winkler(const Value& options);
std::unique_ptr<Function> make_words(const Value& options);
std::unique_ptr<Function> make_exact_match(const Value& options);
std::unique_ptr<Function> make_contains(const Value& options);
std::unique_ptr<Function> make_starts_with(const Value& options);
std::unique_ptr<Function> make_ends_with(const Value& options);
std::unique_ptr<Function> make_length_between(const Value& options);
std::unique_ptr<Function> make_similarity(const Value& options);
std::unique_ptr<Function> make_cer(const Value& options);
std::unique_ptr<Function> make_json_match(const Value& options);
std::unique_ptr<Function> make_choice(const Value& options);
std::unique_ptr<Function> make_numeric_match(const Value& options);
std::unique_ptr<Function> make_given(const Value& options);
std::unique_ptr<Function> make_pairs(const Value& options);
std::unique_ptr<Function> make_paired(const Value& options);
std::unique_ptr<Function> make_levenshtein_distance(const Value& options);
std::unique_ptr<Function> make_cosine(const Value& options);
std::unique_ptr<Function> make_recall_at_k(const Value& options);
std::unique_ptr<Function> make_precision_at_k(const Value& options);
std::unique_ptr<Function> make_ndcg(const Value& options);
std::unique_ptr<Function> make_reciprocal_rank(const Value& options);
std::unique_ptr<Function> make_clean(const Value& options);
std::unique_ptr<Function> make_as_text_lists(const Value& options);
std::unique_ptr<Function> make_as_json(const Value& options);
std::unique_ptr<Function> make_json_readable(const Value& options);

}  // namespace pe::plugin
