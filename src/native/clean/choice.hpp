// The choice that an answer settles on: "The answer is (B)", "**B**", "B) Paris", "\boxed{B}".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "found.hpp"

namespace pe {

// Each mention of a choice is ranked by what stands around it; the last of the best ones counts.
class ExtractChoice {
public:
    explicit ExtractChoice(const std::vector<std::string>& choices) : choices_(choices) {
        for (std::size_t i = 0; i < choices.size(); ++i) note(choices[i], is_choice);
        for (const Text word : answer_cues) note(word, answers);
        for (const Text word : option_cues) note(word, options);
        for (const Text word : negations) note(word, negates);
        for (const Text word : fillers) note(word, fills);
    }

    Found operator()(Text text) {
        best_ = Rank::none;
        text_ = text;
        bool cue_answer = false, cue_option = false, negated = false, first = true;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t word_end = end_of_word(at);
            if (word_end == at) {
                // The end of a sentence ends what a cue promised; a colon, a bracket or a star does not.
                const char c = text[at];
                if ((c == '.' || c == '!' || c == '?' || c == ';') && !first) cue_answer = cue_option = negated = false;
                at += code_point_size(at);
                continue;
            }
            const Text word = text.substr(at, word_end - at);
            const std::uint8_t role = role_of(word);
            const std::size_t number = role & is_choice ? find_choice(word) : choices_.size();
            if (number < choices_.size()) {
                const Rank rank = rank_of(at, word_end, number, first, !negated && cue_answer, !negated && cue_option);
                if (rank > Rank::none && rank >= best_ && !(rank == Rank::first && best_ == Rank::first)) {
                    best_ = rank;
                    chosen_ = number;
                }
                if (rank > Rank::none) cue_answer = cue_option = negated = false;
            } else if (role & answers) cue_answer = true;
            else if (role & options) cue_option = true;
            else if (role & negates) negated = true;
            else if (!(role & fills)) cue_answer = cue_option = negated = false;
            first = false;
            at = word_end;
        }
        return best_ == Rank::none ? nothing_in(text) : Found{choices_[chosen_], true};
    }

private:
    enum class Rank { none, bare, marked, first, option, answer, alone };
    static constexpr Text answer_cues[] = {"answer", "answers", "ans", "boxed", "fbox", "solution", "conclusion", "verdict"};
    static constexpr Text option_cues[] = {"option", "choice", "choose", "chose", "select", "selected", "pick", "letter", "go", "correct"};
    static constexpr Text fillers[] = {"is", "are", "be", "was", "would", "should", "must", "the", "my", "your", "final", "correct", "best",
                                       "right", "thus", "therefore", "so", "to", "this", "question", "with", "text", "mathrm", "textbf",
                                       "mathbf", "letter", "s", "most", "likely", "will", "i", "d"};
    static constexpr Text negations[] = {"not", "isn", "never", "neither", "nor", "incorrect", "wrong", "cannot", "eliminate", "than"};
    static constexpr Text approvals[] = {"correct", "right", "best", "answer", "true"};

    static constexpr std::uint8_t is_choice = 1, answers = 2, options = 4, negates = 8, fills = 16;
    struct Slot {
        std::uint64_t key = 0;
        std::uint8_t role = 0;
    };
    // The first eight bytes of a word, lowercased: no two of the words that matter have them in common, and a choice that
    // shares them is compared as a whole.
    static std::uint64_t key_of(Text word) {
        std::uint64_t key = 0;
        std::memcpy(&key, word.data(), std::min<std::size_t>(word.size(), 8));
        return key | 0x2020202020202020u;
    }
    Slot& slot_of(std::uint64_t key) {
        std::size_t at = (key * 0x9E3779B97F4A7C15u) >> 55;
        while (slots_[at].role != 0 && slots_[at].key != key) at = (at + 1) % slots_.size();
        return slots_[at];
    }
    void note(Text word, std::uint8_t role) {
        Slot& slot = slot_of(key_of(word));
        slot.key = key_of(word);
        slot.role |= role;
    }
    std::uint8_t role_of(Text word) { return slot_of(key_of(word)).role; }

    template <std::size_t count>
    static bool is_one_of(Text word, const Text (&words)[count]) {
        for (const Text known : words)
            if (word.size() == known.size() && starts_with_folded(word, known)) return true;
        return false;
    }
    std::size_t code_point_size(std::size_t at) const {
        if (static_cast<unsigned char>(text_[at]) < 0x80) return 1;
        const char* next = text_.data() + at;
        unicode::next(next, text_.data() + text_.size());
        return static_cast<std::size_t>(next - text_.data()) - at;
    }
    std::size_t end_of_word(std::size_t at) const {
        while (at < text_.size()) {
            const auto byte = static_cast<unsigned char>(text_[at]);
            if (byte < 0x80) {
                if (!is_ascii_letter(byte) && !is_ascii_digit(byte)) break;
                ++at;
                continue;
            }
            const char* next = text_.data() + at;
            const std::uint32_t code = unicode::next(next, text_.data() + text_.size());
            if (!is_kind(code, kind_word) || is_kind(code, kind_unspaced)) break;
            at = static_cast<std::size_t>(next - text_.data());
        }
        return at;
    }
    std::size_t find_choice(Text word) const {
        for (std::size_t i = 0; i < choices_.size(); ++i) {
            if (word.size() != choices_[i].size()) continue;
            bool same = true;
            for (std::size_t k = 0; k < word.size() && same; ++k) same = ascii_lower(word[k]) == ascii_lower(choices_[i][k]);
            if (same) return i;
        }
        return choices_.size();
    }
    char at_or_zero(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
    bool is_word_at(std::size_t at) const { return at < text_.size() && end_of_word(at) > at; }

    Rank rank_of(std::size_t begin, std::size_t end, std::size_t number, bool first, bool cue_answer, bool cue_option) const {
        const bool single = choices_[number].size() == 1;
        const bool exact = text_.substr(begin, end - begin) == Text(choices_[number]);
        const char after = at_or_zero(end), before = begin == 0 ? '\0' : text_[begin - 1];
        // D'accord, C++, C#, A-level, B/W
        if ((after == '\'' || after == '-' || after == '/') && is_word_at(end + 1)) return Rank::none;
        if ((before == '-' || before == '/' || before == '\'') && begin > 1 && is_word_before(begin - 1)) return Rank::none;
        if (after == '+' || after == '#' || before == '_' || after == '_') {
            if (!(before == '_' && after == '_')) return Rank::none;
        }
        const bool opened = before == '(' || before == '[' || before == '{' || before == '*' || before == '"' || before == '$';
        const bool closed = after == ')' || after == ']' || after == '}' || after == '*' || after == '"' || after == '$' ||
                            after == '.' || after == ':' || after == ',';
        if (is_alone(begin, end)) return Rank::alone;
        // "a" is an article where a word follows, and so is "A" where no cue stands before it.
        std::size_t next = end;
        while (next < text_.size() && text_[next] == ' ') ++next;
        const bool followed = next > end && is_word_at(next);
        const bool approved = followed && is_approved(next);
        if (single && !exact && (followed || !(cue_answer || cue_option)) && !approved) return Rank::none;
        if (is_denied(next, followed)) return Rank::none;
        if (cue_answer || approved) return Rank::answer;
        if (cue_option) return Rank::option;
        if (single && !exact) return Rank::none;
        if (first && (opened || closed || (!followed && single) || !single)) return Rank::first;
        if (opened && closed) return Rank::marked;
        if (single && followed && ascii_lower(text_[next]) == text_[next] && is_article(number)) return Rank::none;
        return Rank::bare;
    }
    bool is_article(std::size_t number) const { return choices_[number] == "A" || choices_[number] == "I"; }
    bool is_word_before(std::size_t at) const {
        const auto c = static_cast<unsigned char>(text_[at - 1]);
        return is_ascii_letter(c) || is_ascii_digit(c) || c >= 0x80;
    }
    // Whether nothing but punctuation stands around it in the whole text.
    bool is_alone(std::size_t begin, std::size_t end) const {
        constexpr std::size_t longest = 40;
        if (text_.size() > longest) return false;
        for (std::size_t at = 0; at < text_.size(); at += code_point_size(at))
            if ((at < begin || at >= end) && end_of_word(at) > at) return false;
        return true;
    }
    // "is correct", "is the right answer"
    bool is_approved(std::size_t at) const {
        bool is = false;
        for (int words = 0; words < 6 && at < text_.size(); ++words) {
            const std::size_t end = end_of_word(at);
            const Text word = text_.substr(at, end - at);
            if (words == 0) is = starts_with_folded(word, "is") && word.size() == 2;
            if (!is || is_one_of(word, negations)) return false;
            if (is_one_of(word, approvals)) return true;
            if (words > 0 && !is_one_of(word, fillers)) return false;
            at = end;
            while (at < text_.size() && (text_[at] == ' ' || text_[at] == '*')) ++at;
        }
        return false;
    }
    // "is not", "is wrong"
    bool is_denied(std::size_t at, bool followed) const {
        for (int words = 0; followed && words < 3 && at < text_.size(); ++words) {
            const std::size_t end = end_of_word(at);
            const Text word = text_.substr(at, end - at);
            if (is_one_of(word, negations)) return true;
            if (words == 0 && !(word.size() == 2 && starts_with_folded(word, "is"))) return false;
            at = end;
            while (at < text_.size() && (text_[at] == ' ' || text_[at] == '*')) ++at;
        }
        return false;
    }

    const std::vector<std::string>& choices_;
    std::array<Slot, 512> slots_{};
    Text text_;
    Rank best_ = Rank::none;
    std::size_t chosen_ = 0;
};

}  // namespace pe
