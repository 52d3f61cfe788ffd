// What one thread reuses from pair to pair.
#pragma once

#include "counts.hpp"
#include "lcs.hpp"
#include "ngrams.hpp"
#include "padded.hpp"
#include "tokenizers.hpp"
#include "vocabulary.hpp"

namespace pe {

struct WordsWorkspace {
    TokenReader reader;
    Vocabulary vocabulary;
    Numbers output, expected;
    Counts counts;
    Sets sets;
    Ngrams ngrams;
    Lcs lcs;
    PaddedText left, right, spare;

    // The `take` of a tokenizer that appends the numbers of words.
    auto numbering(Numbers& out) {
        return [this, &out](const char* word, std::size_t length) { out.push_back(vocabulary.number(word, length)); };
    }
    void read(Text text, Tokenizer tokenizer, bool fold_case, Numbers& out) {
        out.clear();
        reader.for_each(text, tokenizer, fold_case, numbering(out));
    }
};

}  // namespace pe
