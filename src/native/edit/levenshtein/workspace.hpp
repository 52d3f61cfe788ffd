// What the kernels take beside texts: options, a target, and memory that they use over and over. One a thread.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>

#include "../../core/interrupt.hpp"
#include "../../unicode/decode.hpp"
#include "scalar.hpp"
#include "vector_kernels.hpp"

namespace pe::edit {

struct EditOptions {
    bool fold_case;
    std::size_t max_chars;  // SIZE_MAX: no cut
};

// Lengths are in code points, after folding and cutting.
struct EditResult {
    std::uint32_t distance, left_chars, right_chars;
};

namespace vector_kernels {
extern const Kernels avx2_kernels, avx512_kernels, neon_kernels;
}

struct Target {
    const char* name;
    const vector_kernels::Kernels* kernels;  // none: the portable code
};

// What this machine can run, the best last.
inline std::vector<Target> available_targets() {
    std::vector<Target> targets{{"portable", nullptr}};
#if defined(PE_VECTORS_X86)
    if (has_avx2()) targets.push_back({"avx2", &vector_kernels::avx2_kernels});
    if (has_avx512()) targets.push_back({"avx512", &vector_kernels::avx512_kernels});
#elif defined(PE_VECTORS_NEON)
    targets.push_back({"neon", &vector_kernels::neon_kernels});
#endif
    return targets;
}

// The best target, or the one that the environment names, to try others on one machine.
inline Target chosen_target() {
    static const Target chosen = [] {
        const std::vector<Target> targets = available_targets();
        const char* wanted = std::getenv("POLARS_EVALS_TARGET");
        if (wanted == nullptr || *wanted == '\0') return targets.back();
        std::string known;
        for (const Target& target : targets) {
            if (std::string(wanted) == target.name) return target;
            known += std::string(known.empty() ? "" : ", ") + target.name;
        }
        throw std::invalid_argument("POLARS_EVALS_TARGET is '" + std::string(wanted) + "'; this machine can do: " + known);
    }();
    return chosen;
}

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

template <class Memory>
void grow(Memory& memory, std::size_t size) {
    if (memory.size() < size) memory.resize(size);
}

// Words that start out zero, the first at the start of a cache line.
class AlignedWords {
public:
    std::uint64_t* at_least(std::size_t count) {
        grow(words_, count + slack);
        const auto address = reinterpret_cast<std::uintptr_t>(words_.data());
        return words_.data() + (64 - address % 64) % 64 / sizeof(std::uint64_t);
    }

private:
    static constexpr std::size_t slack = 64 / sizeof(std::uint64_t);
    std::vector<std::uint64_t> words_;
};

class LevenshteinWorkspace {
public:
    explicit LevenshteinWorkspace(Target target = chosen_target()) : vectors(target.kernels) {}

    vector_kernels::BlockScratch blocks_for(std::size_t symbols, std::size_t columns) {
        using vector_kernels::column_slack;
        grow(offsets, vector_kernels::pairs_at_once * (columns + column_slack));
        grow(carries, vector_kernels::pairs_at_once * vector_kernels::most_carries * (columns + column_slack));
        return {table.at_least(symbols * vector_kernels::symbol_words), offsets.data(), carries.data(), is_stopped};
    }

    vector_kernels::SuperblockScratch superblocks_for(std::size_t columns) {
        using namespace vector_kernels;
        const std::size_t turn_carries = most_carries * (columns + column_slack);
        if (carries.size() < pairs_at_once * turn_carries) carries.resize(pairs_at_once * turn_carries);
        return {superblock_tables.at_least(superblock_words), carries.data(), turn_carries, guesses, is_stopped};
    }

    // The code points of both texts, in `left_codes` and `right_codes`.
    void decode_pair(Text left, Text right, const EditOptions& options) {
        unicode::DecodeBlocks* const blocks = vectors == nullptr ? nullptr : vectors->decode;
        unicode::decode(left, options.fold_case, options.max_chars, left_codes, blocks);
        unicode::decode(right, options.fold_case, options.max_chars, right_codes, blocks);
    }

    const vector_kernels::Kernels* const vectors;  // none: only portable code
    SymbolNumbering numbering;
    ScalarScratch scalar;
    AlignedWords table;  // zero between uses
    AlignedWords superblock_tables;
    vector_kernels::DistanceGuess guesses[vector_kernels::distance_guesses] = {};
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint64_t> carries;
    std::vector<std::uint32_t> left_codes, right_codes;
    std::vector<std::uint32_t> left_numbers, right_numbers;
    std::vector<std::uint8_t> bytes;
};

}  // namespace pe::edit
