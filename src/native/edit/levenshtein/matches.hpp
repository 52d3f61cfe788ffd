// Where the rows of short pairs match a column: one bit a row, one lane a pair. Included by the source file of a target alone.
//
// Rows are in blocks of as many as a lane has bits. Columns come in stretches: `set_columns` takes the next ones of a pair, and
// `at` gives the match bits of one of them, for each block of the pairs of one vector.
#pragma once

#include "vector.hpp"

namespace {

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

}  // namespace
