// A pair of texts, prepared as a plan asks for, on one thread: what metrics read.
//
// What belongs to the expected text alone stays while the pairs that follow have the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../unicode/lowercase.hpp"
#include "needs.hpp"
#include "paired_words.hpp"
#include "word_forms.hpp"

namespace pe::words {

class Prepared {
public:
    struct Texts {
        Text output, expected;
    };

    // To be called before the first pair of a call. The vocabulary is kept from call to call.
    void start(const Needs& needs) {
        needs_ = &needs;
        texts_.resize(needs.texts().size());
        if (words_.size() < needs.words().size()) words_.resize(needs.words().size());
        readings_.clear();
        for (std::size_t i = 0; i < needs.words().size(); ++i) {
            readings_.push_back(needs.words()[i].reading);
            words_[i].set_longest_ngrams(needs.words()[i].longest_ngrams);
        }
        prepared_for_.assign(readings_.size(), 0);
        has_pair_ = false;
        forms_.start();
    }

    void set_pair(Text output, Text expected) {
        const bool forgot = forms_.start_pair();
        is_new_ = forgot || !has_pair_ || !is_same(expected, pair_.expected);
        expected_number_ += is_new_;
        has_pair_ = true;
        pair_ = {output, expected};
        for (std::size_t i = 0; i < texts_.size(); ++i) prepare(i);
    }

    // Of the pair at hand, by the places that the needs gave.
    const Texts& texts() const { return pair_; }
    const Texts& texts(std::size_t place) const { return texts_[place].views; }
    PairedWords& words(std::size_t place) { return words_[resolve(place)]; }
    Tokenizer tokenizer(std::size_t place) const { return readings_[resolve(place)].tokenizer; }

    bool are_equal_folded(Texts texts, bool strips = false) {
        if (strips) texts = {unicode::strip(texts.output), unicode::strip(texts.expected)};
        if (texts.output == texts.expected) return true;
        unicode::lower_into(texts.output, folded_[0]);
        unicode::lower_into(texts.expected, folded_[1]);
        return folded_[0].view() == folded_[1].view();
    }

private:
    // Whether texts are wide, by the width of their letters and by their spaces: see `TokenizerChoices`.
    struct Width {
        bool is_known = false, is_expected_wide = false, is_wide = false;
    };
    struct Normalized {
        Texts views;
        unicode::PaddedText output, expected;
        Width widths[2];
    };

    static bool is_same(Text one, Text other) {
        return one.size() == other.size() && (one.data() == other.data() || one == other);
    }
    std::size_t resolve(std::size_t place) const {
        const Needs::Words& words = needs_->words()[place];
        if (!words.is_automatic()) return place;
        const bool by_width = choices_of(words.reading.tokenizer).by_width;
        return texts_[words.texts].widths[by_width].is_wide ? words.wide : words.usual;
    }
    void prepare(std::size_t place) {
        Normalized& texts = texts_[place];
        if (const Needs::Texts& normalization = needs_->texts()[place]) {
            normalize(pair_.output, *normalization, texts.output, spare_);
            if (is_new_) normalize(pair_.expected, *normalization, texts.expected, spare_);
            texts.views = {texts.output.view(), texts.expected.view()};
        } else texts.views = pair_;
        choose(place, texts);
        read(texts.views.output, wanted_, &PairedWords::output);
        unread_.clear();
        for (const std::size_t i : wanted_)
            if (std::exchange(prepared_for_[i], expected_number_) != expected_number_) unread_.push_back(i);
        if (!unread_.empty()) read(texts.views.expected, unread_, &PairedWords::expected);
        for (const std::size_t i : unread_) words_[i].expected_changed(forms_.limit(readings_[i]));
        for (const std::size_t i : wanted_) words_[i].output_changed(forms_.limit(readings_[i]));
    }
    // Which words this pair needs.
    void choose(std::size_t place, Normalized& texts) {
        wanted_.clear();
        for (Width& width : texts.widths) width.is_known = false;
        for (std::size_t i = 0; i < needs_->words().size(); ++i) {
            const Needs::Words& words = needs_->words()[i];
            if (words.texts != place || !words.is_asked_for) continue;
            if (words.is_automatic()) {
                const TokenizerChoices choices = choices_of(words.reading.tokenizer);
                Width& width = texts.widths[choices.by_width];
                if (!std::exchange(width.is_known, true)) {
                    if (is_new_) width.is_expected_wide = choices.is_wide(texts.views.expected);
                    width.is_wide = width.is_expected_wide || choices.is_wide(texts.views.output);
                }
            }
            const std::size_t resolved = resolve(i);
            bool is_there = false;
            for (const std::size_t other : wanted_) is_there = is_there || other == resolved;
            if (!is_there) wanted_.push_back(resolved);
        }
    }
    void read(Text text, const std::vector<std::size_t>& wanted, PairedWords::Side PairedWords::* side) {
        whole_.clear();
        for (const std::size_t i : wanted) {
            if (needs_->words()[i].by_line) read_lines(text, readings_[i], words_[i].*side);
            else whole_.push_back({readings_[i], &(words_[i].*side).words});
        }
        forms_.read(text, whole_);
    }
    void read_lines(Text text, const Reading& reading, PairedWords::Side& side) {
        side.words.clear();
        side.line_ends.clear();
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            forms_.append(text.substr(begin, end - begin), reading, side.words);
            const std::size_t before = side.line_ends.empty() ? 0 : side.line_ends.back();
            if (side.words.size() > before) side.line_ends.push_back(side.words.size());
            begin = end + 1;
        }
    }

    const Needs* needs_ = nullptr;
    WordForms forms_;
    Texts pair_;
    bool has_pair_ = false, is_new_ = true;  // whether the expected text is not that of the pair before
    std::uint64_t expected_number_ = 0;
    std::vector<std::uint64_t> prepared_for_;  // by words: the number of the expected text that they have
    std::vector<Normalized> texts_;
    std::vector<PairedWords> words_;
    std::vector<Reading> readings_;
    std::vector<std::size_t> wanted_, unread_;
    std::vector<WordForms::Wanted> whole_;
    unicode::PaddedText spare_, folded_[2];
};

}  // namespace pe::words
