// From words to numbers: a hash table that hashes each byte once and compares words of up to 16 bytes in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../hashing.hpp"

namespace pe {

inline constexpr std::uint32_t no_number = 0xFFFFFFFF;

// One byte or more of a text. At least 16 bytes are readable at `bytes`, whatever the length.
struct Word {
    const char* bytes;
    std::size_t length;
};

// Words in a row. As a vector, but for a `push` that costs next to nothing.
class WordList {
public:
    void clear() { size_ = 0; }
    void push(const char* bytes, std::size_t length) {
        if (size_ == words_.size()) words_.resize(2 * size_ + 64);
        words_[size_++] = {bytes, length};
    }
    std::size_t size() const { return size_; }
    const Word& operator[](std::size_t i) const { return words_[i]; }

private:
    std::vector<Word> words_;
    std::size_t size_ = 0;
};

// Keeps the first bytes of 16 that were loaded.
struct WordMasks {
    struct {
        std::uint64_t low, high;
    } of[17] = {};
    constexpr WordMasks() {
        for (unsigned i = 0; i <= 16; ++i) {
            of[i].low = i >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * i)) - 1;
            of[i].high = i >= 16 ? ~std::uint64_t{0} : i <= 8 ? 0 : (std::uint64_t{1} << (8 * (i - 8))) - 1;
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
        long_words_.clear();
        size_ = 0;
    }

    // The number stored for a word; for a new word that is what `make()` returns.
    template <class Make>
    std::uint32_t find_or_add(Word word, Make&& make) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        Slot& slot = find(key_of(word), word);
        if (slot.length == 0) add(slot, key_of(word), word, make());
        return slot.number;
    }

    // The same for many words, which are numbered from 0 as they come: calls `take(number, note)` for each in turn. The
    // note is kept with the word for the caller, and is `no_number` at first. Where words are in memory is computed for
    // some of them ahead, so that the cache misses overlap. `take` may add one word itself.
    template <class Take>
    void find_or_add(const WordList& words, Take&& take) {
        Key keys[ahead];
        for (std::size_t begin = 0; begin < words.size(); begin += ahead) {
            const std::size_t count = words.size() - begin < ahead ? words.size() - begin : ahead;
            while (2 * (size_ + 2 * ahead) > slots_.size()) grow();  // so that no slot moves below
            for (std::size_t i = 0; i < count; ++i) {
                keys[i] = key_of(words[begin + i]);
                prefetch(&slots_[keys[i].hash & (slots_.size() - 1)]);
            }
            for (std::size_t i = 0; i < count; ++i) {
                Slot& slot = find(keys[i], words[begin + i]);
                if (slot.length == 0) add(slot, keys[i], words[begin + i], static_cast<std::uint32_t>(size_));
                take(slot.number, slot.note);
            }
        }
    }

private:
    static constexpr std::size_t fewest_slots = 1024, longest_inline = 16;
    static constexpr std::uint32_t is_long = longest_inline + 1;

    static constexpr std::size_t ahead = 32;

    // A longer word has its hash in `low` and its place in `long_words_` in `high`. Length 0: the slot is free.
    struct alignas(32) Slot {
        std::uint64_t low = 0, high = 0;
        std::uint32_t length = 0, number = 0, note = no_number;
    };
    struct Key {
        std::uint64_t low, high, hash;
        std::uint32_t length;
    };
    static Key key_of(Word word) {
        if (word.length > longest_inline) {
            const std::uint64_t hash = hash_bytes(word.bytes, word.length);
            return {hash, 0, hash, is_long};
        }
        Key key;
        std::memcpy(&key.low, word.bytes, 8);
        std::memcpy(&key.high, word.bytes + 8, 8);
        key.low &= word_masks.of[word.length].low;
        key.high &= word_masks.of[word.length].high;
        key.length = static_cast<std::uint32_t>(word.length);
        key.hash = hash_pair(key.low, key.high + word.length);
        return key;
    }
    // Where the word is, or belongs.
    Slot& find(const Key& key, Word word) {
        for (std::size_t at = key.hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.length == 0) return slot;
            if (slot.low != key.low || slot.length != key.length) continue;
            if (key.length == is_long ? equals_long(slot.high, word) : slot.high == key.high) return slot;
        }
    }
    void add(Slot& slot, const Key& key, Word word, std::uint32_t number) {
        slot = {key.low, key.length == is_long ? add_long(word) : key.high, key.length, number, no_number};
        ++size_;
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
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.length == 0) continue;
            const std::uint64_t hash = slot.length == is_long ? slot.low : hash_pair(slot.low, slot.high + slot.length);
            std::size_t at = hash & (slots_.size() - 1);
            while (slots_[at].length != 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<char> long_words_;
    std::size_t size_ = 0;
};

}  // namespace pe
