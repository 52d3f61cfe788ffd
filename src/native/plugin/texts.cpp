// Metrics that compare two texts by themselves: equality, substrings, lengths, n-grams, characters, JSON, choices, numbers.
#include <cmath>
#include <functional>

#include "../core/batches.hpp"
#include "../clean/choice.hpp"
#include "../clean/extract.hpp"
#include "../edit/alignment.hpp"
#include "../edit/levenshtein/levenshtein.hpp"
#include "../json/document.hpp"
#include "../words/ngram_cosine.hpp"
#include "function.hpp"
#include "scores.hpp"

namespace pe::plugin {
namespace {

// A text made comparable. The one before is remembered: an expected text often stands in many rows.
class Prepared {
public:
    Text operator()(Text text, bool trims, bool joins_white, bool folds) {
        if (trims) text = unicode::strip(text, unicode::is_white);
        if (!joins_white && !folds) return text;
        if (text.data() == last_.data() && text.size() == last_.size()) return made_;
        last_ = made_ = text;
        if (joins_white) {
            join_white(text);
            made_ = joined_.view();
        }
        if (folds) {
            unicode::lower_into(made_, folded_);
            made_ = folded_.view();
        }
        return made_;
    }

private:
    void join_white(Text text) {
        joined_.clear();
        const char* const end = text.data() + text.size();
        bool was_white = false;
        for (const char* at = text.data(); at < end;) {
            const char* const start = at;
            const bool white = unicode::is_white(unicode::next(at, end));
            if (!white) joined_.append(start, static_cast<std::size_t>(at - start));
            else if (!was_white) joined_.push(' ');
            was_white = white;
        }
    }
    Text last_{nullptr, 0}, made_;
    unicode::PaddedText joined_, folded_;
};

enum class Comparison { equal, contains, starts, ends };

class TextComparison : public TextMetric {
public:
    explicit TextComparison(const Value& options)
        : TextMetric(options, {}),
          comparison_(options["metric"].choose<Comparison>({{"exact_match", Comparison::equal},
                                                            {"contains", Comparison::contains},
                                                            {"starts_with", Comparison::starts},
                                                            {"ends_with", Comparison::ends}})),
          folds_(!options["case_sensitive"].flag()),
          trims_(options.is_set("trim")),
          joins_white_(options.is_set("normalize_whitespace")),
          negates_(options.is_set("negate")) {
        if (comparison_ == Comparison::equal || comparison_ == Comparison::contains) accepts = Accepts::numbers;
        // "Not any" holds when the negated score of every value is 1.0, "not all" when that of one is.
        if (comparison_ == Comparison::contains) summary.worst = (options["mode"].text() == "any") == negates_;
    }

protected:
    struct Scratch {
        Prepared output, expected;
    };
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        double* score = result.add_floats("score");
        const bool trims_expected = trims_ || comparison_ == Comparison::contains;
        for_each_row<Scratch>(output, expected, thread_count(), result,
                              [&](std::size_t row, Text left, Text right, Scratch& scratch) {
                                  right = scratch.expected(right, trims_expected, joins_white_, folds_);
                                  left = scratch.output(left, trims_, joins_white_, folds_);
                                  score[row] = matches(left, right) != negates_;
                              });
    }

private:
    bool matches(Text left, Text right) const {
        switch (comparison_) {
            case Comparison::equal: return left == right;
            case Comparison::contains: return left.find(right) != Text::npos;
            case Comparison::starts: return left.substr(0, right.size()) == right;
            default: return left.size() >= right.size() && left.substr(left.size() - right.size()) == right;
        }
    }
    Comparison comparison_;
    bool folds_, trims_, joins_white_, negates_;
};

std::size_t count_characters(Text text) {
    std::size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

std::size_t count_words(Text text) {
    std::size_t count = 0;
    bool was_space = true;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        const bool space = unicode::is_space(unicode::next(at, end));
        count += was_space && !space;
        was_space = space;
    }
    return count;
}

struct Nothing {};

// Calls `read(row, output, expected)` for the rows that have one of both texts, for what is told of it all the same; the
// other is null.
template <class Read>
void for_each_half(const TextColumn& output, const TextColumn& expected, const Result& result, const Read& read) {
    TextColumn::Cursor left(output, 0), right(expected, 0);
    for (std::size_t row = 0; row < result.size(); ++row, left.next(), right.next()) {
        if (result.is_valid(row)) continue;
        const Text a = left.text_or_none(), b = right.text_or_none();
        read(row, left.is_valid() ? &a : nullptr, right.is_valid() ? &b : nullptr);
    }
}

class LengthBetween : public TextMetric {
public:
    explicit LengthBetween(const Value& options)
        : TextMetric(options, {{"length", Type::whole}}),
          least_(options["minimum"].is_null() ? 0 : options["minimum"].count()),
          most_(options["maximum"].is_null() ? std::numeric_limits<std::size_t>::max() : options["maximum"].count()),
          counts_words_(options["unit"].text() == "words") {
        summary.alone = true;
    }

protected:
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        double* score = result.add_floats("score");
        std::int64_t* length = result.add_integers("length");
        for_each_row<Nothing>(output, expected, thread_count(), result, [&](std::size_t row, Text text, Text, Nothing&) {
            const std::size_t size = counts_words_ ? count_words(text) : count_characters(text);
            score[row] = size >= least_ && size <= most_;
            length[row] = static_cast<std::int64_t>(size);
        });
    }

private:
    std::size_t least_, most_;
    bool counts_words_;
};

class NgramSimilarity : public TextMetric {
public:
    explicit NgramSimilarity(const Value& options)
        : TextMetric(options, {}),
          options_{options["unit"].text() == "words", !options["case_sensitive"].flag(), options["n"].count(),
                   named_tokenizer(options["tokenizer"], words::Tokenizer::automatic_whitespace)} {}

protected:
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        double* score = result.add_floats("score");
        using words::NgramCosine;
        for_each_row<Kept<NgramCosine>>(
            output, expected, thread_count(), result,
            [&](std::size_t row, Text left, Text right, NgramCosine& cosine) { score[row] = cosine(left, right, options_); });
    }

private:
    words::NgramOptions options_;
};

class CharacterErrors : public TextMetric {
public:
    explicit CharacterErrors(const Value& options)
        : TextMetric(options, {{"substitutions", Type::whole},
                               {"insertions", Type::whole},
                               {"deletions", Type::whole},
                               {"length", Type::whole}}),
          folds_(!options["case_sensitive"].flag()) {}

protected:
    struct Scratch {
        edit::LevenshteinWorkspace kernel;
        std::vector<Text> left, right;
        std::vector<edit::EditResult> results;
        std::vector<std::uint32_t> from, to;
    };
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
        double* score = result.add_floats("score");
        std::int64_t* length = result.add_integers("length");
        std::int64_t* kinds[3] = {};
        const char* const names[] = {"substitutions", "insertions", "deletions"};
        for (int i = 0; i < 3 && common.details; ++i) kinds[i] = result.add_integers(names[i]);
        for_each_batch<Kept<Scratch>>(output, expected, thread_count(), result, [&](const Batch& batch, Scratch& scratch) {
            scratch.left.clear();
            scratch.right.clear();
            for (std::size_t i = 0; i < batch.size(); ++i) {
                scratch.left.push_back(unicode::strip(batch.left[i], unicode::is_white));
                scratch.right.push_back(unicode::strip(batch.right[i], unicode::is_white));
            }
            scratch.results.resize(batch.size());
            edit::levenshtein_many(scratch.left.data(), scratch.right.data(), batch.size(), {folds_, unlimited},
                                   scratch.results.data(), scratch.kernel);
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const std::size_t row = batch.rows[i];
                score[row] = edit::score_of_errors(scratch.results[i].distance, scratch.results[i].right_chars);
                length[row] = scratch.results[i].right_chars;
                if (!common.details) continue;
                unicode::decode(scratch.right[i], folds_, unlimited, scratch.from);
                unicode::decode(scratch.left[i], folds_, unlimited, scratch.to);
                const edit::EditCounts counts =
                    edit::count_edits(scratch.from.data(), scratch.from.size(), scratch.to.data(), scratch.to.size());
                kinds[0][row] = static_cast<std::int64_t>(counts.substitutions);
                kinds[1][row] = static_cast<std::int64_t>(counts.insertions);
                kinds[2][row] = static_cast<std::int64_t>(counts.deletions);
            }
        });
    }

private:
    bool folds_;
};

class JsonMatch : public TextMetric {
public:
    explicit JsonMatch(const Value& options)
        : TextMetric(options, {{"output_valid", Type::flag}, {"expected_valid", Type::flag}}),
          subset_(options["subset"].flag()) {
        accepts = Accepts::objects;
    }

protected:
    struct Scratch {
        json::JsonDocument left, right;
        json::JsonEquality equal;
    };
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        double* score = result.add_floats("score");
        std::int64_t* left_valid = result.add_integers("output_valid", Result::Kind::flag);
        std::int64_t* right_valid = result.add_integers("expected_valid", Result::Kind::flag);
        for_each_row<Scratch>(
            output, expected, thread_count(), result, [&](std::size_t row, Text left, Text right, Scratch& scratch) {
                left_valid[row] = scratch.left.read(left);
                right_valid[row] = scratch.right.read(right);
                score[row] = left_valid[row] && right_valid[row] && scratch.equal(scratch.left, scratch.right, subset_);
            });
    }

private:
    bool subset_;
};

class Choice : public TextMetric {
public:
    explicit Choice(const Value& options)
        : TextMetric(options, {{"output_choice", Type::text}, {"expected_choice", Type::text}}),
          choices_(options["choices"].texts()) {
        accepts = Accepts::numbers;
    }

protected:
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        double* score = result.add_floats("score");
        std::int64_t* left = result.add_choices("output_choice", choices_);
        std::int64_t* right = result.add_choices("expected_choice", choices_);
        using Extract = std::unique_ptr<clean::ExtractChoice>;
        for_each_row<Extract>(output, expected, thread_count(), result, [&](std::size_t row, Text a, Text b, Extract& extract) {
            if (!extract) extract = std::make_unique<clean::ExtractChoice>(choices_);
            left[row] = find(*extract, a);
            right[row] = find(*extract, b);
            score[row] = left[row] == right[row] && right[row] != Result::no_whole;
        });
        if (!common.details) return;
        clean::ExtractChoice extract(choices_);
        for_each_half(output, expected, result, [&](std::size_t row, const Text* a, const Text* b) {
            if (a) left[row] = find(extract, *a);
            if (b) right[row] = find(extract, *b);
        });
    }

private:
    std::int64_t find(clean::ExtractChoice& extract, Text text) const {
        const clean::Found found = extract(text);
        for (std::size_t i = 0; found.found && i < choices_.size(); ++i)
            if (found.text == choices_[i]) return static_cast<std::int64_t>(i);
        return Result::no_whole;
    }
    std::vector<std::string> choices_;
};

class NumericMatch : public TextMetric {
public:
    explicit NumericMatch(const Value& options)
        : TextMetric(options, {{"output_number", Type::real}, {"expected_number", Type::real}}),
          abs_tol_(options["abs_tol"].real()),
          rel_tol_(options["rel_tol"].real()) {
        accepts = Accepts::numbers;
    }

protected:
    struct Side {
        clean::LastNumber last;
        bool is_whole = false;
        std::string whole;
        double number = 0;  // NaN where there is none
        void read(Text text) {
            number = std::numeric_limits<double>::quiet_NaN();
            is_whole = false;
            if (!last.read(text)) return;
            const double read = parse_real(last.decimal());
            if (std::isfinite(read)) number = read;
            is_whole = last.is_whole();
            if (is_whole) whole = last.whole();
        }
    };
    struct Scratch {
        Side output, expected;
    };
    void score(const TextColumn& output, const TextColumn& expected, bool, Result& result) const override {
        double* score = result.add_floats("score");
        double* left = result.add_floats("output_number");
        double* right = result.add_floats("expected_number");
        for_each_row<Scratch>(output, expected, thread_count(), result, [&](std::size_t row, Text a, Text b, Scratch& scratch) {
            scratch.output.read(a);
            scratch.expected.read(b);
            left[row] = scratch.output.number;
            right[row] = scratch.expected.number;
            score[row] = matches(scratch.output, scratch.expected);
        });
        if (!common.details) return;
        Side side;
        for_each_half(output, expected, result, [&](std::size_t row, const Text* a, const Text* b) {
            side.read(a ? *a : b ? *b : Text());
            (a ? left : right)[row] = side.number;
        });
    }

private:
    bool matches(const Side& a, const Side& b) const {
        const bool are_whole = a.is_whole && b.is_whole, is_same = are_whole && a.whole == b.whole;
        // Whole numbers are compared exactly, however long, where there is no tolerance.
        if (are_whole && abs_tol_ == 0 && rel_tol_ == 0) return is_same;
        const double allowed = std::max(rel_tol_ * std::max(std::fabs(a.number), std::fabs(b.number)), abs_tol_);
        return is_same || std::fabs(a.number - b.number) <= allowed;
    }
    double abs_tol_, rel_tol_;
};

// Scores that somebody else computed for the pairs: Polars' regular expressions, or Python. The third column has them.
class Given : public Function {
public:
    explicit Given(const Value& options)
        : common_(options),
          metric_(options["metric"].text()),
          expected_(options["expected"].text()),
          negates_(options.is_set("negate")) {
        summary_.worst = negates_ || (options.is_set("worst"));
        summary_.alone = options.is_set("alone");
        if (options.has("places")) details_.push_back({"place", Type::whole});
    }
    Field type(const Dtypes& columns) const override {
        if (summary_.alone) check_texts(metric_, "output", *columns[0]);
        else check_sides(metric_, expected_.c_str(), columns);
        return {"", Type::structure, result_fields(common_, details_)};
    }
    Column run(const std::vector<Input>& columns) const override {
        const Pairs pairs = read_pairs(columns, summary_.alone, false);
        Result result(pairs.count());
        double* score = result.add_floats("score");
        std::int64_t* place = result.add_integers("place");
        std::size_t at = 0;
        const Input& given = columns[summary_.alone ? 1 : 2];
        const auto read = [&](const ArrowArray& values, Dtype dtype, std::size_t begin, std::size_t end) {
            for (std::size_t row = begin; row < end; ++row)
                set(result, score, at++, values, static_cast<std::size_t>(values.offset) + row, dtype);
        };
        if (is_list(given.dtype())) {
            // What `paired` listed, row by row: a score for each pair of both texts, unless one is no pattern.
            std::vector<Bounds> rows;
            read_lists(given, rows, [&](const ArrowArray& values, std::size_t begin, std::size_t end) {
                read(values, inner(given.dtype()), begin, end);
            });
            if (at != result.size()) throw std::invalid_argument("not a result for each pair");
            check_patterns(pairs, result);
        } else
            for (std::size_t i = 0; i < given.chunks(); ++i)
                read(given.chunk(i), given.dtype(), 0, static_cast<std::size_t>(given.chunk(i).length));
        if (at == 1 && !is_list(given.dtype()))
            for (; at < result.size(); ++at)
                set(result, score, at, given.chunk(0), static_cast<std::size_t>(given.chunk(0).offset), given.dtype());
        for (std::size_t i = 0; i < result.size(); ++i) place[i] = static_cast<std::int64_t>(i);
        return make_result(pairs, result, common_, details_, summary_);
    }

private:
    void check_patterns(const Pairs& pairs, const Result& result) const {
        TextColumn::Cursor output(pairs.output, 0), pattern(pairs.expected, 0);
        for (std::size_t i = 0; i < result.size(); ++i, output.next(), pattern.next()) {
            if (result.is_valid(i) || !output.is_valid() || !pattern.is_valid()) continue;
            throw Refused(metric_ + ": a row of `" + expected_ +
                          "` is not a valid pattern: " + std::string(pattern.text().substr(0, 100)));
        }
    }
    void set(Result& result, double* score, std::size_t pair, const ArrowArray& chunk, std::size_t at, Dtype dtype) const {
        if (pair >= result.size()) return;
        score[pair] = 0;
        if (is_null(dtype) || !is_set(chunk.buffers[0], at)) return result.set_no_score(pair);
        if (format_of(dtype) == "b") score[pair] = is_set(chunk.buffers[1], at) != negates_;
        else score[pair] = static_cast<const double*>(chunk.buffers[1])[at];
    }
    Common common_;
    std::string metric_, expected_;
    bool negates_;
    Summary summary_;
    std::vector<Field> details_;
};

// The pairs of texts that a metric of somebody else's is to compare, one after the other.
class PairTexts : public Function {
public:
    explicit PairTexts(const Value& options) : is_alone_(options["alone"].flag()) {}
    Field type(const Dtypes&) const override {
        return {"", Type::structure, {{"output", Type::text}, {"expected", Type::text}}};
    }
    Column run(const std::vector<Input>& columns) const override {
        const Pairs pairs = read_pairs(columns, is_alone_, false);
        Column column;
        column.rows = pairs.count();
        column.add_no_validity();
        for (const TextColumn* side : {&pairs.output, &pairs.expected}) {
            TextColumn::Cursor at(*side, 0);
            column.children.push_back(make_texts(column.rows, [&](std::size_t) {
                const Text text = at.text_or_none();
                at.next();
                return text;
            }));
        }
        return column;
    }

private:
    bool is_alone_;
};

// The same as a list for each row, so that the expression stays one of rows.
class PairedTexts : public Function {
public:
    explicit PairedTexts(const Value& options)
        : metric_(options["metric"].text()), expected_(options["expected"].text()), pairs_(options) {}
    Field type(const Dtypes& columns) const override {
        check_sides(metric_, expected_.c_str(), columns);
        return {"", Type::structures, pairs_.type(columns).fields};
    }
    Column run(const std::vector<Input>& columns) const override {
        const Pairs pairs = read_pairs(columns, false, false);
        Column column;
        column.rows = pairs.rows;
        column.add_no_validity();
        std::vector<std::int64_t> starts;
        for (std::size_t row = 0; row <= pairs.rows; ++row)
            starts.push_back(static_cast<std::int64_t>(pairs.form == Form::single ? row : pairs.starts[row]));
        column.add_buffer(std::move(starts));
        column.children.push_back(pairs_.run(columns));
        return column;
    }

private:
    std::string metric_, expected_;
    PairTexts pairs_;
};

}  // namespace

std::unique_ptr<Function> make_comparison(const Value& options) { return std::make_unique<TextComparison>(options); }
std::unique_ptr<Function> make_length_between(const Value& options) { return std::make_unique<LengthBetween>(options); }
std::unique_ptr<Function> make_similarity(const Value& options) { return std::make_unique<NgramSimilarity>(options); }
std::unique_ptr<Function> make_cer(const Value& options) { return std::make_unique<CharacterErrors>(options); }
std::unique_ptr<Function> make_json_match(const Value& options) { return std::make_unique<JsonMatch>(options); }
std::unique_ptr<Function> make_choice(const Value& options) { return std::make_unique<Choice>(options); }
std::unique_ptr<Function> make_numeric_match(const Value& options) { return std::make_unique<NumericMatch>(options); }
std::unique_ptr<Function> make_given(const Value& options) { return std::make_unique<Given>(options); }
std::unique_ptr<Function> make_pairs(const Value& options) { return std::make_unique<PairTexts>(options); }
std::unique_ptr<Function> make_paired(const Value& options) { return std::make_unique<PairedTexts>(options); }

}  // namespace pe::plugin
