// What all metrics have in common, written once: literals, nulls, categories, several references, turns of conversations,
// missing values, thresholds, labels, details and reasons.
#pragma once

#include <cmath>

#include "../core/batches.hpp"
#include "../words/tokenizers.hpp"
#include "function.hpp"

namespace pe::plugin {

enum class Reason : std::uint8_t { none, no_expected, no_output, turn_counts, lengths, zeros };

// A tokenizer by its name; `automatic` is what "auto" stands for.
inline words::Tokenizer named_tokenizer(const Value& name, words::Tokenizer automatic) {
    return name.choose<words::Tokenizer>({{"rouge", words::Tokenizer::rouge},
                                          {"whitespace", words::Tokenizer::whitespace},
                                          {"unicode", words::Tokenizer::unicode},
                                          {"characters", words::Tokenizer::characters},
                                          {"auto", automatic}});
}

// The options that every metric has.
struct Common {
    enum class Missing { fail, null, unlabelled };

    explicit Common(const Value& options)
        : threshold(options["threshold"].real()),
          missing(options["missing"].choose<Missing>(
              {{"fail", Missing::fail}, {"null", Missing::null}, {"unlabelled", Missing::unlabelled}})),
          details(options["details"].flag()) {}

    // Whether a row without a score counts as 0.
    bool fails(Reason reason) const {
        return missing == Missing::fail || (missing == Missing::unlabelled && reason != Reason::no_expected);
    }

    double threshold;
    Missing missing;
    bool details;
};

// How the pairs of texts that are compared come from rows.
enum class Form { single, references, turns };

// What is told of rows beside their scores. The sizes go with Reason::lengths and Reason::turn_counts.
struct Compared {
    std::vector<Reason> reasons;
    std::vector<std::int64_t> output_sizes, expected_sizes;
};

struct Pairs {
    Form form = Form::single;
    std::size_t rows = 0;
    TextColumn output{std::vector<Text>()}, expected{std::vector<Text>()};
    std::vector<std::size_t> starts;  // of the pairs of each row, for references and turns
    Compared compared;                // of references and turns; sizes are numbers of turns

    std::size_t count() const { return form == Form::single ? rows : starts.back(); }
};

// Refuses columns that are neither texts nor lists of texts, nor what else is accepted, and turns beside a single text.
void check_texts(const std::string& metric, const char* argument, Dtype dtype, Accepts accepts = Accepts::texts);
void check_sides(const std::string& metric, const char* expected_name, const Dtypes& columns, Accepts accepts = Accepts::texts);

// Reads two columns. Without a second one, the first is both. `words`: the columns 2 and 3 hold the texts themselves, as
// lists: what is compared in their place.
Pairs read_pairs(const std::vector<Input>& columns, bool alone, bool words);

// How the scores of pairs become those of rows.
struct Summary {
    bool worst = false;          // of several references, the one with the lowest rank counts
    const char* rank = "score";  // the column that ranks them
    int decimals = -1;           // of averages over turns; below 0: 12
    bool alone = false;          // there is no expected value to miss
};

// The fields of a result, for its type.
std::vector<Field> result_fields(const Common& common, const std::vector<Field>& details);
// The result itself. `result` has the column "score" and those of the details, by pairs.
Column make_result(const Pairs& pairs, Result& result, const Common& common, const std::vector<Field>& details,
                   const Summary& summary);

// A column of a result by itself.
Column make_flags(Result& result, const char* name);

// The same for metrics whose rows are what they compare, with reasons of their own.
Column make_result(Result& result, const Compared& compared, const Common& common, const std::vector<Field>& details);

// A metric over texts: one kernel, one struct.
class TextMetric : public Function {
public:
    TextMetric(const Value& options, std::vector<Field> details)
        : common(options), name_(options["metric"].text()), details_(std::move(details)), has_words_(options.is_set("words")) {}

    Field type(const Dtypes& columns) const override {
        if (summary.alone) check_texts(name_, "output", *columns[0], accepts);
        else check_sides(name_, "expected", columns, accepts);
        return {"", Type::structure, result_fields(common, details_)};
    }
    Column run(const std::vector<Input>& columns) const override {
        const Pairs pairs = read_pairs(columns, summary.alone, has_words_);
        Result result(pairs.count());
        score(pairs.output, pairs.expected, pairs.form == Form::turns, result);
        return make_result(pairs, result, common, details_, summary);
    }

protected:
    // Adds the column "score", and those of the details if they are wanted, and fills them.
    virtual void score(const TextColumn& output, const TextColumn& expected, bool turns, Result& result) const = 0;

    Common common;
    Summary summary;
    Accepts accepts = Accepts::texts;

private:
    std::string name_;
    std::vector<Field> details_;
    bool has_words_;
};

}  // namespace pe::plugin
