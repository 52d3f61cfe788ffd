// From words to numbers: a hash table that hashes each byte once and compares words of up to 16 bytes in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pe {

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
    void clear() {
        slots_.assign(fewest_slots, Slot{});
        long_words_.clear();
        size_ = 0;
    }

    // The number stored for a word of one byte or more; for a new word that is what `make()` returns. At least 16 bytes
    // must be readable at `word`, whatever its length.
    template <class Make>
    std::uint32_t find_or_add(const char* word, std::size_t length, Make&& make) {
        Slot key;
        std::uint64_t hash;
        if (length <= longest_inline) {
            std::memcpy(&key.low, word, 8);
            std::memcpy(&key.high, word + 8, 8);
            key.low &= word_masks.of[length].low;
            key.high &= word_masks.of[length].high;
            key.length = static_cast<std::uint32_t>(length);
            hash = mix(key.low, key.high + length);
        } else {
            hash = hash_long(word, length);
            key.low = hash;
            key.length = is_long;
        }
        std::size_t at = hash & (slots_.size() - 1);
        for (; slots_[at].length != 0; at = (at + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[at];
            if (slot.low != key.low || slot.length != key.length) continue;
            if (key.length == is_long ? equals_long(slot.high, word, length) : slot.high == key.high) return slot.number;
        }
        if (key.length == is_long) key.high = add_long(word, length);
        key.number = make();
        slots_[at] = key;
        if (2 * ++size_ > slots_.size()) grow();
        return key.number;
    }

private:
    static constexpr std::size_t fewest_slots = 1024, longest_inline = 16;
    static constexpr std::uint32_t is_long = longest_inline + 1;

    // A longer word has its hash in `low` and its place in `long_words_` in `high`. Length 0: the slot is free.
    struct alignas(32) Slot {
        std::uint64_t low = 0, high = 0;
        std::uint32_t length = 0, number = 0;
    };
    static std::uint64_t mix(std::uint64_t low, std::uint64_t high) {
        std::uint64_t hash = low * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
        hash = (hash + high) * 0xD6E8FEB86659FD93u;
        return hash ^ hash >> 32;
    }
    static std::uint64_t hash_long(const char* word, std::size_t length) {
        std::uint64_t hash = length;
        std::size_t at = 0;
        for (; at + 8 <= length; at += 8) {
            std::uint64_t eight;
            std::memcpy(&eight, word + at, 8);
            hash = mix(hash, eight);
        }
        std::uint64_t tail = 0;
        std::memcpy(&tail, word + at, length - at);
        return mix(hash, tail);
    }
    bool equals_long(std::uint64_t place, const char* word, std::size_t length) const {
        std::size_t stored;
        std::memcpy(&stored, &long_words_[place], sizeof stored);
        return stored == length && std::memcmp(&long_words_[place + sizeof stored], word, length) == 0;
    }
    std::uint64_t add_long(const char* word, std::size_t length) {
        const std::size_t place = long_words_.size();
        long_words_.resize(place + sizeof length + length);
        std::memcpy(&long_words_[place], &length, sizeof length);
        std::memcpy(&long_words_[place + sizeof length], word, length);
        return place;
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.length == 0) continue;
            const std::uint64_t hash = slot.length == is_long ? slot.low : mix(slot.low, slot.high + slot.length);
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
