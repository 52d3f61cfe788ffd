// The steps of cleaning on random and hostile texts, against slow and obvious readings of the same rules.
// Usage: clean_test ROWS SEED. Texts have their exact size, so that a sanitizer sees every step outside.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "clean/choice.hpp"
#include "clean/code.hpp"
#include "clean/extract.hpp"
#include "clean/reasoning.hpp"
#include "json/document.hpp"
#include "support.hpp"

namespace {

using Random = std::mt19937_64;
using Strings = std::vector<std::string>;

// What a step makes of a text, in memory of its own.
struct Outcome {
    std::string text;
    bool found;
    bool operator==(const Outcome& other) const { return text == other.text && found == other.found; }
};

void check(bool holds, const char* what, const std::string& text) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n%s\n", what, text.c_str());
    std::exit(1);
}

void check_equal(const char* what, const std::string& text, const Outcome& expected, const Outcome& found) {
    if (expected == found) return;
    std::fprintf(stderr, "%s: expected %d '%s', found %d '%s' in\n%s\n", what, expected.found, expected.text.c_str(), found.found,
                 found.text.c_str(), text.c_str());
    std::exit(1);
}

template <class Step>
Outcome run(Step&& step, const std::string& text, test::ExactBytes::Place place = test::ExactBytes::Place::heap) {
    test::ExactBytes bytes(text.data(), text.size(), place);
    const pe::clean::Found found = step(pe::Text(bytes.data(), text.size()));
    return {std::string(found.text), found.found};
}

// A step that has seen other texts says the same as a new one; white space around what was found is gone.
template <class Step, class Make>
Outcome run_twice(Step& used, Make&& make, const std::string& text, Random& random) {
    const auto place = static_cast<test::ExactBytes::Place>(random() % 8 == 0 ? 1 + random() % 2 : 0);
    const Outcome outcome = run(used, text, place);
    check_equal("a new step", text, run(make(), text), outcome);
    if (outcome.found) check(pe::unicode::strip(outcome.text) == pe::Text(outcome.text), "white space is stripped", text);
    else check(outcome.text == text || outcome.text.empty(), "a text in which nothing is found stays", text);
    return outcome;
}

// Pieces put together at random, some of them damaged.
std::string make_text(const Strings& pieces, Random& random, std::size_t most) {
    std::string text;
    for (std::size_t count = random() % most; count > 0; --count) text += pieces[random() % pieces.size()];
    if (random() % 16 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random() % 128);
    return text;
}

std::string lower(std::string text) {
    for (char& c : text) c = pe::unicode::ascii_lower(c);
    return text;
}

// Every place, from the front: the last marker, then the rest of its line or of the text.
Outcome reference_after(const std::string& text, const Strings& markers, bool case_sensitive) {
    const std::string searched = case_sensitive ? text : lower(text);
    std::size_t behind = 0;
    for (const std::string& marker : markers)
        for (std::size_t at = 0; at + marker.size() <= text.size(); ++at)
            if (searched.compare(at, marker.size(), marker) == 0) behind = std::max(behind, at + marker.size());
    if (behind == 0) return {text, false};
    const auto clean = [](std::string part) {
        part = std::string(pe::unicode::strip(part));
        for (const std::string mark : {"**", "__"}) {
            std::size_t count = 0;
            for (std::size_t at = 0; (at = part.find(mark, at)) != std::string::npos; at += 2) ++count;
            if (count % 2 == 0) continue;
            if (part.compare(0, 2, mark) == 0) part.erase(0, 2);
            else if (part.size() >= 2 && part.compare(part.size() - 2, 2, mark) == 0) part.erase(part.size() - 2);
        }
        return std::string(pe::unicode::strip(part));
    };
    const std::string rest = text.substr(behind), line = clean(rest.substr(0, rest.find('\n')));
    return {line.empty() ? clean(rest) : line, true};
}

// Every box by itself: from its brace to the one that closes it, or a number behind a space. The one that begins last counts.
Outcome reference_boxed(const std::string& text) {
    std::vector<bool> is_escaped(text.size());  // by a backslash that begins no box
    std::vector<std::size_t> boxes;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') continue;
        const std::size_t name = text.compare(at + 1, 5, "boxed") == 0 ? 5 : text.compare(at + 1, 4, "fbox") == 0 ? 4 : 0;
        if (name == 0) {
            ++at;
            if (at < text.size()) is_escaped[at] = true;
            continue;
        }
        at += name;
        std::size_t brace = at + 1;
        while (brace < text.size() && (text[brace] == ' ' || text[brace] == '\n')) ++brace;
        if (brace < text.size() && (text[brace] == '{' || brace > at + 1)) boxes.push_back(brace);
    }
    Outcome outcome{text, false};
    for (const std::size_t brace : boxes) {
        if (text[brace] != '{') {
            std::size_t end = text.find_first_not_of("0123456789.,/", brace + (text[brace] == '-'));
            end = std::min(end, text.size());
            while (end > brace && (text[end - 1] < '0' || text[end - 1] > '9')) --end;
            if (end > brace) outcome = {text.substr(brace, end - brace), true};
            continue;
        }
        int depth = 0;
        for (std::size_t at = brace; at < text.size(); ++at) {
            if (is_escaped[at]) continue;
            depth += (text[at] == '{') - (text[at] == '}');
            if (depth > 0) continue;
            outcome = {std::string(pe::unicode::strip(pe::Text(text).substr(brace + 1, at - brace - 1))), true};
            break;
        }
    }
    return outcome;
}

// A choice by the whole text, word for word from its start: what was promised before a mention holds until a word that says
// nothing, the end of a sentence, or a mention that counts.
class ChoiceReference {
public:
    explicit ChoiceReference(Strings choices) : choices_(std::move(choices)) {}

    Outcome operator()(const std::string& text) {
        split(text);
        int best = 0;
        std::string chosen;
        bool answer = false, option = false, negated = false;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const Token& token = tokens_[i];
            if (!token.is_word) {
                if (is_any(token.text, {".", "!", "?", ";"})) answer = option = negated = false;
                continue;
            }
            if (const std::string* choice = choice_of(token.text)) {
                const int rank = rank_of(i, *choice, answer && !negated, option && !negated);
                if (rank == 0) continue;
                answer = option = negated = false;
                if (rank < best || (rank == first_rank && best == first_rank)) continue;
                best = rank;
                chosen = *choice;
            } else if (has(token.text, {"answer", "answers", "ans", "boxed", "fbox", "solution", "conclusion", "verdict"})) answer = true;
            else if (has(token.text, {"option", "choice", "choose", "chose", "select", "selected", "pick", "letter", "go", "correct"}))
                option = true;
            else if (is_negation(token.text)) negated = true;
            else if (!is_filler(token.text)) answer = option = negated = false;
        }
        return best > 0 ? Outcome{chosen, true} : Outcome{text, false};
    }

private:
    struct Token {
        std::string text;
        bool is_word;
    };
    static constexpr int first_rank = 3;

    static bool is_any(const std::string& text, std::initializer_list<const char*> known) {
        for (const char* one : known)
            if (text == one) return true;
        return false;
    }
    // By the first eight letters.
    static bool has(const std::string& word, std::initializer_list<const char*> known) {
        for (const char* one : known)
            if (lower(word).substr(0, 8) == std::string(one).substr(0, 8)) return true;
        return false;
    }
    static bool is_negation(const std::string& word) {
        return has(word, {"not", "isn", "never", "neither", "nor", "incorrect", "wrong", "cannot", "eliminate", "than"});
    }
    static bool is_filler(const std::string& word) {
        return has(word, {"is", "are", "be", "was", "would", "should", "must", "the", "my", "your", "final", "correct", "best", "right",
                          "thus", "therefore", "so", "to", "this", "question", "with", "text", "mathrm", "textbf", "mathbf", "letter", "s",
                          "most", "likely", "will", "i", "d"});
    }
    static bool is_letter(std::uint32_t code) {
        if (code < 0x80) return pe::unicode::is_ascii_letter(static_cast<unsigned char>(code)) || pe::unicode::is_ascii_digit(static_cast<unsigned char>(code));
        return pe::unicode::is_kind(code, pe::unicode::kind_word) && !pe::unicode::is_kind(code, pe::unicode::kind_unspaced);
    }
    // Words, and every other character by itself.
    void split(const std::string& text) {
        tokens_.clear();
        const char* const end = text.data() + text.size();
        for (const char* at = text.data(); at < end;) {
            const char* const begin = at;
            const bool letter = is_letter(pe::unicode::next(at, end));
            const std::string character(begin, at);
            if (letter && !tokens_.empty() && tokens_.back().is_word) tokens_.back().text += character;
            else tokens_.push_back({character, letter});
        }
    }
    const std::string* choice_of(const std::string& word) const {
        for (const std::string& choice : choices_)
            if (lower(choice) == lower(word)) return &choice;
        return nullptr;
    }
    const std::string& at(std::size_t i) const {
        static const std::string nothing;
        return i < tokens_.size() ? tokens_[i].text : nothing;
    }
    bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].is_word; }
    // The words behind, apart by spaces and stars only.
    Strings words_from(std::size_t i, std::size_t most) const {
        Strings words;
        while (words.size() < most && is_word(i)) {
            words.push_back(tokens_[i++].text);
            while (is_any(at(i), {" ", "*"})) ++i;
        }
        return words;
    }
    int rank_of(std::size_t i, const std::string& choice, bool answer, bool option) const {
        const bool single = choice.size() == 1, exact = tokens_[i].text == choice;
        const std::string &after = at(i + 1), before = i > 0 ? at(i - 1) : std::string();
        if (is_any(after, {"'", "-", "/"}) && is_word(i + 2)) return 0;
        if (is_any(before, {"-", "/", "'"}) && i > 1 && (is_word(i - 2) || static_cast<signed char>(at(i - 2)[0]) < 0)) return 0;
        if (is_any(after, {"+", "#"})) return 0;
        if ((before == "_") != (after == "_")) return 0;
        bool alone = true, first = true;
        std::size_t bytes = 0;
        for (std::size_t k = 0; k < tokens_.size(); ++k) {
            bytes += tokens_[k].text.size();
            alone = alone && (k == i || !tokens_[k].is_word);
            first = first && (k >= i || !tokens_[k].is_word);
        }
        if (alone && bytes <= 40) return 6;
        std::size_t next = i + 1;
        while (at(next) == " ") ++next;
        const bool followed = next > i + 1 && is_word(next);
        std::size_t said = i + 1;
        while (is_any(at(said), {")", "]", "}", "*", "\"", "$", " "})) ++said;
        const bool speaks = said > i + 1 && is_word(said);
        const Strings words = speaks ? words_from(said, 6) : Strings();
        const bool is = !words.empty() && lower(words[0]) == "is";
        bool approved = false, denied = speaks && is_whole_negation(words[0]);
        for (std::size_t k = 1; is && k < words.size() && !approved; ++k) {
            if (is_whole_negation(words[k])) break;
            approved = is_whole(words[k], {"correct", "right", "best", "answer", "true"});
            if (!approved && !is_whole_filler(words[k])) break;
        }
        for (std::size_t k = 1; is && k < words.size() && k < 3; ++k) denied = denied || is_whole_negation(words[k]);
        if (single && !exact && (followed || !(answer || option)) && !approved) return 0;
        if (denied) return 0;
        if (answer || approved) return 5;
        if (option) return 4;
        if (single && !exact) return 0;
        const bool opened = is_any(before, {"(", "[", "{", "*", "\"", "$"});
        const bool closed = is_any(after, {")", "]", "}", "*", "\"", "$", ".", ":", ","});
        if (first && (opened || closed || (!followed && single) || !single)) return first_rank;
        if (opened && closed) return 2;
        if (single && followed && lower(at(next))[0] == at(next)[0] && is_any(choice, {"A", "I"})) return 0;
        return 1;
    }
    static bool is_whole(const std::string& word, std::initializer_list<const char*> known) {
        for (const char* one : known)
            if (lower(word) == one) return true;
        return false;
    }
    static bool is_whole_negation(const std::string& word) {
        return is_whole(word, {"not", "isn", "never", "neither", "nor", "incorrect", "wrong", "cannot", "eliminate", "than"});
    }
    static bool is_whole_filler(const std::string& word) {
        return is_whole(word, {"is", "are", "be", "was", "would", "should", "must", "the", "my", "your", "final", "correct", "best", "right",
                               "thus", "therefore", "so", "to", "this", "question", "with", "text", "mathrm", "textbf", "mathbf", "letter",
                               "s", "most", "likely", "will", "i", "d"});
    }

    Strings choices_;
    std::vector<Token> tokens_;
};

// Tags one after the other, in a text without code and without messages of Harmony.
Outcome reference_reasoning(const std::string& text) {
    static const Strings names = {"thinking", "think", "reasoning", "thought", "scratchpad"};  // the longer of two first
    std::string kept, open;
    bool found = false;
    const auto keep = [&](const std::string& piece) {
        const auto is_space = [](char c) { return pe::unicode::is_ascii_space(static_cast<unsigned char>(c)); };
        if (!kept.empty() && !piece.empty() && !is_space(kept.back()) && !is_space(piece.front())) kept += ' ';
        kept += piece;
    };
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '<') continue;
        std::size_t name_at = at + 1;
        const bool closes = name_at < text.size() && text[name_at] == '/';
        name_at += closes;
        for (const std::string& name : names) {
            if (lower(text.substr(name_at, name.size())) != name) continue;
            std::size_t end = name_at + name.size();
            if (end < text.size() && pe::unicode::is_ascii_space(static_cast<unsigned char>(text[end])))
                end = std::min({text.find_first_of("<>", end), text.size(), end + 200});
            if (end >= text.size() || text[end] != '>') break;
            found = true;
            if (!open.empty() && closes && name == open) open.clear(), from = end + 1;
            else if (open.empty() && closes) kept.clear(), from = end + 1;
            else if (open.empty()) keep(text.substr(from, at - from)), open = name;
            at = end;
            break;
        }
    }
    if (!found) return {text, false};
    if (open.empty()) keep(text.substr(from));
    return {std::string(pe::unicode::strip(kept)), true};
}

// All of a text's parts that are one JSON object or array.
Strings containers_in(const std::string& text) {
    Strings found;
    pe::json::JsonDocument document;
    for (std::size_t begin = 0; begin < text.size(); ++begin)
        for (std::size_t end = begin + 2; (text[begin] == '{' || text[begin] == '[') && end <= text.size(); ++end)
            if ((text[end - 1] == '}' || text[end - 1] == ']') && document.read(pe::Text(text).substr(begin, end - begin)))
                found.push_back(text.substr(begin, end - begin));
    return found;
}

void test_choices(std::size_t rows, Random& random) {
    static const Strings pieces = {"A", "B", "a", "b", "C", "d", " ", " ", " ", " ", ".", ")", "(", "*", "**", ":", "'", "-", "/", "_", "+", "#",
                                   "\n", ";", "?", ",", "\"", "$", "\\boxed{", "}", "The answer is ", "answer", "answers ", "is", " is ", "not",
                                   " not ", "correct", "the", "I", "would", "pick", "option ", "choice", "wrong", "Paris", "x", "é", "ß", "Ж",
                                   "中", "\xCC\x81", "–", "yes", "no", "Yes", "NO", "nothing", "да", "нет", "7", "A1", "conclusively",
                                   "Let me think about all of the choices once more"};
    static const std::vector<Strings> kinds = {{"A", "B", "C", "D"}, {"yes", "no"}, {"A", "no", "B2"}, {"да", "нет"}, {"1", "7"}, {"go", "I"}};
    for (const Strings& choices : kinds) {
        pe::clean::ExtractChoice step(choices);
        ChoiceReference reference(choices);
        for (std::size_t row = 0; row < rows / kinds.size(); ++row) {
            const std::string text = make_text(pieces, random, random() % 6 == 0 ? 120 : 14);
            check_equal("choice", text, reference(text), run_twice(step, [&] { return pe::clean::ExtractChoice(choices); }, text, random));
        }
    }
}

void test_markers(std::size_t rows, Random& random) {
    static const Strings pieces = {"Answer:", "answer:", "ANSWER", "####", "#", "##", " ", "\n", "**", "__", "42", "aa", "a", "b",
                                   "a long line of text that says nothing, so that there is something to skip over", "é", "\xE3\x80\x80"};
    static const std::vector<Strings> kinds = {{"answer:", "####"}, {"####"}, {"aab"}, {"a", "ab a"}, {"é", " "}};
    for (const Strings& markers : kinds)
        for (const bool case_sensitive : {false, true}) {
            pe::clean::ExtractAfter step(markers, case_sensitive);
            for (std::size_t row = 0; row < rows / kinds.size() / 2; ++row) {
                const std::string text = make_text(pieces, random, 30);
                const auto make = [&] { return pe::clean::ExtractAfter(markers, case_sensitive); };
                check_equal("after", text, reference_after(text, markers, case_sensitive), run_twice(step, make, text, random));
            }
        }
}

void test_boxes(std::size_t rows, Random& random) {
    static const Strings pieces = {"\\boxed{", "\\boxed", "\\fbox{", "{", "}", "}", "\\{", "\\}", "\\\\", "\\", " ", "\n", "x", "\\frac{1}{2}", "box",
                                   "-7", "3/4."};
    pe::clean::ExtractBoxed step;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string text = make_text(pieces, random, 16);
        check_equal("boxed", text, reference_boxed(text), run_twice(step, [] { return pe::clean::ExtractBoxed(); }, text, random));
    }
}

void test_reasoning(std::size_t rows, Random& random) {
    static const Strings pieces = {"<think>", "</think>", "<Thinking>", "</THINKING>", "<reasoning effort=\"low\">", "</reasoning>", "<thought>",
                                   "</scratchpad >", "<thinker>", "<", "</", ">", "think", " ", "\n", "42", "é", "<think", "<b>"};
    static const Strings more = {"`", "```", "~~~", "```\n", "<|channel|>", "analysis", "final", "<|message|>", "<|start|>assistant", "<|end|>",
                                 "<|return|>", "assistantfinal", "<think>", "</think>", "x", "\n"};
    pe::clean::StripReasoning step;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string text = make_text(pieces, random, 14);
        check_equal("reasoning", text, reference_reasoning(text), run_twice(step, [] { return pe::clean::StripReasoning(); }, text, random));
        const std::string marked = make_text(more, random, 20);
        run_twice(step, [] { return pe::clean::StripReasoning(); }, marked, random);
    }
}

void test_fences(std::size_t rows, Random& random) {
    static const Strings pieces = {"```", "````", "~~~", "`", "\n", "\n", "json\n", "  ", "x", "  ```\n", "```\n", "\t", "\r\n"};
    pe::clean::Unfence step;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string text = make_text(pieces, random, 20);
        const Outcome outcome = run_twice(step, [] { return pe::clean::Unfence(); }, text, random);
        if (text.find("```") == std::string::npos && text.find("~~~") == std::string::npos) check(!outcome.found, "no fence", text);
        // The only fence, with text around it that has none.
        const std::string content = "line " + std::to_string(random() % 100) + "\n  ` and ~\nend";
        const std::string mark(3 + random() % 3, random() % 2 ? '`' : '~');
        const std::string fenced = "Here:\n" + mark + (random() % 2 ? "json\n" : "\n") + content + "\n" + mark + "\nBye";
        check_equal("fence", fenced, {content, true}, run(step, fenced));
    }
}

void test_json(std::size_t rows, Random& random) {
    static const Strings pieces = {"{", "}", "[", "]", "\"", "\"a\"", ":", ",", "1", "-", "0.5e3", "true", "null", " ", "\\", "\\u00e9", "x", "{}", "[1]"};
    pe::clean::ExtractJson step;
    pe::json::JsonDocument document;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string text = make_text(pieces, random, 24);
        const Outcome outcome = run_twice(step, [] { return pe::clean::ExtractJson(); }, text, random);
        const Strings containers = containers_in(text);
        if (outcome.found) check(document.read(outcome.text), "what is found is JSON", text);
        check(outcome.found == !containers.empty() || text.find('"') != std::string::npos, "JSON that is there is found", text);
        // Without quotes, nothing that looks like JSON is inside a string: the last complete value counts, with all that is in it.
        if (text.find('"') != std::string::npos || containers.empty()) continue;
        std::string last;
        std::size_t behind = 0;
        for (const std::string& container : containers) {
            const std::size_t end = text.rfind(container) + container.size();
            if (end > behind || (end == behind && container.size() > last.size())) last = container, behind = end;
        }
        check_equal("json", text, {last, true}, outcome);
    }
}

void test_number_windows(std::size_t rows, Random& random) {
    static const Strings pieces = {"1", "42", "0", ",", ".", "-", "e", "%", " ", "$", "€", "−", "x", "\n",
                                   "many words without any number, so that there is something to skip over here"};
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string text = make_text(pieces, random, 20);
        const pe::Text window = pe::clean::LastNumber::window_of(text);
        const std::size_t digit = text.find_last_of("0123456789");
        check(window.empty() != (digit != std::string::npos), "a window where there is a digit", text);
        if (window.empty()) continue;
        // The last run of digits, whole, and what stands before it.
        std::size_t begin = digit;
        while (begin > 0 && pe::unicode::is_ascii_digit(static_cast<unsigned char>(text[begin - 1]))) --begin;
        if (begin > 0) --begin;
        check(window.find(text.substr(begin, digit + 1 - begin)) != std::string::npos, "the last number is in its window", text);
        check(text.find(window) != std::string::npos, "a window is a part of the text", text);
    }
}

// A megabyte each: anything that is not linear in the text would take minutes.
void test_hostile() {
    const Strings choices = {"A", "B", "C", "D"}, words = {"yes", "no"}, markers = {"answer:", "####"};
    const Strings hostile = {"<", "`", "(A", "{", "\\boxed{", "<think>", "</think>", "<think ", "`` ` ", "a is ", "A is not ", "[\"{", "{\"a\":[",
                             "```\n", "```x\n", "~~~x\n```\n", "\n", " ", "A ", "answer ", "is ", "1", "1,", "%  ", "<|", "<|channel|>analysis",
                             "<|channel|>analysis<|message|>", "analysis", "#", "###x", "**", "é", "\xCC\x81", "no ", "n", "\"", "\\\"", "\\"};
    for (const std::string& piece : hostile) {
        std::string text;
        while (text.size() < 1'000'000) text += piece;
        for (const std::string& whole : {text, "Answer: A " + text, text + " 42"}) {
            run(pe::clean::StripReasoning(), whole);
            run(pe::clean::Unfence(), whole);
            run(pe::clean::ExtractJson(), whole);
            run(pe::clean::ExtractBoxed(), whole);
            run(pe::clean::ExtractAfter(markers, false), whole);
            pe::clean::LastNumber().read(whole);
            run(pe::clean::ExtractChoice(choices), whole);
            run(pe::clean::ExtractChoice(words), whole);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    test_choices(rows, random);
    test_markers(rows, random);
    test_boxes(rows, random);
    test_reasoning(rows, random);
    test_fences(rows, random);
    test_json(rows, random);
    test_number_windows(rows, random);
    test_hostile();
    std::printf("clean: %zu texts for each step, and a megabyte of what hurts\n", rows);
}
