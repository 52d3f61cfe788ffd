// Short pairs of ASCII texts, one a lane: sixteen of at most 32 characters in 32-bit lanes, or eight of at most 64 or 128 in
// one or two blocks of 64-bit lanes, in as many vectors as it takes. Included by the source file of a target alone.
#pragma once

#include "recurrences.hpp"
#include "vector.hpp"
#include "vector_kernels.hpp"

namespace {

// Where the rows of short pairs match a column: one bit a row, one lane a pair. Rows are in blocks of as many as a lane has
// bits. Columns come in stretches: `set_columns` takes the next ones of a pair, and `at` gives the match bits of one of them,
// for each block of the pairs of one vector.
#if defined(__GFNI__) && defined(__AVX512VBMI__)

// The rows as planes of bits, one for each bit of a byte. A row differs from a byte where any plane does: that is two
// instructions a plane for all pairs of a vector, while comparing bytes takes four for every pair.
template <typename Vector, typename Word, int blocks, std::size_t pairs>
class Matches {
public:
    static constexpr std::uint32_t stretch = 8 * sizeof(Word) * blocks;

    void set_rows(std::size_t pair, const std::uint8_t* rows) {
        for (int k = 0; k < blocks; ++k) {
            alignas(64) Word planes[8];
            bit_planes(rows + k * 8 * sizeof(Word), planes);
            for (int b = 0; b < ascii_bits; ++b) planes_[k][b][pair] = planes[b];
        }
    }

    // `columns` are the next `size` bytes of pair i; up to seven more may be read.
    void set_columns(std::size_t pair, const std::uint8_t* columns, std::uint32_t size) {
        for (std::uint32_t word = 0; word * sizeof(Word) < size; ++word)
            std::memcpy(&columns_[word][pair], columns + word * sizeof(Word), sizeof(Word));
    }

    inline void at(std::uint32_t column, std::size_t, Vector (&equal)[blocks]) const {
        static_assert(pairs * sizeof(Word) == sizeof(Vector));
        const Vector byte = repeat_byte(load<Vector>(columns_[column / sizeof(Word)]), column % sizeof(Word));
        Vector differs[blocks];
        for (int k = 0; k < blocks; ++k) differs[k] = repeat_bit(byte, ascii_bits);  // no row is outside ASCII
        for (int b = 0; b < ascii_bits; ++b)
            for (int k = 0; k < blocks; ++k)
                differs[k] = logic(differs[k], load<Vector>(planes_[k][b]), repeat_bit(byte, b),
                                   [](auto x, auto y, auto z) { return x | (y ^ z); });
        for (int k = 0; k < blocks; ++k) equal[k] = ~differs[k];
    }

private:
    static constexpr int ascii_bits = 7;
    alignas(64) Word planes_[blocks][ascii_bits][pairs];
    alignas(64) Word columns_[stretch / sizeof(Word)][pairs];
};

#else

template <typename Vector, typename Word, int blocks, std::size_t pairs>
class Matches {
public:
    static constexpr std::uint32_t stretch = 32;  // stays in the fastest cache

    void set_rows(std::size_t pair, const std::uint8_t* rows) { rows_[pair] = rows; }

    void set_columns(std::size_t pair, const std::uint8_t* columns, std::uint32_t size) {
        constexpr std::size_t block_size = 8 * sizeof(Word);
        const ByteRow<block_size> upper(rows_[pair]), lower(rows_[pair] + (blocks - 1) * block_size);
        for (std::uint32_t j = 0; j < size; ++j) {
            equal_[j][0][pair] = static_cast<Word>(upper.equal_to(columns[j]));
            if (blocks == 2) equal_[j][blocks - 1][pair] = static_cast<Word>(lower.equal_to(columns[j]));
        }
    }

    inline void at(std::uint32_t column, std::size_t vector, Vector (&equal)[blocks]) const {
        constexpr std::size_t vector_pairs = sizeof(Vector) / sizeof(Word);
        for (int k = 0; k < blocks; ++k) equal[k] = load<Vector>(equal_[column][k] + vector * vector_pairs);
    }

private:
    const std::uint8_t* rows_[pairs];
    alignas(64) Word equal_[stretch][blocks][pairs];
};

#endif

using pe::edit::vector_kernels::ShortPair;

// `upper_limit` is 'Z' to fold case and below 'A' to leave the bytes as they are. Bytes outside ASCII compare as negative.
inline Bytes fold_ascii(Bytes bytes, Bytes upper_limit) {
    const auto upper = reinterpret_cast<Bytes>((bytes > fill<Bytes>('A' - 1)) & (bytes <= upper_limit));
    return bytes | (upper & fill<Bytes>(0x20));
}

// Some columns of short pairs, `vectors` of pairs side by side. A lane waits while the highest bit of `waiting` is set, to
// which each column adds one.
template <class Recurrence, int blocks>
struct ShortRun;

template <class Recurrence>
struct ShortRun<Recurrence, 1> {
    template <typename Vector, class Matches, std::size_t vectors>
    static inline void run(Vector (&state)[vectors][1][Recurrence::states], Vector (&waiting)[vectors], const Matches& matches,
                           std::uint32_t columns) {
        for (std::uint32_t j = 0; j < columns; ++j)
            for (std::size_t v = 0; v < vectors; ++v) {
                Vector equal[1];
                matches.at(j, v, equal);
                Recurrence::column_alone(state[v][0], equal[0], waiting[v]);
                waiting[v] += fill<Vector>(1);
            }
    }
};

// The second block works a column behind the first, so that the blocks of a step need nothing of each other.
template <class Recurrence>
struct ShortRun<Recurrence, 2> {
    template <typename Vector, class Matches, std::size_t vectors>
    static inline void run(Vector (&state)[vectors][2][Recurrence::states], Vector (&waiting)[vectors], const Matches& matches,
                           std::uint32_t columns) {
        Vector carry[vectors][Recurrence::carries], unused[Recurrence::carries], equal[vectors][2];
        const auto upper = [&](std::size_t v) {
            Vector in[Recurrence::carries];
            for (int i = 0; i < Recurrence::carries; ++i) in[i] = Recurrence::waiting[i] != 0 ? carry_of(waiting[v]) : Vector{};
            Recurrence::column(state[v][0], equal[v][0], in, carry[v]);
            waiting[v] += fill<Vector>(1);
        };
        const auto lower = [&](std::size_t v) { Recurrence::column(state[v][1], equal[v][1], carry[v], unused); };
        for (std::size_t v = 0; v < vectors; ++v) {
            matches.at(0, v, equal[v]);
            upper(v);
        }
        for (std::uint32_t j = 1; j < columns; ++j)
            for (std::size_t v = 0; v < vectors; ++v) {
                lower(v);
                matches.at(j, v, equal[v]);
                upper(v);
            }
        for (std::size_t v = 0; v < vectors; ++v) lower(v);
    }
};

// `Vector` has lanes of `Word`, which hold as many rows as they have bits.
template <class Recurrence, typename Vector, typename Word, int blocks = 1>
std::uint32_t run_short(const ShortPair* pairs, std::size_t count, bool fold_case, std::uint32_t* values) {
    constexpr std::size_t block_size = 8 * sizeof(Word), most_size = blocks * block_size;
    constexpr std::size_t most_pairs = 64 / sizeof(Word);
    constexpr std::size_t vector_lanes = sizeof(Vector) / sizeof(Word);
    constexpr std::size_t vectors = most_pairs / vector_lanes;
    // The shorter text of a pair gives the columns. All pairs end together, so idle columns come first: those read the
    // 0xFF before the text, which equals nothing in ASCII.
    struct alignas(64) Slot {
        std::uint8_t before[most_size];
        std::uint8_t columns[most_size];
        std::uint8_t rows[most_size];
    };
    Slot slots[most_pairs];
    using PairMatches = Matches<Vector, Word, blocks, most_pairs>;
    PairMatches matches;
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
        matches.set_rows(i, slot.rows);
        not_ascii |= static_cast<std::uint32_t>(has_sign(seen)) << i;
    }

    Vector state[vectors][blocks][Recurrence::states], waiting[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
        waiting[v] = load<Vector>(columns + v * vector_lanes) - fill<Vector>(most_columns);
        for (int k = 0; k < blocks; ++k)
            for (int i = 0; i < Recurrence::states; ++i) state[v][k][i] = fill<Vector>(static_cast<Word>(Recurrence::start[i]));
    }
    for (std::uint32_t first = 0; first < most_columns; first += PairMatches::stretch) {
        const std::uint32_t left = most_columns - first, some = left < PairMatches::stretch ? left : PairMatches::stretch;
        for (std::size_t i = 0; i < count; ++i)
            matches.set_columns(i, slots[i].columns + columns[i] - most_columns + first, some);
        ShortRun<Recurrence, blocks>::run(state, waiting, matches, some);
    }

    alignas(64) Word more[blocks][most_pairs], less[blocks][most_pairs];
    for (std::size_t v = 0; v < vectors; ++v)
        for (int k = 0; k < blocks; ++k) {
            Vector mores, lesses;
            Recurrence::value(state[v][k], mores, lesses);
            store(more[k] + v * vector_lanes, mores);
            store(less[k] + v * vector_lanes, lesses);
        }
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = Recurrence::counts_columns ? static_cast<std::uint32_t>(columns[i]) : 0;
        for (std::uint32_t k = 0; k < blocks && k * block_size < rows[i]; ++k)
            values[i] += count_bits(more[k][i], rows[i] - k * block_size) - count_bits(less[k][i], rows[i] - k * block_size);
    }
    return not_ascii;
}

}  // namespace
