// Which tokens follow which n-grams in a text of few different tokens: where longer n-grams are looked up.
//
// Each n-gram has a bit for every token that follows it. Longer n-grams are numbered in the order of these bits, so the
// number of one is that of the first and the bits below its own: no hash, no search and no branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/portable.hpp"
#include "numbers.hpp"

namespace pe::words {

// An n-gram of an output: where it begins, and its number.
struct Ngram {
    std::uint32_t begin, number;
};
using Ngrams = std::vector<Ngram, Unset<Ngram>>;

class Followers {
public:
    // Tokens are below this.
    static constexpr std::size_t most_tokens = 256;
    using Tokens = std::vector<std::uint8_t, Unset<std::uint8_t>>;

    // Takes n-grams of a text, whose numbers are below `ngrams_different`, and makes them one token longer: their numbers
    // become those of the longer ones. The first of them ends before `tokens[next]`, each other one a token later. Returns how
    // many different ones there are.
    std::uint32_t set(std::size_t tokens_different, std::size_t ngrams_different, const Tokens& tokens, std::size_t next,
                      Numbers& ngrams) {
        words_ = (tokens_different + 63) / 64;
        table_.assign(ngrams_different * words_, Word{});
#if defined(PE_VECTORS_X86)
        if (has_bit_instructions()) return set_fast(tokens.data() + next, ngrams);
#endif
        return set_any(tokens.data() + next, ngrams);
    }

    // Makes n-grams of n - 1 tokens of an output one token longer, and keeps those that the text has.
    void extend(const Tokens& output, std::size_t n, Ngrams& ngrams) const {
        while (!ngrams.empty() && ngrams.back().begin + n > output.size()) ngrams.pop_back();
        if (ngrams.empty()) return;
#if defined(PE_VECTORS_X86)
        if (has_bit_instructions()) return extend_fast(output.data() + n - 1, ngrams);
#endif
        extend_any(output.data() + n - 1, ngrams);
    }

private:
    // Of 64 tokens in a row, those that follow an n-gram, and the number of the longer n-gram that the lowest of them makes.
    struct Word {
        std::uint64_t tokens = 0;
        std::uint32_t first = 0;

        bool has(unsigned token) const { return tokens >> (token % 64) & 1; }
        PE_ALWAYS_INLINE std::uint32_t number(unsigned token) const {
            return first + popcount(tokens & ((std::uint64_t{1} << (token % 64)) - 1));
        }
    };

    PE_ALWAYS_INLINE std::uint32_t set_any(const std::uint8_t* last, Numbers& ngrams) {
        const std::size_t words = words_;
        Word* const table = table_.data();
        for (std::size_t i = 0; i < ngrams.size(); ++i)
            table[ngrams[i] * words + last[i] / 64].tokens |= std::uint64_t{1} << (last[i] % 64);
        std::uint32_t different = 0;
        for (Word& word : table_) {
            word.first = different;
            different += popcount(word.tokens);
        }
        for (std::size_t i = 0; i < ngrams.size(); ++i) ngrams[i] = table[ngrams[i] * words + last[i] / 64].number(last[i]);
        return different;
    }
    PE_ALWAYS_INLINE void extend_any(const std::uint8_t* last, Ngrams& ngrams) const {
        const std::size_t words = words_, size = ngrams.size();
        const Word* const table = table_.data();
        Ngram* const all = ngrams.data();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const Ngram ngram = all[i];
            const unsigned token = last[ngram.begin];
            const Word& word = table[ngram.number * words + token / 64];
            all[kept] = {ngram.begin, word.number(token)};
            kept += word.has(token);
        }
        ngrams.resize(kept);
    }

#if defined(PE_VECTORS_X86)
    // The same for machines that count and mask bits in one instruction: nearly all, but not all that a package is for.
    PE_BIT_INSTRUCTIONS std::uint32_t set_fast(const std::uint8_t* last, Numbers& ngrams) {
        return set_any(last, ngrams);
    }
    PE_BIT_INSTRUCTIONS void extend_fast(const std::uint8_t* last, Ngrams& ngrams) const {
        extend_any(last, ngrams);
    }
#endif

    std::vector<Word> table_;  // by n-gram, and 64 tokens by 64
    std::size_t words_ = 0;    // of one n-gram
};

}  // namespace pe::words
