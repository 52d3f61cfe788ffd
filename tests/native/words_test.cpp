// The word kernels on random texts in buffers of exactly their size, valid UTF-8 or not, against slow and obvious
// counterparts. Made for the sanitizers: words_test [pairs] [seed].
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "words/metrics.hpp"
#include "unicode/lowercase.hpp"

namespace {

using pe::words::Numbers;
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
        "_",    "'",   "(x)", "«the»",    "½",                "€",       "-<SKIPPED>\n", "\xff", "\xc4", "\xe2\x84", "\xf0\x9f", "\u3000", "\u2028"};
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

// The numbers of `words` in the order of their first use in `expected`; those that it lacks are no number.
Numbers localized(const Numbers& words, const Numbers& expected) {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (const std::uint32_t word : expected) numbers.emplace(word, static_cast<std::uint32_t>(numbers.size()));
    Numbers local;
    for (const std::uint32_t word : words) local.push_back(numbers.count(word) ? numbers[word] : pe::words::no_number);
    return local;
}

void check_sequences(pe::words::PairedWords& pair) {
    const std::size_t longest = below(20) == 0 ? 2500 : below(4) == 0 ? 150 : 20;
    // About the numbers of different tokens from which on n-grams are found in other ways.
    static constexpr std::size_t limits[] = {3, 66, 260, 3000};
    const std::size_t limit = 1 + below(limits[below(4)]);
    const std::size_t orders = 1 + below(6);
    const Numbers expected = random_numbers(longest, limit);
    pair.set_longest_ngrams(orders);
    pair.expected.words = expected;
    pair.expected_changed(limit);
    for (int outputs = 0; outputs < 2; ++outputs) {  // what belongs to expected serves several outputs
        const Numbers output = random_numbers(longest, limit);
        pair.output.words = output;
        pair.output_changed(limit);
        check(pair.common_subsequence() == lcs_table(expected, output).back().back(), "length of the subsequence");
        for (std::size_t n = 1; n <= orders; ++n)
            check(pair.shared(n) == shared_ngrams(expected, output, n), "shared n-grams");
        const std::set<std::uint32_t> left(output.begin(), output.end()), right(expected.begin(), expected.end());
        std::size_t both = 0;
        for (const std::uint32_t word : left) both += right.count(word);
        const pe::words::SetSizes& sizes = pair.sets();
        check(sizes.output == left.size() && sizes.expected == right.size() && sizes.overlap == both, "sizes of sets");
    }

    if (expected.empty()) return;
    pe::words::Lcs lcs;
    std::vector<std::uint8_t> used(expected.size());
    const Numbers rows = localized(expected, expected);
    lcs.start_rows(rows, expected.size());
    for (const Numbers& other : {random_numbers(longest, limit), random_numbers(20, limit)}) {
        lcs.mark_rows(localized(other, expected));
        mark_lcs(expected, other, used);
    }
    check(lcs.used() == used, "rows of the subsequence");
}

bool is_score(double score) { return score >= 0.0 && score <= 1.0; }

bool are_equal(const pe::words::RougeResult& one, const pe::words::RougeResult& other) {
    return one.f1 == other.f1 && one.precision == other.precision && one.recall == other.recall &&
           one.overlap == other.overlap && one.output_tokens == other.output_tokens &&
           one.expected_tokens == other.expected_tokens;
}

pe::words::Tokenizer random_tokenizer() { return static_cast<pe::words::Tokenizer>(below(7)); }

pe::words::Tokenizer bleu_tokenizer() {
    static const pe::words::Tokenizer all[] = {pe::words::Tokenizer::v13a, pe::words::Tokenizer::intl, pe::words::Tokenizer::characters,
                                        pe::words::Tokenizer::whitespace};
    return all[below(4)];
}

// What a metric that is made by `make(needs)` gives if nobody asks for anything else.
template <class Make>
auto alone(const Text& output, const Text& expected, pe::words::Prepared& pair, Make make) {
    pe::words::Needs needs;
    const auto metric = make(needs);
    pair.start(needs);
    pair.set_pair(output, expected);
    return metric.score(pair);
}

void check_texts(const Text& output, const Text& expected, pe::words::Prepared& pair, pe::words::Prepared& other) {
    const pe::words::RougeOptions rouge_options{static_cast<pe::words::RougeKind>(below(3)), 1 + below(9), random_tokenizer(),
                                         below(2) == 0};
    const pe::words::Tokenizer set_tokenizer = random_tokenizer();
    const bool fold_case = below(2) == 0;
    const pe::words::ResponseOptions response_options{static_cast<pe::words::ResponseMatch>(below(4)), below(2) == 0, below(2) == 0,
                                               random_tokenizer()};
    const pe::words::BleuOptions bleu_options{bleu_tokenizer(), below(2) == 0, static_cast<pe::words::BleuSmoothing>(below(4)),
                                       static_cast<double>(below(3)) / 2, 1 + below(6), below(2) == 0};
    const pe::words::ChrfOptions chrf_options{1 + below(16), below(3), 1.0 + static_cast<double>(below(3)), below(2) == 0,
                                       below(2) == 0, below(2) == 0};
    pe::words::Needs needs;
    const pe::words::Rouge rouge(rouge_options, needs);
    const pe::words::WordSets sets(set_tokenizer, fold_case, needs);
    const pe::words::TokenF1 f1(pe::words::Tokenizer::automatic_squad, needs);
    const pe::words::Response response(response_options, needs);
    const pe::words::Bleu bleu(bleu_options, needs);
    const pe::words::Chrf chrf(chrf_options, needs);
    const std::size_t shortest = 1 + below(4);
    const pe::words::GleuOptions gleu_options{shortest, shortest + below(4), below(2) == 0};
    const pe::words::Gleu gleu(gleu_options, needs);
    pair.start(needs);
    pair.set_pair(output, output);
    check(jaccard_of(sets.score(pair)) == 1.0 && recall_of(sets.score(pair)) == 1.0, "a text against itself, as sets");
    check(f1.score(pair).f1 == 1.0, "a text against itself, token F1");
    if (below(2) == 0) pair.set_pair(expected, expected);  // the expected text of the next pair is known, or not
    pair.set_pair(output, expected);

    const pe::words::RougeResult scored = rouge.score(pair);
    check(is_score(scored.f1) && is_score(scored.precision) && is_score(scored.recall), "range of ROUGE");
    check(scored.overlap <= std::min(scored.output_tokens, scored.expected_tokens), "overlap of ROUGE");
    const auto only_rouge = [&](pe::words::Needs& own) { return pe::words::Rouge(rouge_options, own); };
    check(are_equal(scored, alone(output, expected, other, only_rouge)), "ROUGE alone and with others");

    const pe::words::SetSizes sizes = sets.score(pair);
    const auto only_sets = [&](pe::words::Needs& own) { return pe::words::WordSets(set_tokenizer, fold_case, own); };
    const pe::words::SetSizes own_sizes = alone(output, expected, other, only_sets);
    check(is_score(jaccard_of(sizes)) && is_score(recall_of(sizes)), "range of word sets");
    check(sizes.output == own_sizes.output && sizes.expected == own_sizes.expected && sizes.overlap == own_sizes.overlap &&
              sizes.alike == own_sizes.alike,
          "word sets alone and with others");

    const double squad = f1.score(pair).f1;
    check(is_score(squad), "range of token F1");
    check(squad == alone(output, expected, other, [](pe::words::Needs& own) { return pe::words::TokenF1(pe::words::Tokenizer::automatic_squad, own); }).f1,
          "token F1 alone and with others");

    const double answer = response.score(pair).score;
    check(is_score(answer), "range of response");
    check(answer == alone(output, expected, other, [&](pe::words::Needs& own) { return pe::words::Response(response_options, own); }).score,
          "response alone and with others");

    const pe::words::BleuResult translated = bleu.score(pair);
    check(is_score(translated.score) && is_score(translated.brevity_penalty), "range of BLEU");
    const auto only_bleu = [&](pe::words::Needs& own) { return pe::words::Bleu(bleu_options, own); };
    const pe::words::BleuResult own_bleu = alone(output, expected, other, only_bleu);
    check(translated.score == own_bleu.score && translated.output_tokens == own_bleu.output_tokens &&
              translated.expected_tokens == own_bleu.expected_tokens,
          "BLEU alone and with others");

    const double gleu_score = gleu.score(pair).score;
    check(is_score(gleu_score), "range of GLEU");
    check(gleu_score == alone(output, expected, other, [&](pe::words::Needs& own) { return pe::words::Gleu(gleu_options, own); }).score,
          "GLEU alone and with others");

    const double spelled = chrf.score(pair).score;
    check(is_score(spelled), "range of chrF");
    check(spelled == alone(output, expected, other, [&](pe::words::Needs& own) { return pe::words::Chrf(chrf_options, own); }).score,
          "chrF alone and with others");
}

// Compilers for ARM make one operation of a product and a sum unless told not to, which changes the last bit of this score.
void check_each_operation_is_rounded(pe::words::Prepared& pair) {
    const pe::words::ChrfOptions options{1, 0, 3, false, false, false};
    const auto make = [&](pe::words::Needs& own) { return pe::words::Chrf(options, own); };
    check(alone(Exact("abcde").view(), Exact("a").view(), pair, make).score == 0x1.6db6db6db6db7p-1, "chrF to the last bit");
}

// The fast way to lowercase gives what character by character gives.
void check_lowercase(Text text) {
    static pe::unicode::PaddedText fast, slow;
    pe::unicode::lower_into(text, fast);
    pe::unicode::lowercase_detail::lower_any(text, slow);
    check(fast.view() == slow.view(), "lowercase");
}
void check_lowercase_of_all() {
    pe::unicode::PaddedText one;
    for (std::uint32_t code = 0; code < 0x110000; ++code) {
        one.clear();
        one.push_code_point(code);
        check_lowercase(one.view());
    }
}

void check_stem() {
    std::string word(1 + below(12), ' ');
    for (char& letter : word) letter = "aeiouyabcdlstz19"[below(16)];
    static const char* const suffixes[] = {"ies", "ing", "eed", "alli", "ization", "logi", "ll", "fulness", "s", "ion"};
    if (below(2) == 0) word += suffixes[below(10)];
    std::unique_ptr<char[]> bytes(new char[word.size()]);
    std::memcpy(bytes.get(), word.data(), word.size());
    const std::size_t length = pe::words::PorterStemmer::stem(bytes.get(), word.size());
    check(length >= 1 && length <= word.size(), "length of a stem");
}

// The tokenizer takes them for one kind.
void check_ideographs() {
    const pe::unicode::CharacterPages& kinds = pe::unicode::CharacterPages::get();
    for (std::uint32_t code = 0x4E00; code < 0xA000; ++code) check(kinds(code) == kinds(0x4E00), "kinds of ideographs");
}

}  // namespace

int main(int count, char** values) {
    const long pairs = count > 1 ? std::atol(values[1]) : 20000;
    random_bits.seed(count > 2 ? std::strtoull(values[2], nullptr, 10) : 1);
    pe::words::Prepared pair, other;
    pe::words::PairedWords words;
    check_lowercase_of_all();
    check_ideographs();
    check_each_operation_is_rounded(pair);
    for (long i = 0; i < pairs; ++i) {
        const std::string text = random_text();
        const Exact output(text), expected(below(10) == 0 ? text : random_text());
        check_texts(output.view(), expected.view(), pair, other);
        check_lowercase(output.view());
        check_stem();
        if (i % 20 == 0) check_sequences(words);
    }
    std::printf("words_test: %ld pairs\n", pairs);
    return 0;
}
