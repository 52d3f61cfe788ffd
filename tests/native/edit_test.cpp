// Damerau-Levenshtein, Hamming and Jaro-Winkler on random pairs, against their definitions: edit_test [rows] [seed].
#include <limits>
#include <memory>

#include "edit/distances.hpp"
#include "support.hpp"

namespace {

using test::check_equal;
using test::Codes;
using test::ExactBytes;
using test::Texts;

// Lowrance and Wagner's recurrence, with the whole table: a swap of two symbols with anything removed and inserted between.
std::int64_t reference_damerau(const Codes& left, const Codes& right) {
    const std::size_t width = right.size() + 1;
    std::vector<std::int64_t> table((left.size() + 1) * width);
    const auto at = [&](std::size_t i, std::size_t j) -> std::int64_t& { return table[i * width + j]; };
    for (std::size_t i = 0; i <= left.size(); ++i) at(i, 0) = static_cast<std::int64_t>(i);
    for (std::size_t j = 0; j <= right.size(); ++j) at(0, j) = static_cast<std::int64_t>(j);
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::size_t last_column = 0;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const bool is_equal = left[i - 1] == right[j - 1];
            at(i, j) = std::min({at(i - 1, j - 1) + !is_equal, at(i - 1, j) + 1, at(i, j - 1) + 1});
            std::size_t last_row = i - 1;
            while (last_row > 0 && left[last_row - 1] != right[j - 1]) --last_row;
            if (last_row > 0 && last_column > 0) {
                const std::size_t between = (i - last_row - 1) + (j - last_column - 1);
                at(i, j) = std::min(at(i, j), at(last_row - 1, last_column - 1) + 1 + static_cast<std::int64_t>(between));
            }
            if (is_equal) last_column = j;
        }
    }
    return at(left.size(), right.size());
}

std::int64_t reference_hamming(const Codes& left, const Codes& right) {
    std::int64_t different = 0;
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i)
        different += i >= left.size() || i >= right.size() || left[i] != right[i];
    return different;
}

double reference_jaro_winkler(const Codes& left, const Codes& right) {
    if (left.empty() && right.empty()) return 1.0;
    const std::size_t half = std::max(left.size(), right.size()) / 2, reach = half > 0 ? half - 1 : 0;
    std::vector<bool> taken(left.size());
    Codes left_matches, right_matches;
    for (std::size_t j = 0; j < right.size(); ++j) {
        for (std::size_t i = j > reach ? j - reach : 0; i < std::min(left.size(), j + reach + 1); ++i) {
            if (taken[i] || left[i] != right[j]) continue;
            taken[i] = true;
            right_matches.push_back(right[j]);
            break;
        }
    }
    for (std::size_t i = 0; i < left.size(); ++i)
        if (taken[i]) left_matches.push_back(left[i]);
    if (left_matches.empty()) return 0.0;
    std::size_t displaced = 0, prefix = 0;
    for (std::size_t i = 0; i < left_matches.size(); ++i) displaced += left_matches[i] != right_matches[i];
    const auto common = static_cast<double>(left_matches.size());
    double score = common / static_cast<double>(left.size()) + common / static_cast<double>(right.size());
    score = (score + (common - static_cast<double>(displaced / 2)) / common) / 3.0;
    while (prefix < std::min({left.size(), right.size(), std::size_t{4}}) && left[prefix] == right[prefix]) ++prefix;
    if (score > 0.7) score = std::min(1.0, score + static_cast<double>(prefix) * 0.1 * (1.0 - score));
    return 1.0 - (1.0 - score);
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    Texts texts(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    pe::edit::EditTexts pair;
    pe::edit::DamerauKernel damerau;
    pe::edit::HammingKernel hamming;
    pe::edit::JaroWinklerKernel jaro_winkler;
    for (std::size_t row = 0; row < rows; ++row) {
        const auto [a, b] = texts.pair(texts.below(30) == 0 ? 700 : texts.below(3) == 0 ? 150 : 40);
        const std::string left = test::encode(a), right = test::encode(b);
        const auto place = static_cast<ExactBytes::Place>(texts.below(8) == 0 ? 1 + texts.below(2) : 0);
        ExactBytes left_bytes(left.data(), left.size(), place), right_bytes(right.data(), right.size(), place);
        const pe::Text left_text(left_bytes.data(), left.size()), right_text(right_bytes.data(), right.size());
        const std::size_t cuts[] = {std::numeric_limits<std::size_t>::max(), 1, 5, 64, 65};
        const pe::edit::EditOptions options{texts.below(2) == 1, cuts[texts.below(8) == 0 ? texts.below(5) : 0]};
        Codes x, y;
        pe::unicode::decode(left_text, options.fold_case, options.max_chars, x);
        pe::unicode::decode(right_text, options.fold_case, options.max_chars, y);
        pe::edit::EditResult sizes{};
        const auto check = [&](const char* what, std::int64_t expected, auto& kernel) {
            check_equal(what, expected, pair.compare(left_text, right_text, options, sizes, kernel), x.size(), y.size());
        };
        check("hamming", reference_hamming(x, y), hamming);
        check_equal("left_chars", static_cast<std::int64_t>(x.size()), sizes.left_chars);
        check_equal("right_chars", static_cast<std::int64_t>(y.size()), sizes.right_chars);
        const double score = pair.compare(left_text, right_text, options, sizes, jaro_winkler);
        check_equal("jaro_winkler", 1, score == reference_jaro_winkler(x, y), x.size(), y.size());
        check("damerau", reference_damerau(x, y), damerau);
    }
    // Longer than cells of 16 bits can count.
    const std::string many(20000, 'a'), few = std::string(200, 'b') + "ca" + std::string(300, 'a') + "abc";
    pe::edit::EditResult sizes{};
    const pe::edit::EditOptions whole{false, std::numeric_limits<std::size_t>::max()};
    check_equal("wide damerau", 20000 - 302, pair.compare(many, few, whole, sizes, damerau), many.size(), few.size());
    std::printf("damerau, hamming, jaro_winkler: %zu rows\n", rows);
    return 0;
}
