// Words as SQuAD's evaluation has them: without case, punctuation and articles.
#pragma once

#include <cstddef>
#include <cstring>

#include "lowercase.hpp"
#include "tokenizers.hpp"

namespace pe {

class SquadReader {
public:
    // Appends the words of a text. They stand in this reader, and at least 16 bytes are readable at each.
    void read(Text text, WordList& words) {
        lower_into(text, clean_);
        std::size_t size = 0;
        for (std::size_t i = 0; i < clean_.size(); ++i)
            if (!is_ascii_punctuation(static_cast<unsigned char>(clean_.data()[i]))) clean_.data()[size++] = clean_.data()[i];
        clean_.shrink(size);
        blank_articles();
        reader_.split(clean_.view(), words);
    }

private:
    // Overwrites a, an and the with spaces where they stand alone: between characters that Python's \w does not match.
    void blank_articles() {
        const char* const end = clean_.data() + clean_.size();
        for (char* at = clean_.data(); at < end;) {
            char* start = at;
            const char* behind = at;
            for (const char* next = at; next < end && is_alphanumeric(unicode::next(next, end));) behind = next;
            const Text word(start, static_cast<std::size_t>(behind - start));
            if (word == "a" || word == "an" || word == "the") std::memset(start, ' ', word.size());
            if (word.empty()) unicode::next(behind, end);
            at = start + (behind - start);
        }
    }

    PaddedText clean_;
    TokenReader reader_;
};

}  // namespace pe
