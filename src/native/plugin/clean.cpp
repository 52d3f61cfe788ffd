// Cleaning of texts before they are scored, and what other expressions need of columns whose type they do not know.
#include <functional>

#include "../core/batches.hpp"
#include "../clean/choice.hpp"
#include "../clean/code.hpp"
#include "../clean/extract.hpp"
#include "../clean/reasoning.hpp"
#include "../json/document.hpp"
#include "../json/tape.hpp"
#include "function.hpp"
#include "scores.hpp"

namespace pe::plugin {
namespace {

using clean::Found;

std::vector<json::PathStep> steps_of(const Value& path) {
    std::vector<json::PathStep> steps;
    for (const Value& step : path.items()) {
        if (step.is_null()) steps.push_back({json::PathStep::any, {}, 0});
        else if (step.is_text()) steps.push_back({json::PathStep::key, step.text(), 0});
        else steps.push_back({json::PathStep::index, {}, step.whole()});
    }
    return steps;
}

// A step as a suite names it, and what it says where it finds nothing. One thread runs it.
class Step {
public:
    explicit Step(const Value& options) : nothing_(options["nothing"].text()) {
        const std::string& name = options["step"].text();
        if (options.has("words")) words_ = options["words"].texts();
        if (name == "reasoning") find_ = clean::StripReasoning();
        else if (name == "fence") find_ = clean::Unfence();
        else if (name == "json") find_ = clean::ExtractJson();
        else if (name == "number")
            find_ = [last = clean::LastNumber(), written = std::string()](Text text) mutable {
                if (!last.read(text)) return clean::nothing_in(text);
                written = last.written();
                return Found{written, true};
            };
        else if (name == "boxed") find_ = clean::ExtractBoxed();
        else if (name == "after") find_ = clean::ExtractAfter(words_, options["case_sensitive"].flag());
        else if (name == "choice") find_ = clean::ExtractChoice(words_);
        else if (name == "field") {
            // Where there is no value at the path, the text is null.
            find_ = [field = json::Field(steps_of(options["path"]))](Text text) mutable {
                Text found;
                return field.find(text, found) ? Found{found, true} : clean::nothing_in(text);
            };
            is_needed_ = true;
        } else throw std::invalid_argument("unknown step '" + name + "'");
    }
    Step(const Step&) = delete;
    Found operator()(Text text) { return find_(text); }
    const std::string& nothing() const { return nothing_; }
    // Whether nothing is left where it finds nothing.
    bool is_needed() const { return is_needed_; }

private:
    bool is_needed_ = false;
    std::vector<std::string> words_;
    std::function<Found(Text)> find_;
    std::string nothing_;
};

void check_text(const std::string& name, Dtype dtype, Accepts accepts = Accepts::texts) {
    if (is_text(dtype) || is_null(dtype) || is_written(dtype, accepts)) return;
    check_texts(name, "text", dtype, accepts);
    throw Refused(name + ": `text` must be text, got " + name_of(dtype) + "; for lists use .list.eval(...)");
}

// Runs steps one after the other. With notes, the result is a struct of the `text` and what was not found, as `cleaning`.
// Further columns hold what Polars found for a step before these, and the notes up to then.
class Clean : public Function {
public:
    explicit Clean(const Value& options)
        : options_(options), name_(options["name"].text()), has_notes_(options["notes"].flag()) {
        if (options.has("given")) given_ = options["given"].text();
        const std::vector<Value>& steps = options["steps"].items();
        if (!steps.empty() && steps[0]["step"].text() == "field") accepts_ = Accepts::objects;
    }
    Field type(const Dtypes& columns) const override {
        check_text(name_, *columns[0], accepts_);
        if (!has_notes_) return {"", Type::text};
        return {"", Type::structure, {{"text", Type::text}, {"cleaning", Type::text}}};
    }
    Column run(const std::vector<Input>& columns) const override {
        const std::size_t rows = columns[0].size();
        const TextColumn column = read_texts(columns[0]);
        Texts texts(rows), notes(has_notes_ ? rows : 0);
        struct Space {
            std::vector<std::unique_ptr<Step>> steps;
            std::unique_ptr<Texts::Writer> texts, notes;
            std::string text, note;
        };
        Result result(rows);
        const bool has_given = columns.size() > 1;
        const std::vector<Text> found = has_given ? all_texts(columns[1]) : std::vector<Text>();
        const std::vector<Text> before = columns.size() > 2 ? all_texts(columns[2]) : std::vector<Text>();
        for_each_batch<Space>(column, column, thread_count(), result, [&](const Batch& batch, Space& space) {
            if (!space.texts) {
                for (const Value& step : options_["steps"].items()) space.steps.push_back(std::make_unique<Step>(step));
                space.texts = std::make_unique<Texts::Writer>(texts);
                space.notes = std::make_unique<Texts::Writer>(notes);
            }
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const std::size_t row = batch.rows[i];
                Text text = batch.left[i];
                space.note.clear();
                if (!before.empty() && before[row].data() != TextArray::no_text) space.note = before[row];
                if (has_given) {
                    if (found[row].data() != TextArray::no_text) text = found[row];
                    else add_note(space.note, given_);
                }
                bool is_left = true;
                for (const auto& step : space.steps) {
                    const Found cleaned = (*step)(text);
                    if (!cleaned.found) {
                        add_note(space.note, step->nothing());
                        is_left = !step->is_needed();
                        if (!is_left) break;
                        continue;
                    }
                    // A step may answer with a buffer of its own, which the next step's answer can be a part of.
                    if (space.steps.size() == 1) text = cleaned.text;
                    else {
                        std::string copy(cleaned.text);
                        space.text.swap(copy);
                        text = space.text;
                    }
                }
                if (is_left) space.texts->write(row, text);
                else texts.set_null(row);
                if (!has_notes_) continue;
                if (space.note.empty()) notes.set_null(row);
                else space.notes->write(row, space.note);
            }
        });
        for (std::size_t row = 0; row < rows; ++row) {
            if (result.is_valid(row)) continue;
            texts.set_null(row);
            if (has_notes_) notes.set_null(row);
        }
        if (!has_notes_) return texts.finish();
        Column both;
        both.rows = rows;
        both.add_no_validity();
        both.children.push_back(texts.finish());
        both.children.push_back(notes.finish());
        return both;
    }

private:
    static void add_note(std::string& note, const std::string& more) {
        if (!note.empty()) note += ", ";
        note += more;
    }
    Value options_;
    std::string name_, given_;
    bool has_notes_;
    Accepts accepts_ = Accepts::texts;
};

// A column of texts, or of lists of them. Without rows of lists, each text is a list of one.
Column column_of(const TextLists& lists, std::size_t rows, bool is_list) {
    Column texts = make_texts(lists.values.size(), [&](std::size_t i) { return lists.values[i]; });
    if (!is_list) return texts;
    std::vector<std::int64_t> starts{0};
    for (std::size_t row = 0; row < rows; ++row)
        starts.push_back(static_cast<std::int64_t>(lists.rows.empty() ? row + 1 : lists.rows[row].end));
    const auto is_valid = [&](std::size_t row) { return lists.rows.empty() || lists.rows[row].is_valid; };
    Column column = make_column(rows, is_valid, std::move(starts));
    column.children.push_back(std::move(texts));
    return column;
}

// A column as List(String), for expressions of Polars: a text is a list of one.
class AsTextLists : public Function {
public:
    explicit AsTextLists(const Value& options) : name_(options["name"].text()), argument_(options["argument"].text()) {}
    Field type(const Dtypes& columns) const override {
        check_texts(name_, argument_.c_str(), *columns[0]);
        return {"", Type::texts};
    }
    Column run(const std::vector<Input>& columns) const override {
        return column_of(lists_of(columns[0], is_list(columns[0].dtype())), columns[0].size(), true);
    }

protected:
    static TextLists lists_of(const Input& input, bool are_lists) {
        if (are_lists) return read_text_lists(input);
        TextLists lists;
        lists.values = all_texts(input);
        return lists;
    }
    std::string name_, argument_;
};

// Objects as JSON, and lists of objects as lists of JSON texts or, with `whole`, as one text. Texts stay texts.
class AsJson : public AsTextLists {
public:
    explicit AsJson(const Value& options) : AsTextLists(options), whole_(options["whole"].flag()) {}
    Field type(const Dtypes& columns) const override {
        Dtype dtype = *columns[0];
        if (is_whole(dtype) && is_writable(dtype)) return {"", Type::text};
        check_texts(name_, argument_.c_str(), dtype, Accepts::objects);
        return {"", is_list(dtype) ? Type::texts : Type::text};
    }
    Column run(const std::vector<Input>& columns) const override {
        const Input& input = columns[0];
        const bool are_lists = is_list(input.dtype()) && !is_whole(input.dtype());
        return column_of(lists_of(input, are_lists), input.size(), are_lists);
    }

private:
    bool is_whole(Dtype dtype) const { return whole_ && is_list(dtype) && is_object(inner(dtype)); }
    bool whole_;
};

// Which texts Python can read as JSON, whatever is in them.
class JsonReadable : public Function {
public:
    explicit JsonReadable(const Value& options) : max_depth_(options["max_depth"].count()) {}
    Field type(const Dtypes& columns) const override {
        check_text("json_readable", *columns[0]);
        return {"", Type::flag};
    }
    Column run(const std::vector<Input>& columns) const override {
        const TextColumn texts = read_texts(columns[0]);
        Result result(texts.size());
        std::int64_t* readable = result.add_integers("readable", Result::Kind::flag);
        for_each_row<json::JsonDocument>(
            texts, texts, thread_count(), result, [&](std::size_t row, Text text, Text, json::JsonDocument& document) {
                readable[row] = document.read(text) && document.depth() <= max_depth_ && !document.has_huge_number();
            });
        return make_flags(result, "readable");
    }

private:
    std::size_t max_depth_;
};

}  // namespace

std::unique_ptr<Function> make_clean(const Value& options) { return std::make_unique<Clean>(options); }
std::unique_ptr<Function> make_as_text_lists(const Value& options) { return std::make_unique<AsTextLists>(options); }
std::unique_ptr<Function> make_as_json(const Value& options) { return std::make_unique<AsJson>(options); }
std::unique_ptr<Function> make_json_readable(const Value& options) { return std::make_unique<JsonReadable>(options); }

}  // namespace pe::plugin
