// Damerau-Levenshtein: swapped neighbours may be edited again (Zhao and Sahni 2019), a row at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../core/interrupt.hpp"
#include "levenshtein/pair.hpp"
#include "levenshtein/vector_kernels.hpp"

namespace pe::edit {

class DamerauKernel {
public:
    static constexpr bool takes_any_symbols = false;

    template <typename Symbol>
    std::uint32_t operator()(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right,
                             std::size_t symbols) {
        strip_affixes(left, right);
        // The longer text gives the columns: more of each row is done in vectors.
        if (left.size > right.size) std::swap(left, right);
        if (left.size == 0) return static_cast<std::uint32_t>(right.size);
        // Sums of a distance and two lengths must fit a cell.
        if (right.size < std::numeric_limits<std::int16_t>::max() / 3 && symbols <= std::numeric_limits<std::int16_t>::max())
            return distance(left, right, symbols, narrow_);
        return distance(left, right, symbols, wide_);
    }

private:
    template <typename Cell>
    struct Memory {
        std::vector<Cell> cells;
        std::vector<std::uint32_t> places, starts;
    };

    // Where a row leaves what a swap needs, by column: of the last row that matched the column's symbol, its number and the
    // distance before that row and two columns back.
    template <typename Cell>
    struct Columns {
        const Cell* symbols;
        Cell* matched_row;
        Cell* before_match;
    };

    template <typename Cell, typename Symbol>
    static std::uint32_t distance(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right,
                                  std::size_t symbols, Memory<Cell>& memory) {
        const std::size_t columns = right.size;
        // Rows have two cells before column 0 that are never reached, and matches of no symbol.
        constexpr std::size_t room = 2;
        const std::size_t width = columns + 1 + room;
        memory.cells.assign(6 * width, 0);
        Cell* const base = memory.cells.data() + room;
        Cell *two_above = base, *above = base + width, *now = base + 2 * width;
        Cell* const column_symbols = base + 3 * width;
        const Columns<Cell> by_column{column_symbols, base + 4 * width, base + 5 * width};
        const auto never = static_cast<Cell>(left.size + right.size + 1);
        for (Cell* row : {two_above, above, now}) std::fill(row - room, row, never);
        for (std::size_t j = 0; j <= columns; ++j) above[j] = static_cast<Cell>(j);
        std::fill(by_column.before_match, by_column.before_match + columns + 1, never);
        column_symbols[0] = static_cast<Cell>(-1);
        column_symbols[-1] = static_cast<Cell>(-1);
        for (std::size_t j = 1; j <= columns; ++j) column_symbols[j] = static_cast<Cell>(right.data[j - 1]);
        sort_places(right, symbols, memory);

        for (std::size_t i = 1; i <= left.size; ++i) {
            if (i % 16 == 0) throw_if_stopped();
            const auto symbol = left.data[i - 1];
            now[0] = static_cast<Cell>(i);
            fill_row(static_cast<Cell>(i), static_cast<Cell>(symbol), columns, by_column, above, now);
            if (i > 1) swap_across_columns(symbol, left.data[i - 2], memory, two_above, now);
            std::int32_t left_cell = now[0];
            for (std::size_t j = 1; j <= columns; ++j) {
                left_cell = std::min<std::int32_t>(now[j], left_cell + 1);
                now[j] = static_cast<Cell>(left_cell);
            }
            Cell* const free = two_above;
            two_above = above;
            above = now;
            now = free;
        }
        return static_cast<std::uint32_t>(above[columns]);
    }

    // What comes from the row above, and swaps with symbols between them in this row's text: all without a look at the cell
    // to the left, so that compilers make vector code of it.
    template <typename Cell>
    static void fill_row(Cell row, Cell symbol, std::size_t columns, const Columns<Cell>& by_column,
                         const Cell* __restrict above, Cell* __restrict now) {
        const Cell* __restrict symbols = by_column.symbols;
        Cell* __restrict matched_row = by_column.matched_row;
        Cell* __restrict before_match = by_column.before_match;
        for (std::size_t j = 1; j <= columns; ++j) {
            // All is read before anything is chosen: a load under a condition would keep the loop from being vector code.
            const Cell diagonal = above[j - 1], up = above[j], two_back = above[static_cast<std::ptrdiff_t>(j) - 2];
            const Cell last_row = matched_row[j], last_before = before_match[j];
            const auto is_equal = static_cast<Cell>(symbols[j] == symbol ? -1 : 0);
            const auto may_swap = static_cast<Cell>(symbols[j - 1] == symbol ? 0 : std::numeric_limits<Cell>::max());
            const auto changed = static_cast<Cell>(diagonal + 1 + is_equal);
            const auto removed = static_cast<Cell>(up + 1);
            const auto swapped = static_cast<Cell>((last_before + (row - last_row)) | may_swap);
            const Cell best = changed < removed ? changed : removed;
            now[j] = best < swapped ? best : swapped;
            matched_row[j] = static_cast<Cell>((row & is_equal) | (last_row & ~is_equal));
            before_match[j] = static_cast<Cell>((two_back & is_equal) | (last_before & ~is_equal));
        }
    }

    // Swaps of this row with the one above that have symbols between them in the columns' text: from the last column before
    // that matches this row, to one that matches the row above.
    template <typename Cell, typename Symbol>
    static void swap_across_columns(Symbol symbol, Symbol symbol_above, const Memory<Cell>& memory, const Cell* two_above,
                                    Cell* now) {
        const std::uint32_t* at = memory.places.data() + memory.starts[symbol];
        const std::uint32_t* const end = memory.places.data() + memory.starts[symbol + std::size_t{1}];
        const std::uint32_t* to = memory.places.data() + memory.starts[symbol_above];
        const std::uint32_t* const to_end = memory.places.data() + memory.starts[symbol_above + std::size_t{1}];
        if (at == end) return;
        for (; to < to_end; ++to) {
            if (*at >= *to) continue;
            while (at + 1 < end && *(at + 1) < *to) ++at;
            const auto swapped = static_cast<Cell>(two_above[*at - 1] + static_cast<Cell>(*to - *at));
            now[*to] = std::min(now[*to], swapped);
        }
    }

    // The columns of each symbol, in order: memory.places from memory.starts[symbol] to memory.starts[symbol + 1].
    template <typename Cell, typename Symbol>
    static void sort_places(vector_kernels::Sequence<Symbol> text, std::size_t symbols, Memory<Cell>& memory) {
        memory.starts.assign(symbols + 2, 0);
        memory.places.resize(text.size);
        for (std::size_t j = 0; j < text.size; ++j) ++memory.starts[text.data[j] + std::size_t{2}];
        for (std::size_t s = 2; s < memory.starts.size(); ++s) memory.starts[s] += memory.starts[s - 1];
        for (std::size_t j = 0; j < text.size; ++j)
            memory.places[memory.starts[text.data[j] + std::size_t{1}]++] = static_cast<std::uint32_t>(j + 1);
    }

    Memory<std::int16_t> narrow_;
    Memory<std::int32_t> wide_;
};

}  // namespace pe::edit
