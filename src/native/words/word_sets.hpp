// Jaccard and recall: words in common, each counted once.
#pragma once

#include <cstddef>

#include "prepared.hpp"

namespace pe::words {

class WordSets {
public:
    WordSets(Tokenizer tokenizer, bool fold_case, Needs& needs, const Needs::Texts& normalization = {})
        : is_automatic_(is_automatic(tokenizer)),
          texts_(needs.add_texts(normalization)),
          words_(needs.add_words(texts_, {tokenizer, fold_case, false})) {}

    SetSizes score(Prepared& pair) const {
        SetSizes sizes = pair.words(words_).sets();
        if (is_automatic_ && sizes.all() == 0) sizes.alike = pair.are_equal_folded(pair.texts(texts_), true);
        return sizes;
    }

private:
    bool is_automatic_;
    std::size_t texts_, words_;
};

}  // namespace pe::words
