// Random pairs against the definition: levenshtein_test [rows] [seed]. Silent success is not enough for a test that is
// random, so it prints what it compared.
#include <limits>
#include <memory>

#include "edit/levenshtein/levenshtein.hpp"
#include "support.hpp"

namespace {

using test::check_equal;
using test::Codes;
using test::ExactBytes;
using test::reference;
using test::Texts;

constexpr std::size_t no_cut = std::numeric_limits<std::size_t>::max();

// The kernels of every target that this machine can run.
std::vector<pe::edit::LevenshteinWorkspace> make_workspaces() {
    std::vector<pe::edit::LevenshteinWorkspace> workspaces;
    for (const pe::edit::Target target : pe::edit::available_targets()) workspaces.emplace_back(target);
    return workspaces;
}

void check_table(pe::edit::LevenshteinWorkspace& workspace) {
    const std::size_t words = pe::edit::byte_symbols * pe::edit::vector_kernels::symbol_words;
    const std::uint64_t* table = workspace.table.at_least(words);
    for (std::size_t i = 0; i < words; ++i) check_equal("table left dirty", 0, static_cast<std::int64_t>(table[i]));
}

template <class Measure>
void check_many(const char* what, const std::vector<pe::Text>& left, const std::vector<pe::Text>& right,
                const pe::edit::EditOptions& options, const std::vector<pe::edit::EditResult>& expected,
                pe::edit::LevenshteinWorkspace& workspace) {
    std::vector<pe::edit::EditResult> found(expected.size());
    pe::edit::measure_many<Measure>(left.data(), right.data(), left.size(), options, found.data(), workspace);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto [distance, left_chars, right_chars] = expected[i];
        check_equal("left_chars", left_chars, found[i].left_chars);
        check_equal("right_chars", right_chars, found[i].right_chars);
        check_equal(what, distance, found[i].distance, left_chars, right_chars);
    }
    check_table(workspace);
}

// Chunks of rows of all classes, each text in memory of its own.
std::size_t test_many(Texts& texts, std::size_t rows) {
    std::vector<pe::edit::LevenshteinWorkspace> workspaces = make_workspaces();
    std::size_t done = 0;
    while (done < rows) {
        const std::size_t count = 1 + texts.below(300);
        const std::size_t most = texts.below(20) == 0 ? 3000 : texts.below(3) == 0 ? 40 : 400;
        const std::size_t cuts[] = {no_cut, no_cut, no_cut, 0, 1, 31, 32, 33, 100, 700};
        const pe::edit::EditOptions options{texts.below(2) == 1, cuts[texts.below(std::size(cuts))]};
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
        std::vector<pe::edit::EditResult> levenshtein(count), osa(count), indel(count);
        for (std::size_t i = 0; i < count; ++i) {
            Codes a, b;
            pe::unicode::decode(left[i], options.fold_case, options.max_chars, a);
            pe::unicode::decode(right[i], options.fold_case, options.max_chars, b);
            const auto result = [&](std::int64_t distance) {
                return pe::edit::EditResult{static_cast<std::uint32_t>(distance), static_cast<std::uint32_t>(a.size()),
                                      static_cast<std::uint32_t>(b.size())};
            };
            levenshtein[i] = result(reference(a, b));
            osa[i] = result(test::reference_osa(a, b));
            indel[i] = result(reference(a, b, 1, 1, 2));
        }
        for (pe::edit::LevenshteinWorkspace& workspace : workspaces) {
            check_many<pe::edit::LevenshteinMeasure>("levenshtein", left, right, options, levenshtein, workspace);
            check_many<pe::edit::OsaMeasure>("osa", left, right, options, osa, workspace);
            check_many<pe::edit::IndelMeasure>("indel", left, right, options, indel, workspace);
        }
        done += count;
    }
    return done;
}

// Sequences of any symbols, beyond those of Unicode too, and with weights.
std::size_t test_sequences(Texts& texts, std::size_t rows) {
    std::vector<pe::edit::LevenshteinWorkspace> workspaces = make_workspaces();
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
        for (pe::edit::LevenshteinWorkspace& workspace : workspaces) {
            check_equal("levenshtein_sequence", distance,
                        pe::edit::levenshtein_sequence(a, left.size(), b, right.size(), workspace), left.size(), right.size());
            check_equal("levenshtein_weighted", cost,
                        pe::edit::levenshtein_weighted(a, left.size(), b, right.size(), {insert, remove, substitute}, workspace),
                        left.size(), right.size());
        }
    }
    return rows;
}

void test_large_weights() {
    pe::edit::LevenshteinWorkspace workspace;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Codes left{1, 2, 3}, right{1, 4, 5, 6};
    const auto cost = [&](std::int64_t insert, std::int64_t remove, std::int64_t substitute) {
        return pe::edit::levenshtein_weighted(left.data(), left.size(), right.data(), right.size(), {insert, remove, substitute},
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
        pe::edit::SymbolNumbering numbering(std::numeric_limits<std::uint32_t>::max() - 7);
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
        : size_(symbols.size()), memory_(padded(symbols).data(), (size_ + 2 * pe::edit::vector_kernels::margin) * sizeof(Symbol)) {}
    pe::edit::Sequence<Symbol> get() { return {reinterpret_cast<Symbol*>(memory_.data()) + pe::edit::vector_kernels::margin, size_}; }

private:
    static std::vector<Symbol> padded(const std::vector<Symbol>& symbols) {
        std::vector<Symbol> all(symbols.size() + 2 * pe::edit::vector_kernels::margin, Symbol{1});
        for (std::size_t i = 0; i < symbols.size(); ++i) all[pe::edit::vector_kernels::margin + i] = symbols[i];
        return all;
    }
    std::size_t size_;
    ExactBytes memory_;
};

// The long kernel of one recurrence, with scratch memory that fits exactly.
template <typename Symbol>
std::uint32_t run_long(const pe::edit::vector_kernels::BlockKernels& kernels, std::size_t most_carries, std::size_t symbols,
                       const std::vector<Symbol>& rows, const std::vector<Symbol>& columns) {
    Margined<Symbol> pattern(rows), text(columns);
    const std::size_t steps = columns.size() + pe::edit::vector_kernels::column_slack;
    std::vector<std::uint64_t> table(symbols * pe::edit::vector_kernels::symbol_words), carries(steps * most_carries);
    std::vector<std::uint32_t> offsets(steps);
    const pe::edit::vector_kernels::BlockScratch scratch{table.data(), offsets.data(), carries.data(), pe::is_stopped};
    const auto unused = static_cast<Symbol>(symbols - 1);
    if constexpr (sizeof(Symbol) == 1) return kernels.long_bytes(pattern.get(), text.get(), unused, scratch);
    else return kernels.long_numbers(pattern.get(), text.get(), unused, scratch);
}

// The band and the long kernels on their own, in memory that fits exactly.
template <typename Symbol>
std::size_t test_long_kernels(Texts& texts, const pe::edit::vector_kernels::Kernels& kernels, std::size_t rows) {
    constexpr std::size_t symbols = 40;
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
        const std::int64_t levenshtein = reference(left, right);
        for (std::size_t words = 1; words <= 8; words *= 2) {
            if (left.size() - right.size() >= 64 * words) continue;
            Margined<Symbol> pattern(left), text(right);
            pe::edit::vector_kernels::BandOutcome outcome;
            if constexpr (sizeof(Symbol) == 1) outcome = kernels.band_bytes(pattern.get(), text.get(), symbols - 1, words);
            else outcome = kernels.band_numbers(pattern.get(), text.get(), symbols - 1, words);
            if (outcome.exact) check_equal("band", levenshtein, outcome.distance, left.size(), right.size());
            proven += outcome.exact;
        }
        const std::int64_t osa = test::reference_osa(left, right), lcs = test::reference_lcs(left, right);
        for (const auto& [pattern, text] : {std::pair(left, right), std::pair(right, left)}) {
            const auto check = [&, &pattern = pattern, &text = text](const char* what, const auto& recurrence,
                                                                     std::size_t carries, std::int64_t expected) {
                check_equal(what, expected, run_long(recurrence, carries, symbols, pattern, text), pattern.size(), text.size());
            };
            check("long levenshtein", kernels.levenshtein, 2, levenshtein);
            check("long osa", kernels.osa, 3, osa);
            check("long lcs", kernels.lcs, 1, lcs);
        }
    }
    check_equal("bands prove a good part of the distances", 1, proven >= rows / 10);
    return rows;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    Texts texts(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    test_large_weights();
    test_numbering();
    const std::size_t many = test_many(texts, rows);
    const std::size_t sequences = test_sequences(texts, rows / 10);
    std::printf("levenshtein, osa, indel: %zu rows, %zu sequences; portable", many, sequences);
    for (const pe::edit::Target& target : pe::edit::available_targets()) {
        if (target.kernels == nullptr) continue;
        const std::size_t bytes = test_long_kernels<std::uint8_t>(texts, *target.kernels, rows / 100);
        const std::size_t wide = test_long_kernels<std::uint32_t>(texts, *target.kernels, rows / 100);
        std::printf(", %s alone: %zu pairs of bytes, %zu of numbers", target.name, bytes, wide);
    }
    std::printf("\n");
    return 0;
}
