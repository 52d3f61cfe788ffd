// Pairs of texts, prepared as the metrics of a call need them.
#pragma once

#include <optional>

#include "paired_words.hpp"
#include "reading.hpp"

namespace pe::words {

// Texts made comparable, as judge-llm's Response Evaluator does it: without case and list markers.

struct Normalization {
    bool fold_case = true;
    bool drops_markers = true;
    bool operator==(const Normalization& other) const {
        return fold_case == other.fold_case && drops_markers == other.drops_markers;
    }
};

// Copies `text` without the markers that `skip(begin, end)` finds: from the start of a line and its white space on, it
// returns the end of a marker, or `begin` where there is none.
template <class Skip>
void drop_markers(Text text, unicode::PaddedText& out, Skip skip) {
    out.clear();
    const char* const end = text.data() + text.size();
    bool line_start = true;
    for (const char* at = text.data(); at < end;) {
        if (line_start) {
            const char* word = at;
            for (const char* next = at; next < end && unicode::is_space(unicode::next(next, end));) word = next;
            const char* behind = skip(word, end);
            if (behind != word) {
                at = behind;
                line_start = behind[-1] == '\n';
                continue;
            }
            // None of the lines inside this white space starts a marker either: it would be the same one.
            out.append(at, static_cast<std::size_t>(word - at));
            at = word;
        }
        const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        const char* next = newline ? newline + 1 : end;
        out.append(at, static_cast<std::size_t>(next - at));
        at = next;
        line_start = true;
    }
}

inline const char* skip_spaces(const char* at, const char* end) {
    for (const char* next = at; next < end && unicode::is_space(unicode::next(next, end));) at = next;
    return at;
}
// 1. or 1) and the white space behind it
inline const char* skip_number(const char* begin, const char* end) {
    const char* at = begin;
    for (const char* next = at; next < end && unicode::is_kind(unicode::next(next, end), unicode::kind_decimal);) at = next;
    if (at == begin || at == end || (*at != '.' && *at != ')')) return begin;
    return skip_spaces(at + 1, end);
}
// One of • * - with white space behind it
inline const char* skip_bullet(const char* begin, const char* end) {
    if (begin == end) return begin;
    const char* at = begin;
    const std::uint32_t code = unicode::next(at, end);
    if (code != 0x2022 && code != '*' && code != '-') return begin;
    const char* behind = skip_spaces(at, end);
    return behind == at ? begin : behind;
}

// White space at the ends is dropped. Elsewhere it is not collapsed: no metric sees how much of it is between two words.
inline void normalize(Text text, const Normalization& options, unicode::PaddedText& out, unicode::PaddedText& spare) {
    text = unicode::strip(text);
    if (options.fold_case) unicode::lower_into(text, out);
    else out.assign(text);
    if (!options.drops_markers) return;
    drop_markers(out.view(), spare, skip_number);
    drop_markers(spare.view(), out, skip_bullet);
}

// The plan: what the metrics of a call need of each pair of texts. What several of them need is there once.

class Needs {
public:
    using Texts = std::optional<Normalization>;
    struct Words {
        std::size_t texts;
        Reading reading;
        bool by_line;
        bool is_asked_for = false;  // by a metric, whatever the pair
        // With an automatic tokenizer it is one of these two, pair by pair.
        std::size_t usual = 0, wide = 0;
        std::size_t longest_ngrams = 1;

        bool is_automatic() const { return words::is_automatic(reading.tokenizer); }
        bool operator==(const Words& other) const {
            return texts == other.texts && reading == other.reading && by_line == other.by_line;
        }
    };

    // The texts as they are, or made comparable for the response evaluator. Returns where they will be.
    std::size_t add_texts(const Texts& normalization) { return add(texts_, normalization); }

    // Their words; `by_line` keeps the words of different lines apart. `ngrams` is the longest order of interest.
    std::size_t add_words(std::size_t texts, const Reading& reading, std::size_t ngrams = 1, bool by_line = false) {
        const std::size_t at = add(words_, Words{texts, reading, by_line});
        words_[at].is_asked_for = true;
        raise_order(at, ngrams);
        if (!words_[at].is_automatic()) return at;
        const TokenizerChoices choices = choices_of(reading.tokenizer);
        words_[at].usual = add_choice(at, choices.usual);
        words_[at].wide = add_choice(at, choices.wide);
        return at;
    }

    const std::vector<Texts>& texts() const { return texts_; }
    const std::vector<Words>& words() const { return words_; }

private:
    std::size_t add_choice(std::size_t automatic, Tokenizer tokenizer) {
        Words words = words_[automatic];
        words.reading.tokenizer = tokenizer;
        words.is_asked_for = false;
        const std::size_t at = add(words_, words);
        raise_order(at, words.longest_ngrams);
        return at;
    }
    void raise_order(std::size_t at, std::size_t ngrams) {
        words_[at].longest_ngrams = std::max(words_[at].longest_ngrams, ngrams);
    }
    template <class Need>
    static std::size_t add(std::vector<Need>& needs, const Need& need) {
        const auto found = std::find(needs.begin(), needs.end(), need);
        if (found != needs.end()) return static_cast<std::size_t>(found - needs.begin());
        needs.push_back(need);
        return needs.size() - 1;
    }

    std::vector<Texts> texts_;
    std::vector<Words> words_;
};

// Several readings of one text at the price of little more than one.
//
// A text is cut at white space once. What a reading makes of the word in between is the same wherever the word stands, so
// it is read once and looked up from then on.

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

// A pair of texts, prepared as a plan asks for, on one thread: what metrics read.
//
// What belongs to the expected text alone stays while the pairs that follow have the same one.

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
