// Metrics over lists: distances of tokens, cosines of vectors, ranked ids.
#include <atomic>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "../core/batches.hpp"
#include "../edit/levenshtein/levenshtein.hpp"
#include "vectors.hpp"
#include "function.hpp"
#include "scores.hpp"

namespace pe::plugin {
namespace {

// ---- tokens ----

// Refuses lists whose elements cannot be compared with each other.
void check_tokens(const std::string& metric, Dtype left, Dtype right) {
    const ArrowSchema* const sides[] = {&left, &right};
    const char* const names[] = {"output", "expected"};
    const ArrowSchema* kinds[2];
    for (int i = 0; i < 2; ++i) {
        kinds[i] = is_list(*sides[i]) ? &inner(*sides[i]) : sides[i];
        const Text format = format_of(*kinds[i]);
        if (format[0] == '+' || format == "vz" || format == "z" || format == "Z")
            throw Refused(metric + ": `" + names[i] + "` must be a list of texts or numbers, got " + name_of(*sides[i]));
    }
    const bool is_any = is_null(*kinds[0]) || is_null(*kinds[1]);
    if (is_any || (is_text(*kinds[0]) && is_text(*kinds[1])) || (is_numeric(*kinds[0]) && is_numeric(*kinds[1]))) return;
    if (format_of(*kinds[0]) == format_of(*kinds[1]) && !kinds[0]->dictionary && !kinds[1]->dictionary) return;
    throw Refused(metric + ": cannot compare " + name_of(left) + " with " + name_of(right) + "; cast one to the other");
}

// Whether numbers are compared as floats.
bool are_floats(Dtype left, Dtype right) {
    const ArrowSchema &a = is_list(left) ? inner(left) : left, &b = is_list(right) ? inner(right) : right;
    const auto is_number = [](Dtype dtype) { return is_numeric(dtype) || is_null(dtype); };
    return (is_float(a) && is_number(b)) || (is_float(b) && is_number(a));
}

// Tokens as texts, which are equal where the tokens are.
class TokenReader {
public:
    TokenReader(TextLists& lists, Dtype dtype, bool as_floats)
        : lists_(lists), dtype_(dtype), scale_(scale_of(dtype)), as_floats_(as_floats) {
        // Dates, times and durations are whole numbers.
        const Text format = dtype.format;
        if (format[0] == 't') dtype_.format = format == "tdD" || format == "tts" || format == "ttm" ? "i" : "l";
    }

    void append(const ArrowArray& array, std::size_t begin, std::size_t end) {
        if (is_text(dtype_) || is_null(dtype_)) return append_texts(array, dtype_, begin, end, lists_.values, none_);
        // Views into the bytes are made when all of them are there.
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t before = lists_.bytes.size();
            if (is_set(array.buffers[0], static_cast<std::size_t>(array.offset) + i)) write(array, i, lists_.bytes);
            lists_.values.emplace_back(nullptr, lists_.bytes.size() - before);
        }
    }

private:
    void write(const ArrowArray& array, std::size_t i, std::string& out) const {
        if (as_floats_) return append_real(number_at(array, i) + 0.0, out);  // -0.0 is the same number as 0.0
        append_scalar(array, dtype_, i, out);
        if (scale_ == 0) return;
        // One spelling: no zeros behind the last decimal.
        out.resize(out.find_last_not_of('0') + 1);
        if (out.back() == '.') out.pop_back();
    }
    double number_at(const ArrowArray& array, std::size_t i) const {
        double number = 0;
        const bool is_read = visit_number(dtype_.format[0], [&](auto kind) {
            number = static_cast<double>(
                static_cast<const decltype(kind)*>(array.buffers[1])[static_cast<std::size_t>(array.offset) + i]);
        });
        if (is_read) return number;
        std::string written;
        append_scalar(array, dtype_, i, written);
        return parse_real(written);
    }

    TextLists& lists_;
    ArrowSchema dtype_;
    int scale_;
    bool as_floats_;
    std::deque<std::string> none_;  // texts are views, never written
};

TextLists read_tokens(const Input& input, bool as_floats) {
    TextLists lists;
    const auto read_as = [&](Dtype dtype) {
        return [&lists, &dtype, as_floats](const ArrowArray& values, std::size_t begin, std::size_t end) {
            TokenReader(lists, dtype, as_floats).append(values, begin, end);
        };
    };
    if (is_list(input.dtype())) read_lists(input, lists.rows, read_as(inner(input.dtype())));
    else if (is_null(input.dtype())) lists.rows.resize(input.size());
    else {
        // A single id is a list of one.
        for (std::size_t i = 0; i < input.chunks(); ++i)
            read_as(input.dtype())(input.chunk(i), 0, static_cast<std::size_t>(input.chunk(i).length));
        for (std::size_t row = 0; row < input.size(); ++row) lists.rows.push_back({row, row + 1, true});
    }
    if (!lists.bytes.empty() || (!lists.values.empty() && lists.values[0].data() == nullptr)) {
        const char* at = lists.bytes.data();
        for (Text& value : lists.values) {
            const std::size_t size = value.size();
            value = size == 0 ? Text(TextArray::no_text, 0) : Text(at, size);
            at += size;
        }
    }
    return lists;
}

// ---- distances ----

class Distance : public Function {
public:
    explicit Distance(const Value& options)
        : cutoff_(options["score_cutoff"].is_null() ? std::numeric_limits<std::int64_t>::max()
                                                    : options["score_cutoff"].whole()) {
        const std::vector<Value>& weights = options["weights"].items();
        weights_ = {weights[0].whole(), weights[1].whole(), weights[2].whole()};
    }
    Field type(const Dtypes& columns) const override {
        if (are_lists(*columns[0], *columns[1])) check_tokens(metric, *columns[0], *columns[1]);
        else {
            check_texts(metric, "output", *columns[0]);
            check_texts(metric, "expected", *columns[1]);
            if (is_list(*columns[0]))
                throw Refused(std::string(metric) + ": `output` is a list but `expected` a text; compare a list with a list");
        }
        return {"", Type::whole};
    }
    Column run(const std::vector<Input>& columns) const override {
        if (are_lists(columns[0].dtype(), columns[1].dtype())) return of_lists(columns);
        const Pairs pairs = read_pairs(columns, false, false);
        Result result(pairs.count());
        std::int64_t* distance = result.add_integers("distance");
        const bool is_uniform = weights_.insert == weights_.remove && weights_.remove == weights_.substitute;
        for_each_batch<Kept<Scratch>>(
            pairs.output, pairs.expected, thread_count(), result, [&](const Batch& batch, Scratch& scratch) {
                constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
                if (is_uniform) {
                    scratch.results.resize(batch.size());
                    edit::levenshtein_many(batch.left.data(), batch.right.data(), batch.size(), {false, unlimited},
                                           scratch.results.data(), scratch.kernel);
                }
                for (std::size_t i = 0; i < batch.size(); ++i) {
                    std::int64_t cost = 0;
                    if (is_uniform) cost = weights_.insert * scratch.results[i].distance;
                    else {
                        unicode::decode(batch.left[i], false, unlimited, scratch.left);
                        unicode::decode(batch.right[i], false, unlimited, scratch.right);
                        cost = weighted(scratch);
                    }
                    distance[batch.rows[i]] = cut(cost);
                }
            });
        std::vector<std::int64_t> values(pairs.rows);
        std::vector<std::uint8_t> valid(pairs.rows);
        for (std::size_t row = 0; row < pairs.rows; ++row) {
            // The nearest of several references.
            const std::size_t begin = pairs.form == Form::single ? row : pairs.starts[row],
                              end = pairs.form == Form::single ? row + 1 : pairs.starts[row + 1];
            for (std::size_t i = begin; i < end; ++i) {
                if (!result.is_valid(i)) continue;
                values[row] = valid[row] ? std::min(values[row], distance[i]) : distance[i];
                valid[row] = 1;
            }
        }
        return make_column(pairs.rows, [&](std::size_t row) { return valid[row] != 0; }, std::move(values));
    }

private:
    static constexpr const char* metric = "levenshtein_distance";
    struct Scratch {
        edit::LevenshteinWorkspace kernel;
        std::vector<edit::EditResult> results;
        std::vector<std::uint32_t> left, right;
    };
    // A column of nothing beside lists is one of lists.
    static bool are_lists(Dtype left, Dtype right) {
        return (is_list(left) && (is_list(right) || is_null(right))) || (is_null(left) && is_list(right));
    }
    std::int64_t cut(std::int64_t distance) const { return distance > cutoff_ ? cutoff_ + 1 : distance; }
    std::int64_t weighted(Scratch& scratch) const {
        return edit::levenshtein_weighted(scratch.left.data(), scratch.left.size(), scratch.right.data(), scratch.right.size(),
                                          weights_, scratch.kernel);
    }
    Column of_lists(const std::vector<Input>& columns) const {
        const std::size_t rows = count_rows(columns);
        if (rows == 0) return make_nulls(0, Type::whole);
        const bool as_floats = are_floats(columns[0].dtype(), columns[1].dtype());
        const TextLists left = read_tokens(columns[0], as_floats), right = read_tokens(columns[1], as_floats);
        std::vector<std::int64_t> values(rows);
        // One thread does it all, while this one watches for Ctrl-C.
        std::atomic<bool> is_taken{false};
        Pool::get(thread_count()).run([&] {
            if (is_taken.exchange(true)) return;
            Scratch scratch;
            std::unordered_map<Text, std::uint32_t> numbers;
            const auto read = [&](const TextLists& lists, const Bounds& row, std::vector<std::uint32_t>& out) {
                out.clear();
                for (std::size_t i = row.begin; i < row.end; ++i) {
                    // A null equals a null only.
                    if (!lists.has(i)) out.push_back(0);
                    else
                        out.push_back(
                            numbers.emplace(lists.values[i], static_cast<std::uint32_t>(numbers.size() + 1)).first->second);
                }
            };
            for (std::size_t row = 0; row < rows && !is_stopped(); ++row) {
                if (!left[row].is_valid || !right[row].is_valid) continue;
                numbers.clear();
                read(left, left[row], scratch.left);
                read(right, right[row], scratch.right);
                values[row] = cut(weighted(scratch));
            }
        });
        return make_column(rows, [&](std::size_t row) { return left[row].is_valid && right[row].is_valid; }, std::move(values));
    }

    std::int64_t cutoff_;
    edit::EditWeights weights_{};
};

// ---- vectors ----

struct Vectors {
    std::vector<Bounds> rows;
    std::vector<const double*> data;  // of each row
    std::vector<std::uint8_t> has_null;
    std::vector<std::vector<double>> converted;
    bool is_valid(std::size_t row) const { return rows[row].is_valid && !has_null[row]; }
};

Vectors read_vectors(const Input& input) {
    Vectors vectors;
    read_lists(input, vectors.rows, [&](const ArrowArray& values, std::size_t begin, std::size_t end) {
        const char format = inner(input.dtype()).format[0];
        const bool are_nulls = is_null(inner(input.dtype()));
        const double* data = nullptr;
        if (format == 'g') data = static_cast<const double*>(values.buffers[1]) + values.offset + begin;
        else {
            std::vector<double>& out = vectors.converted.emplace_back();
            out.reserve(end - begin);
            const bool is_number = visit_number(format, [&](auto kind) {
                const auto* numbers = static_cast<const decltype(kind)*>(values.buffers[1]) + values.offset;
                for (std::size_t i = begin; i < end; ++i) out.push_back(static_cast<double>(numbers[i]));
            });
            if (!is_number) out.resize(end - begin, std::numeric_limits<double>::quiet_NaN());
            data = out.data();
        }
        const void* const validity = are_nulls ? nullptr : values.buffers[0];
        const std::size_t first = vectors.rows[vectors.data.size()].begin;
        while (vectors.data.size() < vectors.rows.size()) {
            const Bounds& bounds = vectors.rows[vectors.data.size()];
            bool has_null = are_nulls && bounds.size() > 0;
            for (std::size_t i = bounds.begin; validity && i < bounds.end && !has_null; ++i)
                has_null = !is_set(validity, static_cast<std::size_t>(values.offset) + begin + i - first);
            vectors.data.push_back(data + (bounds.begin - first));
            vectors.has_null.push_back(has_null);
        }
    });
    vectors.data.resize(vectors.rows.size());
    vectors.has_null.resize(vectors.rows.size());
    return vectors;
}

// The cosines of the rows of two columns.
Column score_vectors(const Input& output, const Input& expected, std::size_t rows, const Common& common) {
    const Vectors left = read_vectors(output), right = read_vectors(expected);
    Result result(rows);
    double* score = result.add_floats("score");
    Compared compared{std::vector<Reason>(rows), std::vector<std::int64_t>(rows), std::vector<std::int64_t>(rows)};
    constexpr std::size_t step = 64;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t begin; (begin = next.fetch_add(step)) < rows && !is_stopped();)
            for (std::size_t row = begin; row < std::min(begin + step, rows); ++row) {
                const std::size_t a = row_of(row, left.rows.size()), b = row_of(row, right.rows.size());
                Reason reason = Reason::none;
                score[row] = 0.0;
                if (!right.is_valid(b)) reason = Reason::no_expected;
                else if (!left.is_valid(a)) reason = Reason::no_output;
                else {
                    const Cosine cosine =
                        plugin::cosine({left.data[a], left.rows[a].size()}, {right.data[b], right.rows[b].size()});
                    score[row] = cosine.score;
                    static constexpr Reason reasons[] = {Reason::none, Reason::no_expected, Reason::no_output, Reason::lengths,
                                                         Reason::zeros};
                    reason = reasons[static_cast<std::size_t>(cosine.comparison)];
                    compared.output_sizes[row] = static_cast<std::int64_t>(left.rows[a].size());
                    compared.expected_sizes[row] = static_cast<std::int64_t>(right.rows[b].size());
                }
                compared.reasons[row] = reason;
                if (reason == Reason::no_expected || reason == Reason::no_output) result.set_no_score(row);
            }
    };
    if (rows <= step) work();
    else Pool::get(thread_count()).run(work);
    return make_result(result, compared, common, {});
}

class CosineFunction : public Function {
public:
    explicit CosineFunction(const Value& options) : common_(options) {}
    Field type(const Dtypes& columns) const override {
        const char* const names[] = {"output", "expected"};
        for (int i = 0; i < 2; ++i) {
            Dtype dtype = *columns[static_cast<std::size_t>(i)];
            const bool is_vector =
                is_list(dtype) && (is_integer(inner(dtype)) || is_one_of(inner(dtype), "fg") || is_null(inner(dtype)));
            if (!is_vector && !is_null(dtype))
                throw Refused(std::string("cosine: `") + names[i] + "` must be a List or Array of numbers, got " +
                              name_of(dtype));
        }
        return {"", Type::structure, result_fields(common_, {})};
    }
    Column run(const std::vector<Input>& columns) const override {
        return score_vectors(columns[0], columns[1], count_rows(columns), common_);
    }

private:
    Common common_;
};

// ---- ranked ids ----

enum class Ranking { recall, precision, ndcg, reciprocal_rank };

// As trec_eval has it. A quotient of natural logarithms is off in the last bit more often.
double gain_of(std::size_t place) { return 1.0 / std::log2(static_cast<double>(place) + 1.0); }

class RankedIds : public Function {
public:
    explicit RankedIds(const Value& options)
        : name_(options["metric"].text()),
          ranking_(options["metric"].choose<Ranking>({{"recall_at_k", Ranking::recall},
                                                      {"precision_at_k", Ranking::precision},
                                                      {"ndcg", Ranking::ndcg},
                                                      {"reciprocal_rank", Ranking::reciprocal_rank}})),
          common_(options),
          k_(options.has("k") ? options["k"].count() : std::numeric_limits<std::size_t>::max()),
          is_exponential_(options.has("gain") && options["gain"].text() == "exponential") {}

    Field type(const Dtypes& columns) const override {
        Dtype left = *columns[0], right = *columns[1];
        if (!is_list(left) && !is_null(left)) throw refused("output", left);
        if (!is_list(right) && format_of(right)[0] == '+') throw refused("expected", right);
        check_tokens(name_, left, right);
        if (columns.size() > 2 && !is_null(*columns[2]) &&
            !(is_list(*columns[2]) && (is_numeric(inner(*columns[2])) || is_null(inner(*columns[2])))))
            throw Refused(name_ + ": `grades` must be a list of numbers, got " + name_of(*columns[2]));
        return {"", Type::structure, result_fields(common_, details)};
    }
    Column run(const std::vector<Input>& columns) const override {
        const std::size_t rows = count_rows(columns);
        const bool as_floats = are_floats(columns[0].dtype(), columns[1].dtype());
        const TextLists output = read_tokens(columns[0], as_floats), expected = read_tokens(columns[1], as_floats);
        Result result(rows);
        double* score = result.add_floats("score");
        std::int64_t* hits = result.add_integers("hits");
        std::int64_t* relevant = result.add_integers("relevant");
        std::int64_t* first_hit = result.add_integers("first_hit");
        Compared compared{std::vector<Reason>(rows), {}, {}};
        const bool has_grades = columns.size() > 2;
        const Vectors grades = has_grades ? read_vectors(columns[2]) : Vectors();
        std::unordered_map<Text, double> ids;  // the relevant ones, and what they gain
        std::vector<double> gains;
        std::unordered_map<Text, bool> seen;
        for (std::size_t row = 0; row < rows; ++row) {
            const Bounds &ranked = output[row], &wanted = expected[row];
            ids.clear();
            seen.clear();
            for (std::size_t i = wanted.begin; wanted.is_valid && i < wanted.end; ++i) {
                const double gained = has_grades ? gain_of_grade(grades, row, i - wanted.begin, wanted.size()) : 1.0;
                if (expected.has(i) && gained > 0) ids.emplace(expected.values[i], gained);
            }
            std::size_t place = 0, found = 0, first = 0;
            double gain = 0;
            for (std::size_t i = ranked.begin; ranked.is_valid && i < ranked.end && place < k_; ++i) {
                // An id that is repeated counts once, at its first place.
                if (!output.has(i) || !seen.emplace(output.values[i], true).second) continue;
                ++place;
                const auto hit = ids.find(output.values[i]);
                if (hit == ids.end()) continue;
                if (++found == 1) first = place;
                gain += hit->second * gain_of(place);
            }
            hits[row] = static_cast<std::int64_t>(found);
            relevant[row] = ids.empty() ? Result::no_whole : static_cast<std::int64_t>(ids.size());
            first_hit[row] = found ? static_cast<std::int64_t>(first) : Result::no_whole;
            compared.reasons[row] = ids.empty() ? Reason::no_expected : !ranked.is_valid ? Reason::no_output : Reason::none;
            score[row] = 0.0;
            if (compared.reasons[row] != Reason::none) result.set_no_score(row);
            else {
                gains.clear();
                if (ranking_ == Ranking::ndcg)
                    for (const auto& id : ids) gains.push_back(id.second);
                score[row] = std::min(score_of(found, ids.size(), first, gain, gains), 1.0);
            }
        }
        return make_result(result, compared, common_, details);
    }

private:
    static inline const std::vector<Field> details{
        {"hits", Type::whole}, {"relevant", Type::whole}, {"first_hit", Type::whole}};

    Refused refused(const char* argument, Dtype dtype) const {
        return Refused(name_ + ": `" + argument + "` must be a list of ids, texts or numbers, got " + name_of(dtype));
    }
    // What an id gains by its grade; one without a grade, or with one of 0, is not relevant.
    double gain_of_grade(const Vectors& grades, std::size_t row, std::size_t at, std::size_t ids) const {
        row = row_of(row, grades.rows.size());
        const Bounds& graded = grades.rows[row];
        if (!graded.is_valid) return 0;
        if (graded.size() != ids)
            throw Refused(name_ + ": `grades` must have a number for each id of `expected`; a row has " +
                          std::to_string(graded.size()) + " for " + std::to_string(ids) + " ids");
        if (grades.has_null[row]) throw Refused(name_ + ": `grades` must not have nulls in its lists");
        const double grade = grades.data[row][at];
        if (!(grade >= 0) || std::isinf(grade))
            throw Refused(name_ + ": `grades` must be 0 or more, got " + std::to_string(grade));
        return is_exponential_ ? std::exp2(grade) - 1.0 : grade;
    }
    double score_of(std::size_t found, std::size_t relevant, std::size_t first, double gain, std::vector<double>& gains) const {
        switch (ranking_) {
            case Ranking::recall: return static_cast<double>(found) / static_cast<double>(relevant);
            case Ranking::precision: return static_cast<double>(found) / static_cast<double>(k_);
            case Ranking::reciprocal_rank: return found ? 1.0 / static_cast<double>(first) : 0.0;
            default: break;
        }
        double best = 0;
        std::sort(gains.begin(), gains.end(), std::greater<>());
        for (std::size_t place = 1; place <= std::min(relevant, k_); ++place) best += gains[place - 1] * gain_of(place);
        return gain / best;
    }

    std::string name_;
    Ranking ranking_;
    Common common_;
    std::size_t k_;
    bool is_exponential_;
};

}  // namespace

std::unique_ptr<Function> make_levenshtein_distance(const Value& options) { return std::make_unique<Distance>(options); }
std::unique_ptr<Function> make_cosine(const Value& options) { return std::make_unique<CosineFunction>(options); }
std::unique_ptr<Function> make_ranked_ids(const Value& options) { return std::make_unique<RankedIds>(options); }

}  // namespace pe::plugin
