// Numbers for the words of the texts at hand. Words that stem alike have one number, and each is stemmed once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "characters.hpp"
#include "interner.hpp"
#include "padded.hpp"
#include "porter.hpp"

namespace pe {

class Vocabulary {
public:
    // To be called before each pair of texts: words are remembered over pairs, but never more than fit the caches well.
    void start_pair(bool stemming) {
        if (stemming == stemming_ && words_.size() < most_words) return;
        stemming_ = stemming;
        words_.clear();
        stems_.clear();
    }
    // Numbers are below this.
    std::size_t size() const { return stemming_ ? stems_.size() : words_.size(); }

    // At least 16 bytes must be readable at `word`, whatever its length.
    std::uint32_t number(const char* word, std::size_t length) {
        if (!stemming_) return words_.find_or_add(word, length, [&] { return next(words_); });
        return words_.find_or_add(word, length, [&] {
            stem_.assign({word, length});
            // As rouge-score: nothing shorter than four letters, and nothing but English letters and digits.
            if (length > 3 && is_english(word, length)) length = PorterStemmer::stem(stem_.data(), length);
            return stems_.find_or_add(stem_.data(), length, [&] { return next(stems_); });
        });
    }

private:
    static constexpr std::size_t most_words = 1 << 14;
    static std::uint32_t next(const Interner& interner) { return static_cast<std::uint32_t>(interner.size()); }
    static bool is_english(const char* word, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) {
            const auto c = static_cast<unsigned char>(word[i]);
            if (!is_ascii_digit(c) && !(c >= 'a' && c <= 'z')) return false;
        }
        return true;
    }

    bool stemming_ = false;
    Interner words_, stems_;
    PaddedText stem_;
};

}  // namespace pe
