// From a text to its words.
#pragma once

#include "../unicode/lowercase.hpp"
#include "vocabulary.hpp"

namespace pe::words {

// Words as runs of one-bits: one bit for each byte of a text, set where the byte belongs to a word.

class Runs {
public:
    // Reads `size` bytes and writes `rule`'s version of them; `rule(byte, &written)` says whether a byte belongs to a
    // word. Up to 64 bytes behind the end of `out` are written. `in` may be `out`.
    template <class Rule>
    void classify(const char* in, std::size_t size, char* out, Rule rule) {
        bits_.resize(size / 64 + 1);
        cuts_.clear();
        std::size_t at = 0;
        for (; at + 64 <= size; at += 64) bits_[at / 64] = block(in + at, out + at, rule);
        char tail[64] = {};
        if (size > at) std::memcpy(tail, in + at, size - at);
        const std::uint64_t rest = block(tail, out + at, rule);
        bits_[at / 64] = rest & ((std::uint64_t{1} << (size - at)) - 1);
    }

    // Makes bytes part of a word.
    void set(std::size_t begin, std::size_t end) {
        while (begin < end) {
            const std::size_t shift = begin % 64, count = std::min(end - begin, 64 - shift);
            bits_[begin / 64] |= ~std::uint64_t{0} >> (64 - count) << shift;
            begin += count;
        }
    }
    // Ends a word, and begins one, before a byte; `start_cuts` comes first.
    void start_cuts() { cuts_.assign(bits_.size(), 0); }
    void cut(std::size_t at) { cuts_[at / 64] |= std::uint64_t{1} << (at % 64); }

    // Appends the runs, which are words of `bytes`, from left to right.
    void append_to(WordList& words, const char* bytes) const {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < bits_.size(); ++i, bytes += 64) {
            const std::uint64_t bits = bits_[i], before = bits << 1 | carry;
            carry = bits >> 63;
            const char** out = words.room(2 * 64);
            std::uint64_t edges = bits ^ before;
            if (const std::uint64_t cuts = cuts_.empty() ? 0 : cuts_[i] & bits & before) {
                // Where two words touch, one ends and one begins.
                for (edges |= cuts; edges != 0; edges &= edges - 1) {
                    const unsigned at = count_trailing_zeros(edges);
                    out[0] = out[1] = bytes + at;
                    out += 1 + (cuts >> at & 1);
                }
            } else
                for (; edges != 0; edges &= edges - 1) *out++ = bytes + count_trailing_zeros(edges);
            words.set_end(out);
        }
        // A text that ends inside a word has its end in the bit behind its last byte, for which there always is room.
    }

    // Calls `take(at)` for each set bit, from left to right.
    template <class Take>
    void for_each_bit(Take&& take) const {
        for (std::size_t word = 0; word < bits_.size(); ++word)
            for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
                take(64 * word + static_cast<std::size_t>(count_trailing_zeros(bits)));
    }

private:
    template <class Rule>
    static std::uint64_t block(const char* in, char* out, Rule rule) {
        std::uint8_t read[64], written[64], flags[64];
        std::memcpy(read, in, 64);
        for (int i = 0; i < 64; ++i) flags[i] = rule(read[i], written[i]);
        std::memcpy(out, written, 64);
        return unicode::pack_flags(flags);
    }

    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> cuts_;  // where a word begins behind another one; empty: nowhere
};

enum class Tokenizer {
    rouge,       // runs of a-z and 0-9 in the lowercased text
    whitespace,  // what Python's str.split() gives
    unicode,     // runs of what \w matches in a Polars regular expression
    characters,  // every code point that is not white space
    any_script,  // as unicode, but every character of a script without spaces, with its marks, is a word of its own
    automatic,   // rouge or any_script, by the pair of texts: see `choices_of`
    automatic_whitespace,
    automatic_unicode,
    automatic_squad,  // those or any_script
    separated,        // words that were found before and joined with U+001F; a text that starts with U+001F has none
    squad,            // white space, without case, punctuation and articles: see SquadReader
    squad_unicode,
    squad_characters,
    squad_any_script,
    v13a,
    intl,         // sacrebleu's for BLEU: see BleuTokenReader
    chrf,         // white space, one punctuation mark at the end of a word or else at its start apart
    code_points,  // the code points of what is not white space, or of all with `spaced_code_points`: see reading.hpp
    spaced_code_points,
};

// Whether a text has a letter or digit outside ASCII.
inline bool has_wide_word(Text text) {
    if (unicode::is_ascii(text)) return false;
    const unicode::CharacterPages& kinds = unicode::CharacterPages::get();
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        at += unicode::ascii_eights(at, end);
        for (const char* const stop = end - at < 8 ? end : at + 8; at < stop;) {
            const std::uint32_t code = unicode::next(at, end);
            if (code < 0x80) continue;
            const std::uint8_t kind = kinds(code);
            const bool letter = (kind & unicode::kind_alphanumeric) && !(kind & unicode::kind_number);
            if (letter || (kind & unicode::kind_decimal)) return true;
        }
    }
    return false;
}

// Whether a text has a letter of a script without spaces. None of them takes fewer than three bytes.
inline bool has_unspaced_letter(Text text) {
    const unicode::CharacterPages& kinds = unicode::CharacterPages::get();
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        // Eight bytes at a time: one that begins three bytes or more has its highest three bits set.
        std::uint64_t eight, found = 0;
        while (end - at >= 8) {
            std::memcpy(&eight, at, 8);
            found = eight & eight << 1 & eight << 2 & 0x8080808080808080u;
            if (found != 0) break;
            at += 8;
        }
        if (found != 0) at += count_trailing_zeros(found) / 8;
        else
            while (at < end && static_cast<unsigned char>(*at) < 0xE0) ++at;
        if (at == end) return false;
        const std::uint8_t kind = kinds(unicode::next(at, end));
        if ((kind & unicode::kind_unspaced) && (kind & unicode::kind_alphanumeric)) return true;
    }
    return false;
}

// What an automatic tokenizer is for a pair of texts, both of which must be cut in the same way: the usual one, or `wide`
// where either text has a letter or digit outside ASCII (`by_width`), or else a letter of a script without spaces.
struct TokenizerChoices {
    Tokenizer usual, wide;
    bool by_width;
    bool is_wide(Text text) const { return by_width ? has_wide_word(text) : has_unspaced_letter(text); }
};

inline bool is_automatic(Tokenizer tokenizer) {
    return tokenizer == Tokenizer::automatic || tokenizer == Tokenizer::automatic_whitespace ||
           tokenizer == Tokenizer::automatic_unicode || tokenizer == Tokenizer::automatic_squad;
}

inline TokenizerChoices choices_of(Tokenizer tokenizer) {
    switch (tokenizer) {
        case Tokenizer::automatic_whitespace: return {Tokenizer::whitespace, Tokenizer::any_script, false};
        case Tokenizer::automatic_unicode: return {Tokenizer::unicode, Tokenizer::any_script, false};
        case Tokenizer::automatic_squad: return {Tokenizer::squad, Tokenizer::squad_any_script, false};
        default: return {Tokenizer::rouge, Tokenizer::any_script, true};
    }
}

class TokenReader {
public:
    // Appends the words of a text. They stand in this reader, and at least 16 bytes are readable at each.
    void read(Text text, Tokenizer tokenizer, bool fold_case, WordList& words) {
        switch (tokenizer) {
            case Tokenizer::rouge: return rouge(text, words);
            case Tokenizer::whitespace: return whitespace(text, fold_case, words);
            case Tokenizer::unicode: return of_any_script<false>(text, fold_case, words);
            case Tokenizer::characters: return characters(text, fold_case, words);
            case Tokenizer::any_script: return of_any_script<true>(text, fold_case, words);
            case Tokenizer::separated: return separated(text, words);
            case Tokenizer::chrf: return chrf(text, fold_case, words);
            default: break;  // the others are not read here
        }
    }

    // Words between white space in a text that only has to be split.
    void split(Text text, WordList& words) { whitespace(text, false, words); }

private:
    // The only code points beyond ASCII whose lowercase has ASCII letters are the dotted capital I (i and a combining
    // dot) and the Kelvin sign (k).
    void rouge(Text text, WordList& words) {
        if (const std::size_t at = find_special(text, 0); at < text.size()) {
            replace_special(text, at);
            text = folded_.view();
        }
        bytes_.resize(text.size());
        runs_.classify(text.data(), text.size(), bytes_.data(), [](std::uint8_t c, std::uint8_t& out) {
            const std::uint8_t low = c | 0x20;
            const std::uint8_t letter = static_cast<std::uint8_t>(low - 'a') < 26;
            const std::uint8_t digit = static_cast<std::uint8_t>(c - '0') < 10;
            out = letter ? low : c;
            return static_cast<std::uint8_t>(letter | digit);
        });
        runs_.append_to(words, bytes_.data());
    }
    static std::size_t find_special(Text text, std::size_t from) {
        for (std::size_t at = text.find('\xC4', from); at != Text::npos; at = text.find('\xC4', at + 1))
            if (text.substr(at, 2) == "\xC4\xB0") return std::min(at, find_kelvin(text, from));
        return find_kelvin(text, from);
    }
    static std::size_t find_kelvin(Text text, std::size_t from) {
        for (std::size_t at = text.find('\xE2', from); at != Text::npos; at = text.find('\xE2', at + 1))
            if (text.substr(at, 3) == "\xE2\x84\xAA") return at;
        return text.size();
    }
    void replace_special(Text text, std::size_t at) {
        folded_.clear();
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (i >= at && text.substr(i, 2) == "\xC4\xB0") {
                folded_.push('i');
                folded_.push(' ');
                i += 1;
            } else if (i >= at && text.substr(i, 3) == "\xE2\x84\xAA") {
                folded_.push('k');
                i += 2;
            } else folded_.push(text[i]);
        }
    }

    // The text, lowercased on request, in `bytes_`; false for ASCII, which is left to the caller's pass over the bytes.
    bool read_wide(Text text, bool fold_case) {
        if (unicode::is_ascii(text)) return false;
        if (fold_case) unicode::lower_into(text, bytes_);
        else bytes_.assign(text);
        return true;
    }
    // Lowercases ASCII on request. What is beyond it was lowercased before.
    template <class Flag>
    void classify(Text text, bool wide, bool fold_case, Flag flag) {
        if (!wide) bytes_.resize(text.size());
        const char* const in = wide ? bytes_.data() : text.data();
        if (fold_case && !wide)
            runs_.classify(in, bytes_.size(), bytes_.data(), [=](std::uint8_t c, std::uint8_t& out) {
                out = static_cast<std::uint8_t>(static_cast<std::uint8_t>(c - 'A') < 26 ? c | 0x20 : c);
                return flag(c);
            });
        else
            runs_.classify(in, bytes_.size(), bytes_.data(), [=](std::uint8_t c, std::uint8_t& out) {
                out = c;
                return flag(c);
            });
    }

    void whitespace(Text text, bool fold_case, WordList& words) {
        const bool wide = read_wide(text, fold_case);
        if (wide) unicode::blank_wide_spaces(bytes_);
        classify(text, wide, fold_case, [](std::uint8_t c) {
            return static_cast<std::uint8_t>(
                !((static_cast<std::uint8_t>(c - 9) < 5) | (static_cast<std::uint8_t>(c - 28) < 5)));
        });
        runs_.append_to(words, bytes_.data());
    }

    // Runs of word characters; on request, those of scripts without spaces are words of their own.
    template <bool splits_unspaced>
    void of_any_script(Text text, bool fold_case, WordList& words) {
        const bool wide = read_wide(text, fold_case);
        classify(text, wide, fold_case, [](std::uint8_t c) {
            return static_cast<std::uint8_t>((static_cast<std::uint8_t>((c | 0x20) - 'a') < 26) |
                                             (static_cast<std::uint8_t>(c - '0') < 10) | (c == '_'));
        });
        if (wide) {
            const unicode::CharacterPages& kinds = unicode::CharacterPages::get();
            const std::uint8_t kinds_of_ideographs = kinds(0x4E00);
            if (splits_unspaced) runs_.start_cuts();
            std::size_t run_begin = 0, run_end = 0;  // of characters of a word, not yet set
            std::size_t alone_end = 0;               // of the last character that is a word, not yet cut off
            unicode::for_each_wide(bytes_, [&](std::uint32_t code, std::size_t begin, std::size_t end) {
                // Of the commonest ideographs all is known without a look at the table.
                const std::uint8_t kind = code - 0x4E00 < 0xA000 - 0x4E00 ? kinds_of_ideographs : kinds(code);
                const bool is_unspaced = splits_unspaced && (kind & unicode::kind_unspaced);
                const bool is_alone = is_unspaced && (kind & unicode::kind_alphanumeric);
                if (!is_unspaced && !(kind & unicode::kind_word)) return;
                // A mark belongs to the letter before it.
                if (is_unspaced && !is_alone && alone_end > 0 && begin == alone_end) alone_end = end;
                if (begin != run_end) {
                    runs_.set(run_begin, run_end);
                    run_begin = begin;
                }
                run_end = end;
                if (!is_alone) return;
                runs_.cut(begin);
                if (begin != alone_end) runs_.cut(alone_end);
                alone_end = end;
            });
            runs_.set(run_begin, run_end);
            if (splits_unspaced) runs_.cut(alone_end);
        }
        runs_.append_to(words, bytes_.data());
    }

    void characters(Text text, bool fold_case, WordList& words) {
        if (fold_case) unicode::lower_into(text, bytes_);
        else bytes_.assign(text);
        const char* const end = bytes_.data() + bytes_.size();
        for (const char* at = bytes_.data(); at < end;) {
            const char* start = at;
            if (!unicode::is_space(unicode::next(at, end))) words.push(start, static_cast<std::size_t>(at - start));
        }
    }

    void chrf(Text text, bool fold_case, WordList& words) {
        const auto is_mark = [](char c) { return unicode::is_ascii_punctuation(static_cast<unsigned char>(c)); };
        split_.clear();
        whitespace(text, fold_case, split_);
        for (std::size_t i = 0; i < split_.size(); ++i) {
            const auto [word, length] = split_[i];
            const std::size_t first = length > 1 && is_mark(word[length - 1]) ? length - 1 : is_mark(word[0]) ? 1 : length;
            words.push(word, first);
            if (first < length) words.push(word + first, length - first);
        }
    }

    void separated(Text text, WordList& words) {
        constexpr char separator = '\x1F';
        if (text.empty() || text.front() == separator) return;
        classify(text, false, false, [](std::uint8_t c) { return static_cast<std::uint8_t>(c != 0x1F); });
        runs_.append_to(words, bytes_.data());
    }

    unicode::PaddedText bytes_, folded_;
    Runs runs_;
    WordList split_;
};

}  // namespace pe::words
