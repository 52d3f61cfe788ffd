#pragma once
#include <algorithm>
#include "../unicode.hpp"
namespace pe {
struct EditOptions { bool fold_case; std::size_t max_chars; };
struct EditResult { std::uint32_t distance, left_chars, right_chars; };
class LevenshteinWorkspace { public: std::vector<std::uint32_t> a, b; };
inline std::int64_t levenshtein_weighted(const std::uint32_t* l, std::size_t n, const std::uint32_t* r, std::size_t m, std::int64_t ins, std::int64_t del, std::int64_t sub, LevenshteinWorkspace&) {
    std::vector<std::int64_t> row(m + 1);
    for (std::size_t j = 0; j <= m; ++j) row[j] = ins * j;
    for (std::size_t i = 1; i <= n; ++i) { auto d = row[0]; row[0] += del; for (std::size_t j = 1; j <= m; ++j) { auto o = row[j]; row[j] = std::min({row[j] + del, row[j-1] + ins, d + (l[i-1]==r[j-1] ? 0 : sub)}); d = o; } }
    return row[m];
}
inline void levenshtein_many(const Text* l, const Text* r, std::size_t n, const EditOptions& o, EditResult* out, LevenshteinWorkspace& w) {
    for (std::size_t i = 0; i < n; ++i) { decode(l[i], o.fold_case, o.max_chars, w.a); decode(r[i], o.fold_case, o.max_chars, w.b); out[i] = {(std::uint32_t)levenshtein_weighted(w.a.data(), w.a.size(), w.b.data(), w.b.size(), 1,1,1,w), (std::uint32_t)w.a.size(), (std::uint32_t)w.b.size()}; }
}
}
