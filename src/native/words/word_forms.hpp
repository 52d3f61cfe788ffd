// Several readings of one text at the price of little more than one.
//
// A text is cut at white space once. What a reading makes of the word in between is the same wherever the word stands, so
// it is read once and looked up from then on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reading.hpp"

namespace pe::words {

class WordForms {
public:
    // To be called before the first pair of a call.
    void start() {
        if (reader_.start() || readings_.size() == most_readings) forget();
    }
    // To be called before each pair of texts; true if numbers from before mean nothing any more.
    bool start_pair() {
        if (!reader_.start_pair() && words_.size() < most_words && parts_.size() < most_parts) return false;
        forget();
        return true;
    }
    // The numbers of a reading are below this.
    std::size_t limit(const Reading& reading) { return reader_.limit(reading); }

    void append(Text text, const Reading& reading, Numbers& out) { reader_.read(text, reading, out); }

    struct Wanted {
        Reading reading;
        Numbers* out;
        bool is_of_words = false;  // whether it reads the words between white space one by one
    };
    void read(Text text, std::vector<Wanted>& wanted) {
        std::size_t of_words = 0;
        bool is_worth_it = false;
        for (Wanted& one : wanted) {
            one.out->clear();
            one.is_of_words = reads_words_alone(text, one.reading.tokenizer);
            of_words += one.is_of_words;
            is_worth_it = is_worth_it || of_words > 1 || (one.is_of_words && is_slow(one.reading.tokenizer));
        }
        if (is_worth_it) cut(text);
        for (const auto& [reading, out, is_of_words] : wanted) {
            if (is_worth_it && is_of_words) look_up(text, reading, *out);
            else append(text, reading, *out);
        }
    }

private:
    static constexpr std::size_t most_words = 1 << 18, most_parts = 1 << 20, most_readings = 8;
    // Longer ones, such as the sentences of scripts without spaces, hardly ever come again.
    static constexpr std::size_t longest_word = 48;
    static constexpr std::uint32_t long_word = 0;
    // What a reading makes of a word. Nearly always up to two numbers, of 32 and of 30 bits, and how many they are in the
    // highest two bits: both are written and the count decides what stays, as no branch predicts which words have a comma.
    // Else, from `several` on, where in `parts_` it stands how many, and they.
    using Form = std::uint64_t;
    static constexpr unsigned second_bits = 30;
    static constexpr Form second_mask = (Form{1} << second_bits) - 1, several = Form{3} << 62, unread = ~Form{0};
    // What all readings make of a word, so that one look at memory serves them all.
    struct alignas(64) Forms {
        Form of[most_readings];
        Forms() { std::fill_n(of, most_readings, unread); }
    };

    void forget() {
        words_.clear();
        parts_.clear();
        readings_.clear();
        forms_.resize(1);
    }

    static bool reads_words_alone(Text text, Tokenizer tokenizer) {
        switch (tokenizer) {
            case Tokenizer::v13a: return BleuTokenReader::splits_words_alone(text);
            case Tokenizer::intl:
            case Tokenizer::separated:
            case Tokenizer::code_points:
            case Tokenizer::spaced_code_points: return false;
            default: return true;
        }
    }

    // SQuAD's takes several passes over the text, so that looking up is faster even alone.
    static bool is_slow(Tokenizer tokenizer) { return tokenizer == Tokenizer::squad; }

    void cut(Text text) {
        cut_.clear();
        cutter_.split(text, cut_);
        bool has_long_words = false;
        for (std::size_t i = 0; i < cut_.size(); ++i) has_long_words |= cut_[i].length > longest_word;
        numbers_.resize(cut_.size());
        if (!has_long_words) return number(cut_);
        short_.clear();
        for (std::size_t i = 0; i < cut_.size(); ++i)
            if (cut_[i].length <= longest_word) short_.push(cut_[i].bytes, cut_[i].length);
        number(short_);
        for (std::size_t i = cut_.size(), known = short_.size(); i-- > 0;)
            numbers_[i] = cut_[i].length > longest_word ? long_word : numbers_[--known];
    }
    void number(const WordList& words) {
        words_.find_or_add(words, numbers_.data(), [this](std::size_t, std::uint32_t number, std::uint32_t) {
            const std::uint32_t place = number + 1;  // behind that of long words
            if (place == forms_.size()) forms_.emplace_back();
            prefetch(&forms_[place]);
            return place;
        });
    }

    void look_up(Text text, const Reading& reading, Numbers& out) {
        const std::size_t place = place_of(reading);
        if (place == most_readings) return append(text, reading, out);
        std::size_t size = 0;
        out.resize(2 * cut_.size());  // two for each word that is left, always
        for (std::size_t i = 0; i < cut_.size(); ++i) {
            const Form form = forms_[numbers_[i]].of[place];
            if (form < several) {
                out[size] = static_cast<std::uint32_t>(form);
                out[size + 1] = static_cast<std::uint32_t>(form >> 32 & second_mask);
                size += form >> 62;
                continue;
            }
            out.resize(size);
            append_rare(i, place, out);
            size = out.size();
            out.resize(size + 2 * (cut_.size() - i));
        }
        out.resize(size);
    }
    // Words that are long, new, or several in one.
    PE_NEVER_INLINE void append_rare(std::size_t i, std::size_t place, Numbers& out) {
        const Text word(cut_[i].bytes, cut_[i].length);
        if (numbers_[i] == long_word) return append(word, readings_[place], out);
        Form& form = forms_[numbers_[i]].of[place];
        if (form == unread) {
            const std::size_t before = out.size();
            append(word, readings_[place], out);
            form = form_of(out.data() + before, out.size() - before);
            return;
        }
        const std::uint32_t* const part = parts_.data() + (form - several);
        out.insert(out.end(), part + 1, part + 1 + *part);
    }
    Form form_of(const std::uint32_t* numbers, std::size_t count) {
        const Form first = count > 0 ? numbers[0] : 0, second = count > 1 ? numbers[1] : 0;
        if (count <= 2 && second <= second_mask) return static_cast<Form>(count) << 62 | second << 32 | first;
        const auto place = static_cast<Form>(parts_.size());
        parts_.push_back(static_cast<std::uint32_t>(count));
        parts_.insert(parts_.end(), numbers, numbers + count);
        return several | place;
    }
    // Where the forms of a reading are; `most_readings` if there is no place for them.
    std::size_t place_of(const Reading& reading) {
        for (std::size_t i = 0; i < readings_.size(); ++i)
            if (readings_[i] == reading) return i;
        if (readings_.size() == most_readings) return most_readings;
        readings_.push_back(reading);
        return readings_.size() - 1;
    }

    WordReader reader_;
    TokenReader cutter_;
    Interner words_;  // as they stand between white space
    WordList cut_, short_;
    Numbers numbers_;  // of the words of `cut_`: where their forms are
    Numbers parts_;
    std::vector<Reading> readings_;
    std::vector<Forms> forms_{1};  // those of long words are never read
};

}  // namespace pe::words
