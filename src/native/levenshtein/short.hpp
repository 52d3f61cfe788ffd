// Short pairs of ASCII texts, one a lane: sixteen of at most 32 characters in 32-bit lanes, or eight of at most 64 in 64-bit
// lanes, in as many vectors as it takes. Included by the source file of a target alone.
#pragma once

#include "recurrences.hpp"
#include "vector.hpp"
#include "vector_kernels.hpp"

namespace {

using pe::vector_kernels::ShortPair;

// `upper_limit` is 'Z' to fold case and below 'A' to leave the bytes as they are. Bytes outside ASCII compare as negative.
inline Bytes fold_ascii(Bytes bytes, Bytes upper_limit) {
    const auto upper = reinterpret_cast<Bytes>((bytes > fill<Bytes>('A' - 1)) & (bytes <= upper_limit));
    return bytes | (upper & fill<Bytes>(0x20));
}

// `Vector` has lanes of `Word`, which hold as many rows as they have bits.
template <class Recurrence, typename Vector, typename Word>
std::uint32_t run_short(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* values) {
    constexpr std::size_t most_size = 8 * sizeof(Word);
    constexpr std::size_t most_pairs = 64 / sizeof(Word);
    constexpr std::size_t vector_lanes = vector_bytes / sizeof(Word);
    constexpr std::size_t vectors = most_pairs / vector_lanes;
    // The shorter text of a pair gives the columns. All pairs end together, so idle columns come first: those read the
    // 0xFF before the text, which equals nothing in ASCII.
    struct alignas(64) Slot {
        std::uint8_t before[most_size];
        std::uint8_t columns[most_size];
        std::uint8_t rows[most_size];
    };
    Slot slots[most_pairs];
    alignas(64) Word equal[most_size][most_pairs];
    alignas(64) Word columns[most_pairs] = {};
    std::uint32_t rows[most_pairs];
    std::uint32_t most_columns = 0;

    const auto copy = [](const std::uint8_t* from, std::uint32_t size, std::uint8_t* to) {
        for (std::uint32_t part = 0; part < most_size; part += 32, to += 32) {
            const std::uint32_t left = size > part ? size - part : 0;
            copy_short(from + (left > 0 ? part : 0), left < 32 ? left : 32, to);
        }
    };
    for (std::size_t i = 0; i < count; ++i) {
        const ShortPair& pair = pairs[i];
        const bool swap = pair.left_size < pair.right_size;
        const std::uint32_t shorter = swap ? pair.left_size : pair.right_size;
        columns[i] = shorter;
        rows[i] = swap ? pair.right_size : pair.left_size;
        most_columns = shorter > most_columns ? shorter : most_columns;
        copy(swap ? pair.left : pair.right, shorter, slots[i].columns);
        copy(swap ? pair.right : pair.left, rows[i], slots[i].rows);
    }

    // Only now are the copies read back as vectors: the narrow stores of their tails have long arrived.
    const Bytes upper_limit = fill<Bytes>(fold_case ? 'Z' : 'A' - 1);
    std::uint32_t not_ascii = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Slot& slot = slots[i];
        Bytes seen{};
        for (std::size_t part = 0; part < most_size; part += vector_bytes) {
            const Bytes shorter = load<Bytes>(slot.columns + part), longer = load<Bytes>(slot.rows + part);
            seen |= shorter | longer;
            store(slot.before + part, fill<Bytes>(-1));
            store(slot.columns + part, fold_ascii(shorter, upper_limit));
            store(slot.rows + part, fold_ascii(longer, upper_limit));
        }
        not_ascii |= static_cast<std::uint32_t>(has_sign(seen)) << i;
        const ByteRow<most_size> pattern(slot.rows);
        const std::uint8_t* bytes = slot.columns + columns[i] - most_columns;
        for (std::uint32_t j = 0; j < most_columns; ++j) equal[j][i] = static_cast<Word>(pattern.equal_to(bytes[j]));
    }
    for (std::size_t i = count; i < most_pairs; ++i)
        for (std::uint32_t j = 0; j < most_columns; ++j) equal[j][i] = 0;

    Vector state[vectors][Recurrence::states], first_column[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
        first_column[v] = fill<Vector>(most_columns) - load<Vector>(columns + v * vector_lanes);
        for (int i = 0; i < Recurrence::states; ++i) state[v][i] = fill<Vector>(static_cast<Word>(Recurrence::start[i]));
    }
    Vector column{};
    for (std::uint32_t j = 0; j < most_columns; ++j) {
        for (std::size_t v = 0; v < vectors; ++v)
            Recurrence::column_alone(state[v], load<Vector>(equal[j] + v * vector_lanes),
                                     reinterpret_cast<Vector>(first_column[v] > column));
        column += fill<Vector>(1);
    }

    alignas(64) Word more[most_pairs], less[most_pairs];
    for (std::size_t v = 0; v < vectors; ++v) {
        Vector mores, lesses;
        Recurrence::value(state[v], mores, lesses);
        store(more + v * vector_lanes, mores);
        store(less + v * vector_lanes, lesses);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t row_zero = Recurrence::counts_columns ? static_cast<std::uint32_t>(columns[i]) : 0;
        values[i] = row_zero + count_bits(more[i], rows[i]) - count_bits(less[i], rows[i]);
    }
    return not_ascii;
}

}  // namespace
