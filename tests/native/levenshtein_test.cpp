// Random pairs against the definition: levenshtein_test [rows] [seed]. Silent success is not enough for a test that is
// random, so it prints what it compared.
#include <limits>
#include <memory>

#include "levenshtein/levenshtein.hpp"
#include "support.hpp"

namespace {

using test::check_equal;
using test::Codes;
using test::ExactBytes;
using test::reference;
using test::Texts;

constexpr std::size_t no_cut = std::numeric_limits<std::size_t>::max();

std::vector<pe::Engine> engines() {
    std::vector<pe::Engine> all{pe::Engine::portable};
    if (pe::best_engine() != pe::Engine::portable) all.push_back(pe::best_engine());
    return all;
}

void check_table(pe::LevenshteinWorkspace& workspace) {
    const std::size_t words = pe::byte_symbols * pe::vector_kernels::symbol_words;
    const std::uint64_t* table = workspace.table.at_least(words);
    for (std::size_t i = 0; i < words; ++i) check_equal("table left dirty", 0, static_cast<std::int64_t>(table[i]));
}

// Chunks of rows of all classes, each text in memory of its own.
std::size_t test_many(Texts& texts, std::size_t rows) {
    std::vector<pe::LevenshteinWorkspace> workspaces;
    for (const pe::Engine engine : engines()) workspaces.emplace_back(engine);
    std::size_t done = 0;
    while (done < rows) {
        const std::size_t count = 1 + texts.below(300);
        const std::size_t most = texts.below(20) == 0 ? 3000 : texts.below(3) == 0 ? 40 : 400;
        const std::size_t cuts[] = {no_cut, no_cut, no_cut, 0, 1, 31, 32, 33, 100, 700};
        const pe::EditOptions options{texts.below(2) == 1, cuts[texts.below(std::size(cuts))]};
        const bool same_right = texts.below(8) == 0;
        std::vector<std::unique_ptr<ExactBytes>> memory;
        std::vector<pe::Text> left, right;
        const auto hold = [&](const Codes& codes, std::vector<pe::Text>& column) {
            const std::string text = test::encode(codes);
            const auto place = static_cast<ExactBytes::Place>(texts.below(8) == 0 ? 1 + texts.below(2) : 0);
            memory.push_back(std::make_unique<ExactBytes>(text.data(), text.size(), place));
            column.emplace_back(memory.back()->data(), text.size());
        };
        for (std::size_t i = 0; i < count; ++i) {
            const auto [a, b] = texts.pair(most);
            hold(a, left);
            if (same_right && i > 0) right.push_back(right[0]);
            else hold(b, right);
        }
        std::vector<pe::EditResult> expected(count), results(count);
        for (std::size_t i = 0; i < count; ++i) {
            Codes a, b;
            pe::decode(left[i], options.fold_case, options.max_chars, a);
            pe::decode(right[i], options.fold_case, options.max_chars, b);
            expected[i] = {static_cast<std::uint32_t>(reference(a, b)), static_cast<std::uint32_t>(a.size()),
                           static_cast<std::uint32_t>(b.size())};
        }
        for (pe::LevenshteinWorkspace& workspace : workspaces) {
            pe::levenshtein_many(left.data(), right.data(), count, options, results.data(), workspace);
            for (std::size_t i = 0; i < count; ++i) {
                check_equal("left_chars", expected[i].left_chars, results[i].left_chars);
                check_equal("right_chars", expected[i].right_chars, results[i].right_chars);
                check_equal("levenshtein_many", expected[i].distance, results[i].distance, results[i].left_chars,
                            results[i].right_chars);
            }
            check_table(workspace);
        }
        done += count;
    }
    return done;
}

// Sequences of any symbols, beyond those of Unicode too, and with weights.
std::size_t test_sequences(Texts& texts, std::size_t rows) {
    std::vector<pe::LevenshteinWorkspace> workspaces;
    for (const pe::Engine engine : engines()) workspaces.emplace_back(engine);
    for (std::size_t done = 0; done < rows; ++done) {
        auto [left, right] = texts.pair(texts.below(10) == 0 ? 1200 : 150);
        const std::uint32_t factor = texts.below(3) == 0 ? 2654435761u : 1;
        for (std::uint32_t& code : left) code *= factor;
        for (std::uint32_t& code : right) code *= factor;
        const auto small = [&] { return static_cast<std::int64_t>(texts.below(6)); };
        const std::int64_t insert = small(), remove = small();
        const std::int64_t substitutes[] = {small(), (insert + remove) / 2, insert + remove, insert + remove + small()};
        const std::int64_t substitute = substitutes[texts.below(4)];
        const std::int64_t distance = reference(left, right);
        const std::int64_t cost = reference(left, right, insert, remove, substitute);
        ExactBytes exact_left(left.data(), left.size() * 4), exact_right(right.data(), right.size() * 4);
        const auto* a = reinterpret_cast<const std::uint32_t*>(exact_left.data());
        const auto* b = reinterpret_cast<const std::uint32_t*>(exact_right.data());
        for (pe::LevenshteinWorkspace& workspace : workspaces) {
            check_equal("levenshtein_sequence", distance,
                        pe::levenshtein_sequence(a, left.size(), b, right.size(), workspace), left.size(), right.size());
            check_equal("levenshtein_weighted", cost,
                        pe::levenshtein_weighted(a, left.size(), b, right.size(), insert, remove, substitute, workspace),
                        left.size(), right.size());
        }
    }
    return rows;
}

void test_large_weights() {
    pe::LevenshteinWorkspace workspace;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Codes left{1, 2, 3}, right{1, 4, 5, 6};
    const auto cost = [&](std::int64_t insert, std::int64_t remove, std::int64_t substitute) {
        return pe::levenshtein_weighted(left.data(), left.size(), right.data(), right.size(), insert, remove, substitute,
                                        workspace);
    };
    check_equal("saturated", most, cost(most, most, most));
    check_equal("saturated", most, cost(most / 2, most / 2, most / 2));
    check_equal("large but exact", most / 4 * 3, cost(most / 4, most / 4, most / 4));
    check_equal("free substitutions", most, cost(most, most, 0));
    check_equal("free insertions", 2 * (most / 8), cost(0, most / 8, most));
    check_equal("all free", 0, cost(0, 0, 0));
}

// Numbers run out after four billion symbols, and start again.
void test_numbering() {
    for (const std::uint32_t factor : {1u, 2654435761u}) {
        pe::SymbolNumbering numbering(std::numeric_limits<std::uint32_t>::max() - 7);
        for (int round = 0; round < 5; ++round) {
            const Codes first{5 * factor, 6 * factor, 5 * factor, 7 * factor}, second{7 * factor, 9 * factor, 5 * factor};
            Codes first_numbers(4), second_numbers(3);
            const std::uint32_t largest = numbering.number(first.data(), first.size(), second.data(), second.size(),
                                                           first_numbers.data(), second_numbers.data());
            check_equal("largest number", 3, largest);
            check_equal("numbers", 1, first_numbers == Codes{1, 2, 1, 3});
            check_equal("numbers", 1, second_numbers == Codes{3, 0, 1});
        }
    }
}

template <typename Symbol>
class Margined {
public:
    explicit Margined(const std::vector<Symbol>& symbols)
        : size_(symbols.size()), memory_(padded(symbols).data(), (size_ + 2 * pe::vector_kernels::margin) * sizeof(Symbol)) {}
    pe::Sequence<Symbol> get() { return {reinterpret_cast<Symbol*>(memory_.data()) + pe::vector_kernels::margin, size_}; }

private:
    static std::vector<Symbol> padded(const std::vector<Symbol>& symbols) {
        std::vector<Symbol> all(symbols.size() + 2 * pe::vector_kernels::margin, Symbol{1});
        for (std::size_t i = 0; i < symbols.size(); ++i) all[pe::vector_kernels::margin + i] = symbols[i];
        return all;
    }
    std::size_t size_;
    ExactBytes memory_;
};

// The band and the long kernel on their own, in memory that fits exactly.
template <typename Symbol>
std::size_t test_long_kernels(Texts& texts, std::size_t rows) {
    if constexpr (pe::has_vector_kernels) {
        if (pe::best_engine() != pe::Engine::avx2) return 0;
        constexpr std::size_t symbols = 40;
        const std::size_t table_bytes = symbols * pe::vector_kernels::symbol_words * sizeof(std::uint64_t);
        std::size_t proven = 0;
        for (std::size_t done = 0; done < rows; ++done) {
            Codes letters(1 + texts.below(symbols - 1));
            for (std::size_t i = 0; i < letters.size(); ++i) letters[i] = static_cast<std::uint32_t>(i);
            Codes a = texts.fresh(letters, 1 + texts.length(1900));
            Codes b = texts.below(3) == 0 ? texts.fresh(letters, 1 + texts.length(1900))
                                          : texts.edited(a, letters, texts.below(1 + a.size() / 4));
            if (a.size() < b.size()) a.swap(b);
            if (b.empty()) continue;
            const std::vector<Symbol> left(a.begin(), a.end()), right(b.begin(), b.end());
            const std::int64_t expected = reference(left, right);
            constexpr Symbol unused = symbols - 1;
            for (std::size_t words = 1; words <= 8; words *= 2) {
                if (left.size() - right.size() >= 64 * words) continue;
                Margined<Symbol> pattern(left), text(right);
                const auto outcome = pe::vector_kernels::band_distance(pattern.get(), text.get(), unused, words);
                if (outcome.exact) check_equal("band_distance", expected, outcome.distance, left.size(), right.size());
                proven += outcome.exact;
            }
            for (const bool swap : {false, true}) {
                Margined<Symbol> pattern(swap ? right : left), text(swap ? left : right);
                const std::unique_ptr<void, decltype(&std::free)> table(std::aligned_alloc(32, table_bytes), &std::free);
                std::memset(table.get(), 0, table_bytes);
                const std::size_t columns = text.get().size + pe::vector_kernels::column_slack;
                std::vector<std::uint64_t> carries(columns);
                std::vector<std::uint32_t> offsets(columns);
                const std::uint32_t found =
                    pe::vector_kernels::long_distance(pattern.get(), text.get(), unused,
                                                      {static_cast<std::uint64_t*>(table.get()), offsets.data(), carries.data()});
                check_equal("long_distance", expected, found, left.size(), right.size());
            }
        }
        check_equal("bands prove a good part of the distances", 1, proven >= rows / 10);
        return rows;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    Texts texts(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    test_large_weights();
    test_numbering();
    const std::size_t many = test_many(texts, rows);
    const std::size_t sequences = test_sequences(texts, rows / 10);
    const std::size_t bytes = test_long_kernels<std::uint8_t>(texts, rows / 100);
    const std::size_t wide = test_long_kernels<std::uint32_t>(texts, rows / 100);
    std::printf("levenshtein: %zu rows, %zu sequences, vector kernels: %zu pairs of bytes, %zu of wide symbols\n", many,
                sequences, bytes, wide);
    return 0;
}
