// Numbers for words, remembered from text to text. Each word is stemmed once, and its stem is a word too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../unicode/characters.hpp"
#include "../unicode/padded.hpp"
#include "interner.hpp"
#include "numbers.hpp"
#include "porter.hpp"

namespace pe::words {

class Vocabulary {
public:
    // Whether there are so many words that they would no longer fit the caches.
    bool is_full() const { return words_.size() >= most_words || words_.long_bytes() >= most_long_bytes; }
    void clear() { words_.clear(); }
    // Numbers are below this.
    std::size_t size() const { return words_.size(); }
    // Of words that are too long for the table itself.
    std::size_t long_bytes() const { return words_.long_bytes(); }

    std::uint32_t number(Word word) { return words_.find_or_add(word); }
    // Appends the numbers of words, or of their stems, to a vector.
    template <class Vector>
    void number(const WordList& words, bool stemming, Vector& out) {
        const std::size_t before = out.size();
        out.resize(before + words.size());
        std::uint32_t* const numbers = out.data() + before;
        if (!stemming) return number_as_they_are(words, numbers);
        words_.find_or_add(words, numbers, [&](std::size_t i, std::uint32_t, std::uint32_t& stem) {
            if (stem == no_number) stem = stem_of(words[i]);
            return stem;
        });
    }

private:
    static constexpr std::size_t most_words = 1 << 18, most_long_bytes = 1 << 22;

    void number_as_they_are(const WordList& words, std::uint32_t* numbers) {
        words_.find_or_add(words, numbers, [](std::size_t, std::uint32_t number, std::uint32_t) { return number; });
    }
    // As rouge-score: nothing shorter than four letters, and nothing but English letters and digits.
    std::uint32_t stem_of(Word word) {
        stem_.assign({word.bytes, word.length});
        const bool stems = word.length > 3 && is_english(word);
        return number({stem_.data(), stems ? PorterStemmer::stem(stem_.data(), word.length) : word.length});
    }
    static bool is_english(Word word) {
        for (std::size_t i = 0; i < word.length; ++i) {
            const auto c = static_cast<unsigned char>(word.bytes[i]);
            if (!unicode::is_ascii_digit(c) && !(c >= 'a' && c <= 'z')) return false;
        }
        return true;
    }

    Interner words_;
    unicode::PaddedText stem_;
};

}  // namespace pe::words
