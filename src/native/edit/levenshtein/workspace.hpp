// Memory that the kernels use over and over. One a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../core/interrupt.hpp"
#include "../../core/text.hpp"
#include "../../unicode/decode.hpp"
#include "numbering.hpp"
#include "options.hpp"
#include "scalar.hpp"
#include "targets.hpp"
#include "vector_kernels.hpp"

namespace pe::edit {

// Words that start out zero, the first at the start of a cache line.
class AlignedWords {
public:
    std::uint64_t* at_least(std::size_t count) {
        if (words_.size() < count + slack) words_.resize(count + slack);
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
        const auto at_least = [](auto& memory, std::size_t size) {
            if (memory.size() < size) memory.resize(size);
        };
        at_least(offsets, vector_kernels::pairs_at_once * (columns + column_slack));
        at_least(carries, vector_kernels::pairs_at_once * vector_kernels::most_carries * (columns + column_slack));
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
