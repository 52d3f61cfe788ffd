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

namespace pe {

class WordForms {
public:
    // To be called before the first pair of a call.
    void start() {
        if (readings_.size() == most_readings) forget();
    }
    // To be called before each pair of texts; true if numbers from before mean nothing any more.
    bool start_pair() {
        if (!reader_.start_pair() && words_.size() < most_words && parts_.size() < most_parts) return false;
        forget();
        return true;
    }
    // The numbers of a reading are below this.
    std::size_t limit(const Reading& reading) const { return reader_.limit(reading); }

    void append(Text text, const Reading& reading, Numbers& out) { reader_.read(text, reading, out); }

    struct Wanted {
        Reading reading;
        Numbers* out;
    };
    void read(Text text, const std::vector<Wanted>& wanted) {
        for (const Wanted& one : wanted) one.out->clear();
        bool is_worth_it = false;
        std::size_t alone = 0;
        for (const Wanted& one : wanted) {
            if (!reads_words_alone(text, one.reading.tokenizer)) continue;
            is_worth_it = is_worth_it || ++alone > 1 || is_slow(one.reading.tokenizer);
        }
        if (is_worth_it) cut(text);
        for (const auto& [reading, out] : wanted) {
            if (is_worth_it && reads_words_alone(text, reading.tokenizer)) look_up(text, reading, *out);
            else append(text, reading, *out);
        }
    }

private:
    static constexpr std::size_t most_words = 1 << 18, most_parts = 1 << 20, most_readings = 8;
    // Longer ones, such as the sentences of scripts without spaces, hardly ever come again.
    static constexpr std::size_t longest_word = 48;
    // What a reading makes of a word. Nearly always up to two numbers of 31 bits, and how many they are in the highest two
    // bits: both are written and the count decides what stays, as no branch predicts which words have a comma. Else, from
    // `several` on, where in `parts_` it stands how many, and they.
    using Form = std::uint64_t;
    static constexpr unsigned number_bits = 31;
    static constexpr Form number_mask = (Form{1} << number_bits) - 1, several = Form{3} << 62, unread = ~Form{0};
    // What all readings make of a word, so that one look at memory serves them all.
    struct alignas(64) Forms {
        Form of[most_readings];
        Forms() { std::fill_n(of, most_readings, unread); }
    };

    void forget() {
        words_.clear();
        parts_.clear();
        readings_.clear();
        forms_.clear();
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
        has_long_words_ = false;
        for (std::size_t i = 0; i < cut_.size(); ++i) has_long_words_ |= cut_[i].length > longest_word;
        if (has_long_words_) {
            short_.clear();
            for (std::size_t i = 0; i < cut_.size(); ++i)
                if (cut_[i].length <= longest_word) short_.push(cut_[i].bytes, cut_[i].length);
        }
        const WordList& words = has_long_words_ ? short_ : cut_;
        numbers_.resize(words.size());
        words_.find_or_add(words, numbers_.data(), [this](std::size_t, std::uint32_t number, std::uint32_t) {
            if (number == forms_.size()) forms_.emplace_back();
            prefetch(&forms_[number]);
            return number;
        });
    }

    void look_up(Text text, const Reading& reading, Numbers& out) {
        const std::size_t place = place_of(reading);
        if (place == most_readings) return append(text, reading, out);
        const std::uint32_t* number = numbers_.data();
        std::size_t size = 0;
        // Two places for each word that follows, always.
        out.resize(2 * cut_.size());
        for (std::size_t i = 0; i < cut_.size(); ++i) {
            const std::size_t rest = 2 * (cut_.size() - i);
            if (has_long_words_ && cut_[i].length > longest_word) {
                out.resize(size);
                append({cut_[i].bytes, cut_[i].length}, reading, out);
                size = out.size();
                out.resize(size + rest);
                continue;
            }
            Form& form = forms_[*number++].of[place];
            if (form == unread) form = read_form(cut_[i], reading);
            if (form < several) {
                out[size] = static_cast<std::uint32_t>(form & number_mask);
                out[size + 1] = static_cast<std::uint32_t>(form >> number_bits & number_mask);
                size += form >> 62;
                continue;
            }
            const std::uint32_t* part = parts_.data() + (form - several);
            const std::size_t count = *part++;
            if (out.size() < size + count + rest) out.resize(size + count + 2 * rest);
            for (const std::uint32_t* const end = part + count; part < end; ++part) out[size++] = *part;
        }
        out.resize(size);
    }
    Form read_form(Word word, const Reading& reading) {
        form_.clear();
        append({word.bytes, word.length}, reading, form_);
        const std::size_t count = form_.size();
        const Form first = count > 0 ? form_[0] : 0, second = count > 1 ? form_[1] : 0;
        if (count <= 2 && first <= number_mask && second <= number_mask)
            return static_cast<Form>(count) << 62 | second << number_bits | first;
        const auto place = static_cast<Form>(parts_.size());
        parts_.push_back(static_cast<std::uint32_t>(count));
        parts_.insert(parts_.end(), form_.begin(), form_.end());
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

    Reader reader_;
    TokenReader cutter_;
    Interner words_;  // as they stand between white space
    WordList cut_, short_;
    bool has_long_words_ = false;  // in `cut_`, and not in `short_`
    Numbers numbers_, parts_, form_;
    std::vector<Reading> readings_;
    std::vector<Forms> forms_;  // by the word's number
};

}  // namespace pe
