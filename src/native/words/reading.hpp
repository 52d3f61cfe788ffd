// From texts to numbers of words, by every tokenizer.
#pragma once

#include "tokenizers.hpp"
#include "vocabulary.hpp"

namespace pe::words {

// The tokenizers of sacrebleu's BLEU that are no one else's and need no other package: 13a and intl.

// Bytes as the tokenizer 13a tells them apart.
struct Kinds13a {
    enum Kind : std::uint8_t { word, space, single, point, digit, dash };
    Kind of[256] = {};
    constexpr Kinds13a() {
        for (int c = 0; c < 256; ++c) {
            const auto byte = static_cast<unsigned char>(c);
            if (unicode::is_ascii_space(byte)) of[c] = space;
            else if (unicode::is_ascii_digit(byte)) of[c] = digit;
            else if (c == '.' || c == ',') of[c] = point;
            else if (c == '-') of[c] = dash;
            else if (c != '\'' && unicode::is_ascii_punctuation(byte)) of[c] = single;
        }
    }
};
inline constexpr Kinds13a kinds_13a;

class BleuTokenReader {
public:
    // Whether 13a treats words between white space one by one: not where it joins what stands at the end of lines, also
    // where <skipped>, in whatever case, stands between the hyphen and that end.
    static bool splits_words_alone(Text text) { return text.find("-\n") == Text::npos && text.find("-<") == Text::npos; }

    // Both append the words of a text. They stand in this reader, and at least 16 bytes are readable at each.

    // sacrebleu's four substitutions, in one pass: punctuation stands alone; points and commas do unless they are
    // between digits; a dash does behind a digit. Where points and commas follow each other, the substitutions take
    // them in pairs, so that it depends on their number whether the last one stays with the digit behind it.
    void v13a(Text text, bool fold_case, WordList& words) {
        clean(text, fold_case);
        const char* const bytes = bytes_.data();
        const std::size_t size = bytes_.size();
        const auto kind = [&](std::size_t i) { return kinds_13a.of[static_cast<unsigned char>(bytes[i])]; };
        // Everything but letters, digits and what is beyond ASCII.
        stops_.classify(bytes, size, bytes_.data(), [](std::uint8_t c, std::uint8_t& out) {
            out = c;
            return static_cast<std::uint8_t>(!((static_cast<std::uint8_t>((c | 0x20) - 'a') < 26) |
                                               (static_cast<std::uint8_t>(c - '0') < 10) | (c >= 0x80)));
        });
        std::size_t begin = 0;  // of the word at hand
        std::size_t done = 0;
        const auto flush = [&](std::size_t end) {
            if (end > begin) words.push(bytes + begin, end - begin);
        };
        stops_.for_each_bit([&](std::size_t i) {
            if (i < done) return;
            const bool behind_digit = i > 0 && kind(i - 1) == Kinds13a::digit;
            switch (kind(i)) {
                case Kinds13a::word:
                case Kinds13a::digit: return;
                case Kinds13a::space:
                    flush(i);
                    begin = i + 1;
                    return;
                case Kinds13a::dash:
                    if (!behind_digit) return;
                    [[fallthrough]];
                case Kinds13a::single:
                    flush(i);
                    words.push(bytes + i, 1);
                    begin = i + 1;
                    return;
                case Kinds13a::point: {
                    done = i + 1;
                    while (done < size && kind(done) == Kinds13a::point) ++done;
                    const bool is_odd = (done - i) % 2 == 1;
                    const bool stays = done < size && kind(done) == Kinds13a::digit && behind_digit == is_odd;
                    if (stays && done - i == 1) return;
                    flush(i);
                    begin = stays ? done - 1 : done;
                    for (std::size_t at = i; at < begin; ++at) words.push(bytes + at, 1);
                    return;
                }
            }
        });
        flush(size);
    }

    void intl(Text text, bool fold_case, WordList& words) {
        if (fold_case) {
            unicode::lower_into(text, bytes_);
            text = bytes_.view();
        }
        text = unicode::strip_end(text);
        unicode::decode(text, false, text.size(), codes_);
        const auto is = [](std::uint32_t code, std::uint8_t kind) { return unicode::is_kind(code, kind); };
        // Punctuation behind anything but a number, then before anything but a number; matches do not overlap.
        spaced_.clear();
        for (std::size_t i = 0; i < codes_.size(); ++i) {
            spaced_.push_back(codes_[i]);
            if (i + 1 == codes_.size() || is(codes_[i], unicode::kind_number) || !is(codes_[i + 1], unicode::kind_punctuation))
                continue;
            spaced_.insert(spaced_.end(), {' ', codes_[i + 1], ' '});
            ++i;
        }
        codes_.clear();
        for (std::size_t i = 0; i < spaced_.size(); ++i) {
            if (i + 1 == spaced_.size() || !is(spaced_[i], unicode::kind_punctuation) ||
                is(spaced_[i + 1], unicode::kind_number)) {
                codes_.push_back(spaced_[i]);
                continue;
            }
            codes_.insert(codes_.end(), {' ', spaced_[i], ' ', spaced_[i + 1]});
            ++i;
        }
        spread_.clear();
        for (const std::uint32_t code : codes_) {
            const bool symbol = is(code, unicode::kind_symbol);
            if (symbol) spread_.push(' ');
            spread_.push_code_point(code);
            if (symbol) spread_.push(' ');
        }
        reader_.split(spread_.view(), words);
    }

private:
    // What 13a does before it splits: entities, hyphenated line ends and <skipped> marks.
    void clean(Text text, bool fold_case) {
        if (fold_case) unicode::lower_into(unicode::strip_end(text), bytes_);
        else bytes_.assign(unicode::strip_end(text));
        const Text line = bytes_.view();
        if (line.find('&') != Text::npos || line.find("-\n") != Text::npos || line.find("<skipped>") != Text::npos) {
            line_ = line;
            unescape();
            bytes_.assign(line_);
        }
        if (!unicode::is_ascii(bytes_.view())) unicode::blank_wide_spaces(bytes_);
    }
    void unescape() {
        replace_all("<skipped>", "");
        replace_all("-\n", "");
        replace_all("&quot;", "\"");
        replace_all("&amp;", "&");
        replace_all("&lt;", "<");
        replace_all("&gt;", ">");
    }
    void replace_all(Text from, Text to) {
        std::size_t at = line_.find(from);
        if (at == std::string::npos) return;
        std::string out;
        std::size_t done = 0;
        for (; at != std::string::npos; at = line_.find(from, done)) {
            out.append(line_, done, at - done).append(to);
            done = at + from.size();
        }
        line_ = out.append(line_, done, std::string::npos);
    }

    TokenReader reader_;
    unicode::PaddedText bytes_, spread_;
    Runs stops_;
    std::string line_;
    std::vector<std::uint32_t> codes_, spaced_;
};

// Words as SQuAD's evaluation has them: without case, punctuation and articles.

class SquadReader {
public:
    // Appends the words of a text. They stand in this reader, and at least 16 bytes are readable at each.
    void read(Text text, Tokenizer tokenizer, WordList& words) {
        unicode::lower_into(text, clean_);
        std::size_t size = 0;
        for (std::size_t i = 0; i < clean_.size(); ++i)
            if (!unicode::is_ascii_punctuation(static_cast<unsigned char>(clean_.data()[i])))
                clean_.data()[size++] = clean_.data()[i];
        clean_.shrink(size);
        blank_articles();
        switch (tokenizer) {
            case Tokenizer::squad_unicode: return reader_.read(clean_.view(), Tokenizer::unicode, false, words);
            case Tokenizer::squad_characters: return reader_.read(clean_.view(), Tokenizer::characters, false, words);
            case Tokenizer::squad_any_script: return reader_.read(clean_.view(), Tokenizer::any_script, false, words);
            default: return reader_.split(clean_.view(), words);
        }
    }

private:
    // Overwrites a, an and the with spaces where they stand alone: between characters that Python's \w does not match.
    void blank_articles() {
        const auto may_begin = [](std::uint8_t c, std::uint8_t) { return static_cast<std::uint8_t>((c == 'a') | (c == 't')); };
        unicode::for_each_byte(clean_, may_begin, [&](std::size_t begin) {
            const Text rest = clean_.view().substr(begin);
            const std::size_t size = rest.substr(0, 3) == "the" ? 3 : rest.substr(0, 2) == "an" ? 2 : rest[0] == 'a' ? 1 : 0;
            if (size == 0 || follows_word(begin) || begins_word(begin + size)) return;
            std::memset(clean_.data() + begin, ' ', size);
        });
    }
    bool begins_word(std::size_t at) const {
        const char* begin = clean_.data() + at;
        const char* const end = clean_.data() + clean_.size();
        return begin < end && unicode::is_alphanumeric(unicode::next(begin, end));
    }
    bool follows_word(std::size_t at) const {
        const char* behind = clean_.data() + at;
        return at > 0 && unicode::is_alphanumeric(unicode::previous(clean_.data(), behind));
    }

    unicode::PaddedText clean_;
    TokenReader reader_;
};

// From texts to numbers of words.

// What counts as a word, and which words are equal.
struct Reading {
    Tokenizer tokenizer = Tokenizer::rouge;
    bool fold_case = true;
    bool stemming = false;
    bool operator==(const Reading& other) const {
        return tokenizer == other.tokenizer && fold_case == other.fold_case && stemming == other.stemming;
    }
    // Whether the numbers are code points, not those of a vocabulary.
    bool is_code_points() const { return tokenizer == Tokenizer::code_points || tokenizer == Tokenizer::spaced_code_points; }
};

// Reads one text after the other. Every reading has a vocabulary of its own, so that its numbers, and the tables that
// metrics make of them, are as small as they can be.
class WordReader {
public:
    // To be called before the first pair of a call, and before each pair of texts; true if numbers from before mean
    // nothing any more.
    bool start() { return forget_if(vocabularies_.size() > most_vocabularies); }
    bool start_pair() {
        std::size_t words = 0, long_bytes = 0;
        for (const Known& known : vocabularies_) {
            words += known.vocabulary.size();
            long_bytes += known.vocabulary.long_bytes();
        }
        return forget_if(words >= most_words || long_bytes >= most_long_bytes);
    }
    // The numbers of a reading are below this. Bytes that are not UTF-8 can give up to 21 bits.
    std::size_t limit(const Reading& reading) {
        return reading.is_code_points() ? std::size_t{1} << 21 : vocabulary(reading).size();
    }

    // Appends the numbers of all words.
    void read(Text text, const Reading& reading, Numbers& out) {
        if (reading.is_code_points()) return read_code_points(text, reading, out);
        words_.clear();
        cut(text, reading);
        vocabulary(reading).number(words_, reading.stemming, out);
    }

private:
    static constexpr std::size_t most_vocabularies = 8;                            // that are kept from call to call
    static constexpr std::size_t most_words = 1 << 19, most_long_bytes = 1 << 22;  // of all of them
    struct Known {
        Reading reading;
        Vocabulary vocabulary;
    };
    bool forget_if(bool is_wanted) {
        if (is_wanted) vocabularies_.clear();
        return is_wanted;
    }
    Vocabulary& vocabulary(const Reading& reading) {
        for (Known& known : vocabularies_)
            if (known.reading == reading) return known.vocabulary;
        vocabularies_.push_back({reading, {}});
        return vocabularies_.back().vocabulary;
    }

    void cut(Text text, const Reading& reading) {
        switch (reading.tokenizer) {
            case Tokenizer::squad:
            case Tokenizer::squad_unicode:
            case Tokenizer::squad_characters:
            case Tokenizer::squad_any_script: return squad_.read(text, reading.tokenizer, words_);
            case Tokenizer::v13a: return bleu_.v13a(text, reading.fold_case, words_);
            case Tokenizer::intl: return bleu_.intl(text, reading.fold_case, words_);
            default: return tokens_.read(text, reading.tokenizer, reading.fold_case, words_);
        }
    }
    void read_code_points(Text text, const Reading& reading, Numbers& out) {
        if (reading.fold_case) {
            unicode::lower_into(text, folded_);
            text = folded_.view();
        }
        const bool keeps_spaces = reading.tokenizer == Tokenizer::spaced_code_points;
        std::size_t size = out.size();
        out.resize(size + text.size());
        const char* const end = text.data() + text.size();
        for (const char* at = text.data(); at < end;) {
            const std::uint32_t code = unicode::next(at, end);
            out[size] = code;
            size += keeps_spaces || !unicode::is_space(code);
        }
        out.resize(size);
    }

    TokenReader tokens_;
    SquadReader squad_;
    BleuTokenReader bleu_;
    std::vector<Known> vocabularies_;
    WordList words_;
    unicode::PaddedText folded_;
};

}  // namespace pe::words
