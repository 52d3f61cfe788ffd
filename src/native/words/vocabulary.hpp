// Words in a row, as they stand in a text and as numbers, which are remembered from text to text.
#pragma once

#include <new>

#include "../core/hashing.hpp"
#include "../unicode/padded.hpp"
#include "porter.hpp"

namespace pe::words {

// Numbers of words in a row.

// For vectors that are written to as soon as they have grown: what `resize` adds has no value yet.
template <class Value>
struct Unset : std::allocator<Value> {
    template <class Other>
    struct rebind {
        using other = Unset<Other>;
    };
    Unset() = default;
    template <class Other>
    Unset(const Unset<Other>&) {}

    template <class Made>
    void construct(Made* at) {
        ::new (static_cast<void*>(at)) Made;
    }
    template <class Made, class... Values>
    void construct(Made* at, Values&&... values) {
        ::new (static_cast<void*>(at)) Made(std::forward<Values>(values)...);
    }
};

using Numbers = std::vector<std::uint32_t, Unset<std::uint32_t>>;

// Words in a row, as they stand in a text.

// One byte or more of a text. At least 16 bytes are readable at `bytes`, whatever the length.
struct Word {
    const char* bytes;
    std::size_t length;
};

// Where each word begins and ends, in turn. As a vector, but for a `push` that costs next to nothing.
class WordList {
public:
    void clear() { size_ = 0; }
    std::size_t size() const { return size_ / 2; }
    Word operator[](std::size_t i) const {
        return {edges_[2 * i], static_cast<std::size_t>(edges_[2 * i + 1] - edges_[2 * i])};
    }
    void push(const char* bytes, std::size_t length) {
        const char** edges = room(2);
        edges[0] = bytes;
        edges[1] = bytes + length;
        set_end(edges + 2);
    }

    // For those who write the ends of many words themselves: a place for so many, and then how far they came.
    const char** room(std::size_t edges) {
        if (edges_.size() - size_ < edges) edges_.resize(2 * edges_.size() + edges);
        return edges_.data() + size_;
    }
    void set_end(const char** end) { size_ = static_cast<std::size_t>(end - edges_.data()); }

private:
    std::vector<const char*> edges_;
    std::size_t size_ = 0;
};

// From words to numbers: a hash table that hashes each byte once and compares words of up to 15 bytes in registers.

inline constexpr std::uint32_t no_number = 0xFFFFFFFF;

// For words of up to 15 bytes: keeps their bytes of 16 that were loaded, and puts their length behind them.
struct WordMasks {
    struct {
        std::uint64_t low, high, length;
    } of[16] = {};
    constexpr WordMasks() {
        for (unsigned i = 0; i < 16; ++i) {
            of[i].low = i >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * i)) - 1;
            of[i].high = i <= 8 ? 0 : (std::uint64_t{1} << (8 * (i - 8))) - 1;
            of[i].length = std::uint64_t{i} << 56;
        }
    }
};
inline constexpr WordMasks word_masks;

class Interner {
public:
    Interner() { clear(); }

    std::size_t size() const { return size_; }
    // Of the words that are too long to stand in a slot.
    std::size_t long_bytes() const { return long_words_.size(); }
    void clear() {
        slots_.assign(fewest_slots, Slot{});
        long_words_.assign(1, '\0');  // so that no place is 0
        size_ = 0;
    }

    // The number of a word; words are numbered from 0 as they come.
    std::uint32_t find_or_add(Word word) {
        reserve(1);
        const Key key = key_of(word);
        return find_or_add(key, word, &slots_[key.hash & (slots_.size() - 1)])->number;
    }

    // The same for many words: `out[i]` becomes `choose(i, number, note)`. The note is kept with the word for the caller, and
    // is `no_number` at first. `choose` may add one word itself.
    template <class Choose>
    void find_or_add(const WordList& words, std::uint32_t* out, const Choose& choose) {
        for (std::size_t begin = 0; begin < words.size(); begin += segment) {
            const std::size_t end = std::min(words.size(), begin + segment);
            reserve(2 * (end - begin));  // so that no slot moves
            find_or_add(words, begin, end, out, choose);
        }
    }

private:
    static constexpr std::size_t fewest_slots = 4096, longest_inline = 15;
    static constexpr std::uint64_t is_long = std::uint64_t{longest_inline + 1} << 56;

    // Where words are in memory is computed for so many of them ahead, so that cache misses overlap.
    static constexpr std::size_t ahead = 16;
    static constexpr std::size_t segment = 1024;

    // The bytes of a word and, in the last one, its length. A longer word has its hash in `low` and its place in
    // `long_words_` in `high`, which is 0 where the slot is free.
    struct alignas(32) Slot {
        std::uint64_t low = 0, high = 0;
        std::uint32_t number = 0, note = no_number;
    };
    // The same, but for the place of a long word.
    struct Key {
        std::uint64_t low, high, hash;
    };
    static Key key_of(Word word) {
        if (word.length > longest_inline) {
            const std::uint64_t hash = hash_bytes(word.bytes, word.length);
            return {hash, is_long, hash};
        }
        const auto& mask = word_masks.of[word.length];
        std::uint64_t low, high;
        std::memcpy(&low, word.bytes, 8);
        std::memcpy(&high, word.bytes + 8, 8);
        low &= mask.low;
        high = (high & mask.high) | mask.length;
        return {low, high, hash_pair(low, high)};
    }
    template <class Choose>
    void find_or_add(const WordList& words, std::size_t begin, std::size_t end, std::uint32_t* out, const Choose& choose) {
        Slot* const slots = slots_.data();
        const std::uint64_t mask = slots_.size() - 1;
        Key keys[ahead];
        const auto prepare = [&](std::size_t i) {
            const Key key = keys[i % ahead] = key_of(words[i]);
            prefetch(slots + (key.hash & mask));
        };
        for (std::size_t i = begin; i < std::min(end, begin + ahead); ++i) prepare(i);
        for (std::size_t i = begin; i < end; ++i) {
            const Key key = keys[i % ahead];
            if (i + ahead < end) prepare(i + ahead);
            Slot* slot = slots + (key.hash & mask);
            if (slot->low != key.low || slot->high != key.high) slot = find_or_add(key, words[i], slot);
            out[i] = choose(i, slot->number, slot->note);
        }
    }
    // Looks for the word from the slot where it belongs.
    PE_NEVER_INLINE Slot* find_or_add(const Key& key, Word word, Slot* slot) {
        for (Slot* const end = slots_.data() + slots_.size();; slot = slot + 1 < end ? slot + 1 : slots_.data()) {
            if (slot->high == 0) {
                const std::uint64_t place = key.high == is_long ? add_long(word) : 0;
                *slot = {key.low, key.high | place, static_cast<std::uint32_t>(size_++), no_number};
                return slot;
            }
            if (slot->low != key.low) continue;
            const bool is_equal =
                key.high == is_long ? slot->high >= is_long && equals_long(slot->high - is_long, word) : slot->high == key.high;
            if (is_equal) return slot;
        }
    }
    bool equals_long(std::uint64_t place, Word word) const {
        std::size_t stored;
        std::memcpy(&stored, &long_words_[place], sizeof stored);
        return stored == word.length && std::memcmp(&long_words_[place + sizeof stored], word.bytes, stored) == 0;
    }
    std::uint64_t add_long(Word word) {
        const std::size_t place = long_words_.size();
        long_words_.resize(place + sizeof word.length + word.length);
        std::memcpy(&long_words_[place], &word.length, sizeof word.length);
        std::memcpy(&long_words_[place + sizeof word.length], word.bytes, word.length);
        return place;
    }
    // Makes room for so many more words; the table is at most two thirds full.
    void reserve(std::size_t more) {
        std::size_t size = slots_.size();
        while (3 * (size_ + more) > 2 * size) size *= 2;
        if (size == slots_.size()) return;
        std::vector<Slot> old(size);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.high == 0) continue;
            std::size_t at = (slot.high >= is_long ? slot.low : hash_pair(slot.low, slot.high)) & (slots_.size() - 1);
            while (slots_[at].high != 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<char> long_words_;
    std::size_t size_ = 0;
};

// Numbers for words, remembered from text to text. Each word is stemmed once, and its stem is a word too.

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
