// The word kernels on random texts in buffers of exactly their size, valid UTF-8 or not, against slow and obvious
// counterparts. Made for the sanitizers: words_test [pairs] [seed].
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "words/bleu.hpp"
#include "words/chrf.hpp"
#include "words/response.hpp"
#include "words/rouge.hpp"
#include "words/sets.hpp"
#include "words/token_f1.hpp"

namespace {

using pe::Numbers;
using pe::Text;

std::mt19937_64 random_bits;

std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_bits() % limit); }

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "words_test: %s\n", what);
    std::exit(1);
}

// Bytes on the heap with nothing before or behind them that may be read.
class Exact {
public:
    explicit Exact(const std::string& text) : size_(text.size()), bytes_(static_cast<char*>(std::malloc(size_))) {
        if (size_ > 0) std::memcpy(bytes_.get(), text.data(), size_);
    }
    Text view() const { return {bytes_.get(), size_}; }

private:
    struct Free {
        void operator()(char* bytes) const { std::free(bytes); }
    };
    std::size_t size_;
    std::unique_ptr<char, Free> bytes_;
};

std::string random_text() {
    static const std::vector<std::string> pieces = {
        "the ", "a ",  "an",  "running ", "generalizations ", "happily", " ",    "\n",  "\n\n", "\t",   ".",    ",",
        "..",   "1",   "23",  "-",        "-\n",              "1. ",     "* ",   "• ",  "٣) ",  "&amp;", "&lt;", "<skipped>",
        "İ",    "K",   "Σ",   "ΑΣ",       "é",                "ß",       "слово ", "中文", "🙂",   "\x1f", "\x1e", std::string(1, '\0'),
        "_",    "'",   "(x)", "«the»",    "½",                "€",       "\xff", "\xc4", "\xe2\x84", "\xf0\x9f", "\u3000", "\u2028"};
    std::string text;
    const std::size_t kind = below(8);
    const std::size_t size = below(kind == 0 ? 1200 : 60);
    const std::size_t first = below(pieces.size()), choice = 1 + below(pieces.size());
    for (std::size_t i = 0; i < size; ++i) {
        if (kind == 1) text += static_cast<char>(below(256));
        else if (kind == 2) text += static_cast<char>('a' + below(26));
        else text += pieces[(first + below(choice)) % pieces.size()];
    }
    return text;
}

Numbers random_numbers(std::size_t longest, std::size_t limit) {
    Numbers numbers(below(longest + 1));
    for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(below(limit));
    return numbers;
}

using Table = std::vector<std::vector<std::size_t>>;

Table lcs_table(const Numbers& rows, const Numbers& columns) {
    Table table(rows.size() + 1, std::vector<std::size_t>(columns.size() + 1));
    for (std::size_t i = 1; i <= rows.size(); ++i)
        for (std::size_t j = 1; j <= columns.size(); ++j)
            table[i][j] = rows[i - 1] == columns[j - 1] ? table[i - 1][j - 1] + 1
                                                        : std::max(table[i - 1][j], table[i][j - 1]);
    return table;
}

void mark_lcs(const Numbers& rows, const Numbers& columns, std::vector<std::uint8_t>& used) {
    const Table table = lcs_table(rows, columns);
    for (std::size_t i = rows.size(), j = columns.size(); i > 0 && j > 0;) {
        if (rows[i - 1] == columns[j - 1]) {
            used[--i] = 1;
            --j;
        } else if (table[i][j - 1] > table[i - 1][j]) --j;
        else --i;
    }
}

std::size_t shared_ngrams(const Numbers& expected, const Numbers& output, std::size_t order) {
    std::map<Numbers, std::size_t> counts;
    const auto each = [order](const Numbers& numbers, auto&& take) {
        for (std::size_t i = 0; i + order <= numbers.size(); ++i)
            take(Numbers(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                         numbers.begin() + static_cast<std::ptrdiff_t>(i + order)));
    };
    each(expected, [&](const Numbers& ngram) { ++counts[ngram]; });
    std::size_t shared = 0;
    each(output, [&](const Numbers& ngram) {
        const auto found = counts.find(ngram);
        if (found == counts.end() || found->second == 0) return;
        --found->second;
        ++shared;
    });
    return shared;
}

void check_sequences(pe::Lcs& lcs, pe::Ngrams& ngrams, pe::Counts& counts, pe::CharacterNgrams& characters) {
    const std::size_t longest = below(20) == 0 ? 2500 : below(4) == 0 ? 150 : 20;
    const std::size_t limit = 1 + below(below(2) == 0 ? 3 : 3000);
    const Numbers rows = random_numbers(longest, limit), columns = random_numbers(longest, limit);
    check(lcs.length(rows, columns, limit) == lcs_table(rows, columns).back().back(), "length of the subsequence");

    if (!rows.empty()) {
        std::vector<std::uint8_t> used(rows.size());
        lcs.start_rows(rows, limit);
        for (const Numbers& other : {columns, random_numbers(20, limit)}) {
            lcs.mark_rows(other);
            mark_lcs(rows, other, used);
        }
        check(lcs.used() == used, "rows of the subsequence");
    }

    const std::size_t orders = 1 + below(6);
    check(ngrams.start(rows, columns, limit, counts) == shared_ngrams(rows, columns, 1), "shared words");
    for (std::size_t n = 2; n <= orders; ++n) check(ngrams.extend() == shared_ngrams(rows, columns, n), "shared n-grams");

    Numbers left = rows, right = columns;  // symbols start from 1
    for (Numbers* side : {&left, &right})
        for (std::uint32_t& number : *side) ++number;
    std::vector<std::size_t> matches(orders);
    characters.overlap(left, right, limit, matches, ngrams, counts);
    for (std::size_t n = 1; n <= orders; ++n)
        check(matches[n - 1] == shared_ngrams(rows, columns, n), "shared character n-grams");
}

bool is_score(double score) { return score >= 0.0 && score <= 1.0; }

struct Workspaces {
    pe::WordsWorkspace words;
    pe::Bleu bleu;
    pe::Chrf chrf;
};

void check_texts(const Text& output, const Text& expected, Workspaces& space) {
    pe::RougeOptions rouge;
    rouge.kind = static_cast<pe::RougeKind>(below(3));
    rouge.order = 1 + below(9);
    rouge.tokenizer = static_cast<pe::Tokenizer>(below(5));
    rouge.stemmer = below(2) == 0;
    pe::RougeResult scored;
    pe::rouge_many(&output, &expected, 1, rouge, &scored, space.words);
    check(is_score(scored.f1) && is_score(scored.precision) && is_score(scored.recall), "range of ROUGE");
    check(scored.overlap <= std::min(scored.output_tokens, scored.expected_tokens), "overlap of ROUGE");

    pe::SetSizes sizes;
    const pe::SetOptions sets{static_cast<pe::Tokenizer>(below(5)), below(2) == 0};
    pe::sets_many(&output, &expected, 1, sets, &sizes, space.words);
    check(is_score(jaccard_of(sizes)) && is_score(recall_of(sizes)), "range of word sets");
    pe::sets_many(&output, &output, 1, sets, &sizes, space.words);
    check(jaccard_of(sizes) == 1.0 && recall_of(sizes) == 1.0, "a text against itself, as sets");

    pe::TokenF1Result f1;
    pe::token_f1_many(&output, &expected, 1, &f1, space.words);
    check(is_score(f1.f1), "range of token F1");
    pe::token_f1_many(&output, &output, 1, &f1, space.words);
    check(f1.f1 == 1.0, "a text against itself, token F1");

    const pe::ResponseOptions response{static_cast<pe::ResponseMatch>(below(4)), below(2) == 0, below(2) == 0};
    pe::ResponseResult answer;
    pe::response_many(&output, &expected, 1, response, &answer, space.words);
    check(is_score(answer.score), "range of response");

    pe::BleuOptions bleu;
    bleu.tokenizer = static_cast<pe::BleuTokenizer>(below(4));
    bleu.lowercase = below(2) == 0;
    bleu.smoothing = static_cast<pe::BleuSmoothing>(below(4));
    bleu.smooth_value = static_cast<double>(below(3)) / 2;
    bleu.max_ngram_order = 1 + below(6);
    bleu.effective_order = below(2) == 0;
    pe::BleuResult translated;
    pe::bleu_many(&output, &expected, 1, bleu, &translated, space.bleu);
    check(is_score(translated.score) && is_score(translated.brevity_penalty), "range of BLEU");

    const pe::ChrfOptions chrf{1 + below(16), below(3), 1.0 + static_cast<double>(below(3)), below(2) == 0, below(2) == 0,
                               below(2) == 0};
    pe::ChrfResult spelled;
    pe::chrf_many(&output, &expected, 1, chrf, &spelled, space.chrf);
    check(is_score(spelled.score), "range of chrF");
}

void check_stem() {
    std::string word(1 + below(12), ' ');
    for (char& letter : word) letter = "aeiouyabcdlstz19"[below(16)];
    static const char* const suffixes[] = {"ies", "ing", "eed", "alli", "ization", "logi", "ll", "fulness", "s", "ion"};
    if (below(2) == 0) word += suffixes[below(10)];
    std::unique_ptr<char[]> bytes(new char[word.size()]);
    std::memcpy(bytes.get(), word.data(), word.size());
    const std::size_t length = pe::PorterStemmer::stem(bytes.get(), word.size());
    check(length >= 1 && length <= word.size(), "length of a stem");
}

}  // namespace

int main(int count, char** values) {
    const long pairs = count > 1 ? std::atol(values[1]) : 20000;
    random_bits.seed(count > 2 ? std::strtoull(values[2], nullptr, 10) : 1);
    Workspaces space;
    pe::Lcs lcs;
    pe::Ngrams ngrams;
    pe::Counts counts;
    pe::CharacterNgrams characters;
    for (long i = 0; i < pairs; ++i) {
        const std::string text = random_text();
        const Exact output(text), expected(below(10) == 0 ? text : random_text());
        check_texts(output.view(), expected.view(), space);
        check_stem();
        if (i % 20 == 0) check_sequences(lcs, ngrams, counts, characters);
    }
    std::printf("words_test: %ld pairs\n", pairs);
    return 0;
}
