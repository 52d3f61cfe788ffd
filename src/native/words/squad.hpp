// Words as SQuAD's evaluation has them: without case, punctuation and articles.
#pragma once

#include <cstddef>
#include <cstring>

#include "../unicode/lowercase.hpp"
#include "tokenizers.hpp"

namespace pe::words {

class SquadReader {
public:
    // Appends the words of a text. They stand in this reader, and at least 16 bytes are readable at each.
    void read(Text text, Tokenizer tokenizer, WordList& words) {
        unicode::lower_into(text, clean_);
        std::size_t size = 0;
        for (std::size_t i = 0; i < clean_.size(); ++i)
            if (!unicode::is_ascii_punctuation(static_cast<unsigned char>(clean_.data()[i]))) clean_.data()[size++] = clean_.data()[i];
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

}  // namespace pe::words
