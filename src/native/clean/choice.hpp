// The choice that an answer settles on: "The answer is (B)", "**B**", "B) Paris", "\boxed{B}".
#pragma once

#include "../unicode/padded.hpp"
#include "found.hpp"

namespace pe::clean {

// Each mention of a choice is ranked by what stands around it; the last of the best ones counts. Only mentions are looked at,
// and from each of them back to the last word that says nothing about it.
class ExtractChoice {
public:
    explicit ExtractChoice(const std::vector<std::string>& choices) : choices_(choices) {
        for (const std::string& choice : choices) {
            note(choice, is_choice);
            mark(first_bytes_, choice.front());
            if (choice.size() > 1) mark(second_bytes_, choice[1]);
            else second_bytes_.fill(true);
            are_letters_ &= choice.size() == 1;
            are_wide_ |= static_cast<unsigned char>(choice.front()) >= 0x80;
        }
        for (const Text word : answer_cues) note(word, answers);
        for (const Text word : option_cues) note(word, options);
        for (const Text word : negations) note(word, negates);
        for (const Text word : fillers) note(word, fills);
    }

    Found operator()(Text text) {
        best_ = Rank::none;
        text_ = text;
        first_word_ = Text::npos;
        behind_ = 0;
        cues_ = 0;
        std::uint64_t before = 0;  // whether the byte before is part of a word
        for (std::size_t at = 0; at < text.size(); at += step) {
            std::uint8_t bytes[step] = {}, is_word[step], is_wide[step];
            std::memcpy(bytes, text.data() + at, std::min(step, text.size() - at));
            for (std::size_t i = 0; i < step; ++i) {
                is_word[i] =
                    static_cast<std::uint8_t>(int{unicode::is_ascii_letter(bytes[i])} | int{unicode::is_ascii_digit(bytes[i])});
                is_wide[i] = bytes[i] >> 7;
            }
            const std::uint64_t words = unicode::pack_flags(is_word);
            std::uint64_t starts = words & ~(words << 1 | before);
            if (are_letters_) starts &= ~(words >> 1);
            if (are_wide_) starts |= unicode::pack_flags(is_wide);
            before = words >> (step - 1);
            for (; starts != 0; starts &= starts - 1) {
                const std::size_t place = count_trailing_zeros(starts);
                if (first_bytes_[bytes[place]]) read_mention(at + place);
            }
        }
        return best_ == Rank::none ? nothing_in(text) : Found{choices_[chosen_], true};
    }

private:
    enum class Rank { none, bare, marked, first, option, answer, alone };
    static constexpr Text answer_cues[] = {"answer", "answers", "ans", "boxed", "fbox", "solution", "conclusion", "verdict"};
    static constexpr Text option_cues[] = {"option",   "choice", "choose", "chose", "select",
                                           "selected", "pick",   "letter", "go",    "correct"};
    static constexpr Text fillers[] = {"is",     "are",    "be",    "was",      "would",  "should", "must",   "the",
                                       "my",     "your",   "final", "correct",  "best",   "right",  "thus",   "therefore",
                                       "so",     "to",     "this",  "question", "with",   "text",   "mathrm", "textbf",
                                       "mathbf", "letter", "s",     "most",     "likely", "will",   "i",      "d"};
    static constexpr Text negations[] = {"not",       "isn",   "never",  "neither",   "nor",
                                         "incorrect", "wrong", "cannot", "eliminate", "than"};
    static constexpr Text approvals[] = {"correct", "right", "best", "answer", "true"};

    static constexpr std::uint8_t is_choice = 1, answers = 2, options = 4, negates = 8, fills = 16;
    static constexpr std::size_t step = 64;
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
    static void mark(std::array<bool, 256>& bytes, char c) {
        const auto lower = static_cast<unsigned char>(unicode::ascii_lower(c));
        bytes[lower] = bytes[unicode::is_ascii_letter(lower) ? lower - 0x20 : lower] = true;
    }
    // Looks at what may be a choice.
    void read_mention(std::size_t begin) {
        if (begin + 1 < text_.size() && !second_bytes_[static_cast<unsigned char>(text_[begin + 1])]) return;
        if (begin > 0 && is_letter_before(begin)) return;
        const std::size_t end = end_of_word(begin), number = find_choice(text_.substr(begin, end - begin));
        if (number == choices_.size() || is_article_at(begin, end, number)) return;
        if (first_word_ == Text::npos) first_word_ = find_word();
        cues_ = cues_before(begin, behind_, cues_);
        behind_ = end;
        const bool agrees = !(cues_ & negates);
        const Rank rank =
            rank_of(begin, end, number, begin == first_word_, agrees && (cues_ & answers), agrees && (cues_ & options));
        if (rank == Rank::none) return;
        cues_ = 0;
        if (rank < best_ || (rank == Rank::first && best_ == Rank::first)) return;
        best_ = rank;
        chosen_ = number;
    }
    // Where the first word begins.
    std::size_t find_word() const {
        std::size_t at = 0;
        while (at < text_.size() && end_of_word(at) == at) at += code_point_size(at);
        return at;
    }
    static bool is_letter(std::uint32_t code) {
        if (code < 0x80) return unicode::is_ascii_alphanumeric(static_cast<unsigned char>(code));
        return unicode::is_kind(code, unicode::kind_word) && !unicode::is_kind(code, unicode::kind_unspaced);
    }
    bool is_letter_before(std::size_t at) const {
        const char* before = text_.data() + at;
        return is_letter(unicode::previous(text_.data(), before));
    }
    // What the words before `at` promise or deny, back to one that ends all that: a word that says nothing, articles aside, or
    // the end of a sentence; a colon, a bracket or a star does not. `earlier` counts if there is none behind `from`.
    std::uint8_t cues_before(std::size_t at, std::size_t from, std::uint8_t earlier) {
        const char* const begin = text_.data() + from;
        std::uint8_t cues = 0;
        for (const char* end = text_.data() + at; end > begin;) {
            const char* start = end;
            std::uint32_t code = unicode::previous(begin, start);
            if (!is_letter(code)) {
                if (code == '.' || code == '!' || code == '?' || code == ';') return cues;
                end = start;
                continue;
            }
            for (const char* next = start; next > begin; start = next)
                if (!is_letter(unicode::previous(begin, next))) break;
            const std::uint8_t role = role_of(between(start, end));
            if (role & answers) cues |= answers;
            else if (role & options) cues |= options;
            else if (role & negates) cues |= negates;
            else if (!(role & fills) && !((role & is_choice) && find_choice(between(start, end)) < choices_.size()))
                return cues;
            end = start;
        }
        return cues | earlier;
    }
    std::size_t end_of_word(std::size_t at) const {
        while (at < text_.size()) {
            const auto byte = static_cast<unsigned char>(text_[at]);
            if (byte < 0x80) {
                if (!unicode::is_ascii_alphanumeric(byte)) break;
                ++at;
                continue;
            }
            const char* next = text_.data() + at;
            if (!is_letter(unicode::next(next, text_.data() + text_.size()))) break;
            at = static_cast<std::size_t>(next - text_.data());
        }
        return at;
    }
    std::size_t find_choice(Text word) const {
        for (std::size_t i = 0; i < choices_.size(); ++i) {
            if (word.size() != choices_[i].size()) continue;
            bool same = true;
            for (std::size_t k = 0; k < word.size() && same; ++k)
                same = unicode::ascii_lower(word[k]) == unicode::ascii_lower(choices_[i][k]);
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
        const std::size_t next = behind_spaces(end);
        const bool followed = next > end && is_word_at(next);
        // "(A) is wrong": what is said of it stands behind its bracket.
        std::size_t said = end;
        while (said < text_.size() && Text(")]}*\"$ ").find(text_[said]) != Text::npos) ++said;
        const bool speaks = said > end && is_word_at(said);
        const bool approved = speaks && is_approved(said);
        if (single && !exact && !(cue_answer || cue_option) && !approved) return Rank::none;
        if (is_denied(said, speaks)) return Rank::none;
        if (cue_answer || approved) return Rank::answer;
        if (cue_option) return Rank::option;
        if (single && !exact) return Rank::none;
        if (first && (opened || closed || (!followed && single) || !single)) return Rank::first;
        if (opened && closed) return Rank::marked;
        if (single && followed && unicode::ascii_lower(text_[next]) == text_[next] && is_article(number)) return Rank::none;
        return Rank::bare;
    }
    std::size_t behind_spaces(std::size_t at) const {
        while (at < text_.size() && text_[at] == ' ') ++at;
        return at;
    }
    // Whether it is a lowercase letter before a word that does not approve of it, and so no choice whatever stands before it.
    bool is_article_at(std::size_t begin, std::size_t end, std::size_t number) const {
        if (end - begin > 1 || choices_[number].front() == text_[begin]) return false;
        const std::size_t next = behind_spaces(end);
        return next > end && is_word_at(next) && !is_approved(next);
    }
    bool is_article(std::size_t number) const { return choices_[number] == "A" || choices_[number] == "I"; }
    bool is_word_before(std::size_t at) const {
        const auto c = static_cast<unsigned char>(text_[at - 1]);
        return unicode::is_ascii_alphanumeric(c) || c >= 0x80;
    }
    // Whether nothing but punctuation stands around it in the whole text.
    bool is_alone(std::size_t begin, std::size_t end) const {
        constexpr std::size_t longest = 40;
        if (text_.size() > longest) return false;
        for (std::size_t at = 0; at < text_.size(); at += code_point_size(at))
            if ((at < begin || at >= end) && end_of_word(at) > at) return false;
        return true;
    }
    // The word at `at`, which moves behind it and what separates it from the next one.
    Text read_word(std::size_t& at) const {
        const std::size_t begin = at, end = end_of_word(at);
        for (at = end; at < text_.size() && (text_[at] == ' ' || text_[at] == '*');) ++at;
        return text_.substr(begin, end - begin);
    }
    static bool is_is(Text word) { return word.size() == 2 && starts_with_folded(word, "is"); }
    // "is correct", "is the right answer"
    bool is_approved(std::size_t at) const {
        if (at >= text_.size() || !is_is(read_word(at))) return false;
        for (int words = 1; words < 6 && at < text_.size(); ++words) {
            const Text word = read_word(at);
            if (is_one_of(word, negations)) return false;
            if (is_one_of(word, approvals)) return true;
            if (!is_one_of(word, fillers)) return false;
        }
        return false;
    }
    // "is not", "is wrong"
    bool is_denied(std::size_t at, bool followed) const {
        for (int words = 0; followed && words < 3 && at < text_.size(); ++words) {
            const Text word = read_word(at);
            if (is_one_of(word, negations)) return true;
            if (words == 0 && !is_is(word)) return false;
        }
        return false;
    }

    const std::vector<std::string>& choices_;
    std::array<Slot, 512> slots_{};
    std::array<bool, 256> first_bytes_{}, second_bytes_{};  // of the choices, in either case
    bool are_letters_ = true, are_wide_ = false;            // whether all are of one byte, and whether any begins outside ASCII
    Text text_;
    std::size_t first_word_ = 0, behind_ = 0;  // where the first word begins and the last mention ends
    std::uint8_t cues_ = 0;                    // from before `behind_`
    Rank best_ = Rank::none;
    std::size_t chosen_ = 0;
};

}  // namespace pe::clean
