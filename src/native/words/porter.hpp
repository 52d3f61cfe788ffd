// Porter's stemmer with the extensions of NLTK, which is the stemmer of rouge-score.
#pragma once

#include <initializer_list>

#include "../core/text.hpp"

namespace pe::words {

struct StemRule {
    Text suffix, replacement;
};
inline constexpr StemRule irregular_forms[] = {
    {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
    {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
    {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
    {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"},
};
inline constexpr std::size_t longest_irregular = 8;

// A bit for each letter that an irregular form starts with.
inline constexpr std::uint32_t irregular_starts = [] {
    std::uint32_t letters = 0;
    for (const StemRule& rule : irregular_forms) letters |= std::uint32_t{1} << (rule.suffix[0] - 'a');
    return letters;
}();

// Stems the lowercase word in place and returns the new length, which is never larger. Every byte other than a, e, i, o,
// u and some y counts as a consonant.
class PorterStemmer {
public:
    static std::size_t stem(char* word, std::size_t length) {
        if (length <= 2) return length;
        if (length <= longest_irregular && irregular_starts >> ((word[0] - 'a') & 31) & 1) {
            for (const auto& [form, base] : irregular_forms) {
                if (Text(word, length) != form) continue;
                std::memcpy(word, base.data(), base.size());
                return base.size();
            }
        }
        PorterStemmer stemmer(word, length);
        stemmer.step_1a();
        stemmer.step_1b();
        stemmer.step_1c();
        stemmer.step_2();
        stemmer.step_3();
        stemmer.step_4();
        stemmer.step_5a();
        stemmer.step_5b();
        return stemmer.length_;
    }

private:
    PorterStemmer(char* word, std::size_t length) : word_(word), length_(length) {}

    static bool is_vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'; }

    // A y is a consonant at the start of the word and behind a vowel.
    bool is_consonant(std::size_t i) const {
        bool flip = false;
        for (; i > 0 && word_[i] == 'y'; --i) flip = !flip;
        return !is_vowel(word_[i]) != flip;
    }
    // How many times a consonant follows a vowel in the first `length` letters, counted up to 2.
    int measure(std::size_t length) const {
        int count = 0;
        bool consonant = true;  // as if a consonant stood in front
        for (std::size_t i = 0; i < length; ++i) {
            const bool before = consonant;
            consonant = word_[i] == 'y' ? i == 0 || !before : !is_vowel(word_[i]);
            if (consonant && !before && ++count == 2) return count;
        }
        return count;
    }
    bool contains_vowel(std::size_t length) const {
        for (std::size_t i = 0; i < length; ++i)
            if (is_vowel(word_[i]) || (word_[i] == 'y' && i > 0)) return true;
        return false;
    }
    bool ends_with(Text suffix) const {
        // The last letter decides nearly always.
        return word_[length_ - 1] == suffix.back() && length_ >= suffix.size() &&
               std::memcmp(word_ + length_ - suffix.size(), suffix.data(), suffix.size()) == 0;
    }
    bool ends_double_consonant() const {
        return length_ >= 2 && word_[length_ - 1] == word_[length_ - 2] && is_consonant(length_ - 1);
    }
    bool ends_consonant_vowel_consonant(std::size_t length) const {
        if (length == 2) return !is_consonant(0) && is_consonant(1);
        if (length < 3 || !is_consonant(length - 3) || is_consonant(length - 2) || !is_consonant(length - 1)) return false;
        const char last = word_[length - 1];
        return last != 'w' && last != 'x' && last != 'y';
    }
    void replace(std::size_t suffix, Text replacement) {
        std::memcpy(word_ + length_ - suffix, replacement.data(), replacement.size());
        length_ += replacement.size() - suffix;
    }
    // The first rule whose suffix fits decides, also when the rest of the word is too short for it.
    void apply(std::initializer_list<StemRule> rules, int least_measure) {
        for (const StemRule& rule : rules) {
            if (!ends_with(rule.suffix)) continue;
            if (measure(length_ - rule.suffix.size()) >= least_measure) replace(rule.suffix.size(), rule.replacement);
            return;
        }
    }
    void drop(std::initializer_list<Text> suffixes) {
        for (const Text suffix : suffixes) {
            if (!ends_with(suffix)) continue;
            if (measure(length_ - suffix.size()) > 1) length_ -= suffix.size();
            return;
        }
    }
    // Suffixes with different letters in this place exclude each other, so that a switch can choose among them.
    char last_but_one() const { return length_ > 1 ? word_[length_ - 2] : '\0'; }

    void step_1a() {
        if (word_[length_ - 1] != 's') return;
        if (ends_with("ies")) length_ -= length_ == 4 ? 1 : 2;
        else if (ends_with("sses")) length_ -= 2;
        else if (!ends_with("ss")) length_ -= 1;
    }
    void step_1b() {
        if (ends_with("ied")) {
            length_ -= length_ == 4 ? 1 : 2;
            return;
        }
        if (ends_with("eed")) {
            if (measure(length_ - 3) > 0) length_ -= 1;
            return;
        }
        const std::size_t suffix = ends_with("ed") ? 2 : ends_with("ing") ? 3 : 0;
        if (suffix == 0 || !contains_vowel(length_ - suffix)) return;
        length_ -= suffix;
        if (ends_with("at") || ends_with("bl") || ends_with("iz")) {
            word_[length_++] = 'e';
            return;
        }
        const char last = word_[length_ - 1];
        if (ends_double_consonant()) {
            if (last != 'l' && last != 's' && last != 'z') --length_;
        } else if (measure(length_) == 1 && ends_consonant_vowel_consonant(length_)) word_[length_++] = 'e';
    }
    void step_1c() {
        if (length_ > 2 && word_[length_ - 1] == 'y' && is_consonant(length_ - 2)) word_[length_ - 1] = 'i';
    }
    void step_2() {
        while (ends_with("alli") && measure(length_ - 4) > 0) length_ -= 2;
        // The l belongs to the stem, so that short stems such as geo and theo count.
        if (ends_with("logi")) {
            if (measure(length_ - 3) > 0) length_ -= 1;
            return;
        }
        switch (last_but_one()) {
            case 'a': return apply({{"ational", "ate"}, {"tional", "tion"}}, 1);
            case 'c': return apply({{"enci", "ence"}, {"anci", "ance"}}, 1);
            case 'e': return apply({{"izer", "ize"}}, 1);
            case 'l':
                return apply(
                    {{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"fulli", "ful"}}, 1);
            case 'o': return apply({{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}}, 1);
            case 's': return apply({{"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}}, 1);
            case 't': return apply({{"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}}, 1);
        }
    }
    void step_3() {
        switch (word_[length_ - 1]) {
            case 'e': return apply({{"icate", "ic"}, {"ative", ""}, {"alize", "al"}}, 1);
            case 'i': return apply({{"iciti", "ic"}}, 1);
            case 'l': return apply({{"ical", "ic"}, {"ful", ""}}, 1);
            case 's': return apply({{"ness", ""}}, 1);
        }
    }
    void step_4() {
        switch (last_but_one()) {
            case 'a': return drop({"al"});
            case 'c': return drop({"ance", "ence"});
            case 'e': return drop({"er"});
            case 'i': return drop({"ic"});
            case 'l': return drop({"able", "ible"});
            case 'n': return drop({"ant", "ement", "ment", "ent"});
            case 'o':
                if (ends_with("ion")) {
                    const char before = length_ > 3 ? word_[length_ - 4] : '\0';
                    if ((before == 's' || before == 't') && measure(length_ - 3) > 1) length_ -= 3;
                    return;
                }
                return drop({"ou"});
            case 's': return drop({"ism"});
            case 't': return drop({"ate", "iti"});
            case 'u': return drop({"ous"});
            case 'v': return drop({"ive"});
            case 'z': return drop({"ize"});
        }
    }
    void step_5a() {
        if (word_[length_ - 1] != 'e') return;
        const int stem = measure(length_ - 1);
        if (stem > 1 || (stem == 1 && !ends_consonant_vowel_consonant(length_ - 1))) --length_;
    }
    void step_5b() {
        if (ends_with("ll") && measure(length_ - 1) > 1) --length_;
    }

    char* word_;
    std::size_t length_;
};

}  // namespace pe::words
