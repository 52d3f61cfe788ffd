#include "scores.hpp"

#include "../core/rounding.hpp"

namespace pe::plugin {
namespace {

constexpr Text no_text{TextArray::no_text, 0};

// Averages are rounded to this many decimals, so that six turns of 0.8 average to 0.8.
constexpr int average_decimals = 12;

bool is_there(Text text) { return text.data() != TextArray::no_text; }

// The text of each row of lists that hold one.
std::vector<Text> only_texts(const TextLists& lists) {
    std::vector<Text> texts;
    for (const Bounds& row : lists.rows) texts.push_back(row.is_valid && row.size() > 0 ? lists.values[row.begin] : no_text);
    return texts;
}

void pair_references(Pairs& pairs, const std::vector<Text>& outputs, const TextLists& expected) {
    std::vector<Text> left, right;
    for (std::size_t row = 0; row < pairs.rows; ++row) {
        pairs.starts.push_back(left.size());
        const Bounds& references = expected[row];
        const Text output = outputs[row_of(row, outputs.size())];
        bool has_expected = false;
        for (std::size_t i = references.begin; references.is_valid && i < references.end; ++i) {
            if (!expected.has(i)) continue;
            has_expected = true;
            if (!is_there(output)) continue;
            left.push_back(output);
            right.push_back(expected.values[i]);
        }
        pairs.compared.reasons.push_back(!has_expected       ? Reason::no_expected
                                         : !is_there(output) ? Reason::no_output
                                                             : Reason::none);
    }
    pairs.starts.push_back(left.size());
    pairs.output = TextColumn(std::move(left));
    pairs.expected = TextColumn(std::move(right));
}

void pair_turns(Pairs& pairs, const TextLists& output, const TextLists& expected) {
    std::vector<Text> left, right;
    for (std::size_t row = 0; row < pairs.rows; ++row) {
        pairs.starts.push_back(left.size());
        const Bounds &turns = output[row], &others = expected[row];
        pairs.compared.output_sizes.push_back(turns.is_valid ? static_cast<std::int64_t>(turns.size()) : Result::no_whole);
        pairs.compared.expected_sizes.push_back(others.is_valid ? static_cast<std::int64_t>(others.size()) : Result::no_whole);
        const bool both_empty = turns.is_valid && turns.size() == 0 && others.size() == 0;
        Reason reason = Reason::none;
        if (!others.is_valid || both_empty) reason = Reason::no_expected;
        else if (!turns.is_valid) reason = Reason::no_output;
        else if (turns.size() != others.size()) reason = Reason::turn_counts;
        pairs.compared.reasons.push_back(reason);
        if (reason != Reason::none) continue;
        left.insert(left.end(), output.values.begin() + static_cast<std::ptrdiff_t>(turns.begin),
                    output.values.begin() + static_cast<std::ptrdiff_t>(turns.end));
        right.insert(right.end(), expected.values.begin() + static_cast<std::ptrdiff_t>(others.begin),
                     expected.values.begin() + static_cast<std::ptrdiff_t>(others.end));
    }
    pairs.starts.push_back(left.size());
    pairs.output = TextColumn(std::move(left));
    pairs.expected = TextColumn(std::move(right));
}

Reason single_reason(const TextColumn::Cursor& output, const TextColumn::Cursor& expected) {
    if (!expected.is_valid()) return Reason::no_expected;
    return output.is_valid() ? Reason::none : Reason::no_output;
}

// The row of the pair that counts for each row, or none.
constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

std::vector<std::size_t> choose_references(const Pairs& pairs, const Result& result, const Summary& summary) {
    const Result::Column* rank = result.find(summary.rank);
    std::vector<std::size_t> chosen(pairs.rows, nobody);
    const auto value = [&](std::size_t i) {
        return rank->kind == Result::Kind::real ? rank->reals()[i] : static_cast<double>(rank->wholes()[i]);
    };
    for (std::size_t row = 0; row < pairs.rows; ++row)
        for (std::size_t i = pairs.starts[row]; i < pairs.starts[row + 1]; ++i) {
            if (!result.is_valid(i)) continue;
            if (chosen[row] == nobody) chosen[row] = i;
            else if (summary.worst ? value(i) < value(chosen[row]) : value(i) > value(chosen[row])) chosen[row] = i;
        }
    return chosen;
}

Result take(Result& from, const std::vector<std::size_t>& chosen) {
    Result taken(chosen.size());
    for (const Result::Column& column : from.columns()) {
        Result::Column& copy = taken.add_like(column);
        for (std::size_t row = 0; row < chosen.size(); ++row)
            if (chosen[row] != nobody) copy.values[row] = column.values[chosen[row]];
    }
    for (std::size_t row = 0; row < chosen.size(); ++row)
        if (chosen[row] == nobody) taken.set_null(row);
    return taken;
}

// What there is to tell of conversations beside their score.
struct Turns {
    std::vector<std::int64_t> starts{0}, low;
    std::vector<double> scores;
    std::vector<std::uint8_t> valid;
    std::vector<std::uint8_t> has_scores;
};

Turns average_turns(const Pairs& pairs, const Result& turn, const Common& common, int decimals, Result& result) {
    double* score = result.add_floats("score");
    const double* scores = turn.find("score")->reals();
    const Rounding rounding(decimals < 0 ? average_decimals : decimals);
    Turns told;
    TextColumn::Cursor output(pairs.output, 0), expected(pairs.expected, 0);
    for (std::size_t row = 0; row < pairs.rows; ++row) {
        double sum = 0;
        std::int64_t low = 0;
        std::size_t counted = 0;
        const std::size_t begin = pairs.starts[row], end = pairs.starts[row + 1];
        for (std::size_t i = begin; i < end; ++i, output.next(), expected.next()) {
            const bool fails = !turn.is_valid(i) && common.fails(single_reason(output, expected));
            const bool is_valid = turn.is_valid(i) || fails;
            const double value = fails || !is_valid ? 0.0 : scores[i];
            told.scores.push_back(value);
            told.valid.push_back(is_valid);
            if (!is_valid) continue;
            sum += value;
            ++counted;
            low += value < common.threshold;
        }
        told.starts.push_back(static_cast<std::int64_t>(told.scores.size()));
        told.low.push_back(low);
        told.has_scores.push_back(end > begin);
        if (counted > 0) score[row] = rounding(sum / static_cast<double>(counted));
        else if (pairs.compared.reasons[row] == Reason::turn_counts) score[row] = 0.0;
        else result.set_null(row);
    }
    return told;
}

std::string text_of(Reason reason, std::int64_t output, std::int64_t expected) {
    switch (reason) {
        case Reason::no_expected: return "no expected value";
        case Reason::no_output: return "no output";
        case Reason::zeros: return "a vector of zeros";
        case Reason::turn_counts: return "turn count " + std::to_string(output) + ", expected " + std::to_string(expected);
        case Reason::lengths: return "length " + std::to_string(output) + ", expected " + std::to_string(expected);
        default: return "";
    }
}

void add_validity(Column& column, const Result& result) {
    if (result.has_nulls()) column.add_validity([&](std::size_t row) { return result.is_valid(row); });
    else column.add_no_validity();
}

Column make_labels(std::size_t rows, const double* score, const Result& result, double threshold) {
    Column column;
    column.rows = rows;
    add_validity(column, result);
    std::vector<std::uint8_t> codes(rows);
    for (std::size_t row = 0; row < rows; ++row) codes[row] = score[row] >= threshold;
    column.add_buffer(std::move(codes));
    column.dictionary = std::make_unique<Column>(make_texts(2, [](std::size_t code) { return code == 0 ? "fail" : "pass"; }));
    return column;
}

Column make_detail(Result::Column* values, std::size_t rows, Type type) {
    if (!values) return make_nulls(rows, type);
    const auto is_valid = [&](std::size_t row) { return !values->is_null(row); };
    if (values->kind == Result::Kind::flag) {
        std::vector<std::uint8_t> bits((rows + 7) / 8);
        for (std::size_t row = 0; row < rows; ++row)
            bits[row / 8] |= static_cast<std::uint8_t>((values->wholes()[row] & 1) << (row % 8));
        return make_column(rows, is_valid, std::move(bits));
    }
    if (values->kind != Result::Kind::choice) {
        Column column;
        column.rows = rows;
        column.add_validity(is_valid);
        std::shared_ptr<std::uint64_t[]> owner = std::move(values->values);
        column.add_buffer(owner, owner.get());
        return column;
    }
    return make_texts(rows, [&](std::size_t row) {
        return values->is_null(row) ? no_text : Text((*values->choices)[static_cast<std::size_t>(values->wholes()[row])]);
    });
}

// From scores by row to the struct.
Column assemble(Result& result, const Common& common, const std::vector<Field>& details, const Compared& compared,
                Turns* turns) {
    const auto& [reasons, output_sizes, expected_sizes] = compared;
    const std::size_t rows = result.size();
    Result::Column* score = result.find("score");
    if (result.has_nulls() && common.missing != Common::Missing::null)
        for (std::size_t row = 0; row < rows; ++row) {
            if (result.is_valid(row) || !common.fails(reasons[row])) continue;
            score->reals()[row] = 0.0;
            result.set_score(row);
        }
    Column made;
    made.rows = rows;
    made.add_no_validity();
    Column labels = make_labels(rows, score->reals(), result, common.threshold);
    Column scores;
    scores.rows = rows;
    add_validity(scores, result);
    std::shared_ptr<std::uint64_t[]> owner = std::move(score->values);
    scores.add_buffer(owner, owner.get());
    made.children.push_back(std::move(scores));
    made.children.push_back(std::move(labels));
    if (!common.details) return made;
    for (const Field& field : details)
        made.children.push_back(make_detail(turns ? nullptr : result.find(field.name.c_str()), rows, field.type));
    if (turns) {
        const auto has_scores = [&](std::size_t row) { return turns->has_scores[row] != 0; };
        const auto has_size = [&](std::size_t row) { return compared.output_sizes[row] != Result::no_whole; };
        const auto is_valid = [&](std::size_t i) { return turns->valid[i] != 0; };
        made.children.push_back(make_column(rows, has_scores, std::move(turns->starts)));
        const std::size_t all = turns->scores.size();
        made.children.back().children.push_back(make_column(all, is_valid, std::move(turns->scores)));
        made.children.push_back(make_column(rows, has_size, output_sizes));
        made.children.push_back(make_column(rows, has_scores, std::move(turns->low)));
    } else {
        made.children.push_back(make_nulls(rows, Type::reals));
        made.children.push_back(make_nulls(rows, Type::whole));
        made.children.push_back(make_nulls(rows, Type::whole));
    }
    Texts texts(rows);
    Texts::Writer writer(texts);
    for (std::size_t row = 0; row < rows; ++row) {
        const Reason reason = reasons[row];
        if (reason == Reason::none) texts.set_null(row);
        else
            writer.write(row, text_of(reason, output_sizes.empty() ? 0 : output_sizes[row],
                                      expected_sizes.empty() ? 0 : expected_sizes[row]));
    }
    made.children.push_back(texts.finish());
    return made;
}

// How to make texts of a column.
std::string way_to_text(Dtype dtype) {
    if (is_object(dtype))
        return "; write it as JSON with .struct.json_encode(), or take one of its fields with .struct.field(...)";
    if (!is_list(dtype)) return "; cast it with .cast(pl.String)";
    if (is_object(inner(dtype))) return "; write its values as JSON with .list.eval(pl.element().struct.json_encode())";
    return is_list(inner(dtype)) ? "; join the inner lists with .list.eval(pl.element().list.join(...))"
                                 : "; cast it with .cast(pl.List(pl.String))";
}

}  // namespace

void check_texts(const std::string& metric, const char* argument, Dtype dtype, Accepts accepts) {
    if (is_text(dtype) || is_null(dtype) || is_text_list(dtype)) return;
    if (is_written(is_list(dtype) ? inner(dtype) : dtype, accepts)) return;
    const char* const wanted = accepts == Accepts::numbers   ? "text, numbers, Booleans or a list of them"
                               : accepts == Accepts::objects ? "JSON text, a Struct or a list of them"
                                                             : "text (String, Categorical, Enum) or a list of texts";
    throw Refused(metric + ": `" + argument + "` must be " + wanted + ", got " + name_of(dtype) + way_to_text(dtype));
}

void check_sides(const std::string& metric, const char* expected_name, const Dtypes& columns, Accepts accepts) {
    check_texts(metric, "output", *columns[0], accepts);
    check_texts(metric, expected_name, *columns[1], accepts);
    if (is_list(*columns[0]) && !is_list(*columns[1]) && !is_null(*columns[1]))
        throw Refused(metric + ": `output` is a list of turns but `" + expected_name +
                      "` a single text; make it a list with a text for each turn");
}

Pairs read_pairs(const std::vector<Input>& columns, bool alone, bool words) {
    Pairs pairs;
    pairs.rows = count_rows(columns, alone ? 1 : 2);
    const Input &output = columns[0], &expected = columns[alone ? 0 : 1];
    const Input &output_texts = columns[words ? 2 : 0], &expected_texts = columns[words ? 3 : alone ? 0 : 1];
    const bool left_list = is_list(output.dtype()), right_list = is_list(expected.dtype());
    if (pairs.rows == 0) {
        // Literals have their row even then.
        pairs.form = left_list || right_list ? Form::turns : Form::single;
        pairs.starts.push_back(0);
        return pairs;
    }
    if (!left_list && !right_list) {
        const auto read = [&](const Input& input) {
            return words ? TextColumn(only_texts(read_text_lists(input))) : read_texts(input);
        };
        pairs.output = read(output_texts);
        pairs.expected = read(expected_texts);
        broadcast_size(pairs.output.size(), pairs.expected.size());
        return pairs;
    }
    const TextLists right = read_text_lists(expected_texts);
    if (left_list || is_null(output.dtype())) {
        pairs.form = Form::turns;
        pair_turns(pairs, read_text_lists(output_texts), right);
    } else {
        pairs.form = Form::references;
        pair_references(pairs, words ? only_texts(read_text_lists(output_texts)) : all_texts(output_texts), right);
    }
    return pairs;
}

std::vector<Field> result_fields(const Common& common, const std::vector<Field>& details) {
    std::vector<Field> fields{{"score", Type::real}, {"label", Type::label}};
    if (!common.details) return fields;
    fields.insert(fields.end(), details.begin(), details.end());
    for (const Field& field : {Field{"turn_scores", Type::reals}, Field{"num_turns", Type::whole},
                               Field{"num_low_scores", Type::whole}, Field{"reason", Type::text}})
        fields.push_back(field);
    return fields;
}

Column make_result(const Pairs& pairs, Result& result, const Common& common, const std::vector<Field>& details,
                   const Summary& summary) {
    Compared compared = pairs.compared;
    std::vector<Reason>& reasons = compared.reasons;
    if (pairs.form == Form::single && pairs.rows > 0 &&
        (common.details || (result.has_nulls() && common.missing != Common::Missing::null))) {
        TextColumn::Cursor output(pairs.output, 0), expected(pairs.expected, 0);
        reasons.reserve(pairs.rows);
        for (std::size_t row = 0; row < pairs.rows; ++row, output.next(), expected.next())
            reasons.push_back(single_reason(output, expected));
    }
    if (summary.alone)
        for (Reason& reason : reasons)
            if (reason == Reason::no_expected) reason = Reason::no_output;
    if (pairs.form == Form::references) {
        Result chosen = take(result, choose_references(pairs, result, summary));
        return assemble(chosen, common, details, compared, nullptr);
    }
    if (pairs.form == Form::single) return assemble(result, common, details, compared, nullptr);
    Result averages(pairs.rows);
    Turns turns = average_turns(pairs, result, common, summary.decimals, averages);
    return assemble(averages, common, details, compared, &turns);
}

Column make_flags(Result& result, const char* name) { return make_detail(result.find(name), result.size(), Type::flag); }

Column make_result(Result& result, const Compared& compared, const Common& common, const std::vector<Field>& details) {
    return assemble(result, common, details, compared, nullptr);
}

}  // namespace pe::plugin
