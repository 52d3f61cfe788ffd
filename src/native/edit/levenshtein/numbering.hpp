// Small numbers for the symbols of a pair, so that they can index a table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pe::edit {

class SymbolNumbering {
public:
    // `base`: how many numbers count as given out already.
    explicit SymbolNumbering(std::uint32_t base = 0) : base_(base) {}

    // Numbers the symbols of `first` from 1 on; a symbol that only `second` has becomes 0. Returns the largest number.
    std::uint32_t number(const std::uint32_t* first, std::size_t first_size, const std::uint32_t* second,
                         std::size_t second_size, std::uint32_t* first_numbers, std::uint32_t* second_numbers) {
        std::uint32_t largest = 0;
        for (std::size_t i = 0; i < first_size; ++i) largest = std::max(largest, first[i]);
        // Numbers of earlier pairs stay in the table: those up to base_ are void.
        if (base_ > UINT32_MAX - first_size) forget();
        const std::uint32_t base = base_;
        std::uint32_t last = base;
        if (largest < direct_limit) {
            if (direct_.size() <= largest) direct_.resize(std::size_t{largest} + 1, 0);
            std::uint32_t* const entries = direct_.data();
            const std::size_t entry_count = direct_.size();
            for (std::size_t i = 0; i < first_size; ++i) {
                // Without a branch: whether a symbol is new is hard to predict.
                const std::uint32_t entry = entries[first[i]];
                const std::uint32_t is_new = entry <= base;
                last += is_new;
                const std::uint32_t number = entry + (last - entry) * is_new;
                entries[first[i]] = number;
                first_numbers[i] = number - base;
            }
            for (std::size_t i = 0; i < second_size; ++i) {
                const std::uint32_t entry = second[i] < entry_count ? entries[second[i]] : 0;
                second_numbers[i] = entry > base ? entry - base : 0;
            }
        } else {
            make_room(first_size);
            for (std::size_t i = 0; i < first_size; ++i) {
                Slot& slot = find(first[i]);
                if (slot.entry <= base) slot = {first[i], ++last};
                first_numbers[i] = slot.entry - base;
            }
            for (std::size_t i = 0; i < second_size; ++i) {
                const Slot& slot = find(second[i]);
                second_numbers[i] = slot.entry > base ? slot.entry - base : 0;
            }
        }
        const std::uint32_t used = last - base_;
        base_ = last;
        return used;
    }

private:
    // Every code point is below this; other symbols may be anything.
    static constexpr std::uint32_t direct_limit = 1u << 21;

    struct Slot {
        std::uint32_t symbol;
        std::uint32_t entry;
    };

    // The slot of the symbol, or the void one where it belongs. At most half of the slots are in use.
    Slot& find(std::uint32_t symbol) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (symbol * 0x9E3779B97F4A7C15u >> 32) & mask;
        while (slots_[at].entry > base_ && slots_[at].symbol != symbol) at = (at + 1) & mask;
        return slots_[at];
    }

    void make_room(std::size_t symbols) {
        std::size_t capacity = std::max<std::size_t>(slots_.size(), 64);
        while (capacity < 2 * symbols) capacity *= 2;
        if (capacity > slots_.size()) slots_.assign(capacity, Slot{0, 0});
    }

    void forget() {
        std::fill(direct_.begin(), direct_.end(), 0);
        std::fill(slots_.begin(), slots_.end(), Slot{0, 0});
        base_ = 0;
    }

    std::vector<std::uint32_t> direct_;
    std::vector<Slot> slots_;
    std::uint32_t base_;
};

}  // namespace pe::edit
