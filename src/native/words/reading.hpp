// From texts to numbers of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../unicode/lowercase.hpp"
#include "bleu_tokenizers.hpp"
#include "squad.hpp"
#include "tokenizers.hpp"
#include "vocabulary.hpp"

namespace pe::words {

// What counts as a word, and which words are equal.
struct Reading {
    Tokenizer tokenizer = Tokenizer::rouge;
    bool fold_case = true;
    bool stemming = false;
    bool operator==(const Reading& other) const {
        return tokenizer == other.tokenizer && fold_case == other.fold_case && stemming == other.stemming;
    }
    // Whether the numbers are code points, not those of a vocabulary.
    bool is_code_points() const {
        return tokenizer == Tokenizer::code_points || tokenizer == Tokenizer::spaced_code_points;
    }
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
    static constexpr std::size_t most_vocabularies = 8;  // that are kept from call to call
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
