// Distances beside Levenshtein's, over pairs of texts as symbols.
#pragma once

#include <cmath>
#include <type_traits>

#include "../core/interrupt.hpp"
#include "levenshtein/pair.hpp"
#include "levenshtein/workspace.hpp"
#include "levenshtein/scalar.hpp"
#include "levenshtein/vector_kernels.hpp"

namespace pe::edit {

// A pair of texts as symbols that can be compared and counted: bytes where both are ASCII, else code points.

class EditTexts {
public:
    // Calls `measure(left, right, symbols)` with two sequences of symbols, of bytes or of 32-bit numbers below `symbols`, and
    // returns what it returns. Folded and cut as `options` say; the lengths are in `result`. A measure that takes any symbols
    // gets the code points themselves.
    template <class Measure>
    auto compare(Text left, Text right, const EditOptions& options, EditResult& result, Measure&& measure) {
        const Text left_cut = left.substr(0, options.max_chars), right_cut = right.substr(0, options.max_chars);
        grow(left_bytes_, left_cut.size());
        grow(right_bytes_, right_cut.size());
        const auto copy = options.fold_case ? unicode::copy_ascii<true> : unicode::copy_ascii<false>;
        if (copy(left_cut, left_bytes_.data()) && copy(right_cut, right_bytes_.data())) {
            set_sizes(result, left_cut.size(), right_cut.size());
            return measure(Sequence<std::uint8_t>{left_bytes_.data(), left_cut.size()},
                           Sequence<std::uint8_t>{right_bytes_.data(), right_cut.size()}, byte_symbols);
        }
        std::vector<std::uint32_t>&left_codes = workspace_.left_codes, &right_codes = workspace_.right_codes;
        workspace_.decode_pair(left, right, options);
        set_sizes(result, left_codes.size(), right_codes.size());
        if constexpr (std::remove_reference_t<Measure>::takes_any_symbols)
            return measure(Sequence<std::uint32_t>{left_codes.data(), left_codes.size()},
                           Sequence<std::uint32_t>{right_codes.data(), right_codes.size()}, 0);
        const NumberedPair pair =
            number_pair(left_codes.data(), left_codes.size(), right_codes.data(), right_codes.size(), workspace_);
        return measure(pair.left, pair.right, pair.symbols);
    }

private:
    static void set_sizes(EditResult& result, std::size_t left, std::size_t right) {
        result.left_chars = static_cast<std::uint32_t>(left);
        result.right_chars = static_cast<std::uint32_t>(right);
    }
    LevenshteinWorkspace workspace_;
    std::vector<std::uint8_t> left_bytes_, right_bytes_;
};

// Positions at which two texts differ; those that only one has count as different.

class HammingKernel {
public:
    static constexpr bool takes_any_symbols = true;

    template <typename Symbol>
    std::uint32_t operator()(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t) {
        const std::size_t both = std::min(left.size, right.size);
        std::uint32_t different = 0;
        for (std::size_t i = 0; i < both; ++i) different += left.data[i] != right.data[i];
        return different + static_cast<std::uint32_t>(std::max(left.size, right.size) - both);
    }
};

// Jaro-Winkler, in time linear in the lengths.

class JaroWinklerKernel {
public:
    static constexpr bool takes_any_symbols = false;

    // The similarity, as RapidFuzz computes it to the last bit.
    template <typename Symbol>
    double operator()(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t symbols) {
        const std::size_t shorter = std::min(left.size, right.size);
        const std::size_t prefix = common_prefix(left.data, right.data, shorter);
        double similarity = jaro(left, right, prefix, symbols);
        if (similarity > 0.7) {
            similarity += static_cast<double>(std::min<std::size_t>(prefix, 4)) * 0.1 * (1.0 - similarity);
            similarity = std::min(similarity, 1.0);
        }
        return 1.0 - (1.0 - similarity);
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct Matches {
        std::size_t count, displaced;  // how many there are, and how many of them stand in another order
    };

    template <typename Symbol>
    double jaro(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t prefix, std::size_t symbols) {
        if (left.size == 0 && right.size == 0) return 1.0;
        if (left.size == 0 || right.size == 0) return 0.0;
        const std::size_t half = std::max(left.size, right.size) / 2, reach = half > 0 ? half - 1 : 0;
        // What both begin with matches itself.
        const Sequence<Symbol> left_rest{left.data + prefix, left.size - prefix};
        const Sequence<Symbol> right_rest{right.data + prefix, right.size - prefix};
        const bool is_short = std::max(left_rest.size, right_rest.size) <= 64;
        const Matches matches =
            is_short ? match_bits(left_rest, right_rest, reach, symbols) : match_chains(left_rest, right_rest, reach, symbols);
        if (prefix + matches.count == 0) return 0.0;
        const auto common = static_cast<double>(prefix + matches.count);
        double sum = common / static_cast<double>(left.size);
        sum += common / static_cast<double>(right.size);
        sum += (common - static_cast<double>(matches.displaced / 2)) / common;
        return sum / 3.0;
    }

    // A symbol of `right` matches the first equal one of `left` that is at most `reach` places away and not taken. In short
    // texts a place is a bit, and nothing depends on what cannot be foreseen.
    template <typename Symbol>
    Matches match_bits(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t reach, std::size_t symbols) {
        grow(places_, symbols);
        for (std::size_t i = 0; i < left.size; ++i) places_[left.data[i]] |= std::uint64_t{1} << i;
        std::uint64_t taken = 0, matched = 0;
        for (std::size_t j = 0; j < right.size; ++j) {
            const std::uint64_t near = low_bits(j + reach + 1) & ~low_bits(j > reach ? j - reach : 0);
            const std::uint64_t free = places_[right.data[j]] & near & ~taken;
            taken |= free & (~free + 1);
            matched |= std::uint64_t{free != 0} << j;
        }
        const std::size_t count = popcount(taken);
        std::size_t displaced = 0;
        for (; matched != 0; matched &= matched - 1, taken &= taken - 1)
            displaced += (places_[right.data[count_trailing_zeros(matched)]] & taken & (~taken + 1)) == 0;
        for (std::size_t i = 0; i < left.size; ++i) places_[left.data[i]] = 0;
        return {count, displaced};
    }

    // The same for texts of any length. As windows only move on, each symbol's places are taken in their order: a chain of
    // places and where it has got to is all that is needed.
    template <typename Symbol>
    Matches match_chains(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t reach, std::size_t symbols) {
        if (first_.size() < symbols) first_.resize(symbols, none);
        grow(next_, left.size);
        grow(is_taken_, left.size);
        grow(left_matches_, left.size);
        grow(right_matches_, right.size);
        for (std::size_t i = left.size; i-- > 0;) {
            next_[i] = first_[left.data[i]];
            first_[left.data[i]] = static_cast<std::uint32_t>(i);
            is_taken_[i] = 0;
        }
        Matches matches{0, 0};
        const std::size_t end = std::min(right.size, left.size + reach);
        for (std::size_t j = 0; j < end; ++j) {
            std::uint32_t& place = first_[right.data[j]];
            while (place != none && place + reach < j) place = next_[place];
            if (place == none || place > j + reach) continue;
            is_taken_[place] = 1;
            place = next_[place];
            right_matches_[matches.count++] = right.data[j];
        }
        std::size_t found = 0;
        for (std::size_t i = 0; i < left.size; ++i) {
            left_matches_[found] = left.data[i];
            found += is_taken_[i];
            first_[left.data[i]] = none;
        }
        for (std::size_t i = 0; i < matches.count; ++i) matches.displaced += left_matches_[i] != right_matches_[i];
        return matches;
    }

    std::vector<std::uint64_t> places_;  // by symbol; all zero between uses
    std::vector<std::uint32_t> first_;   // by symbol: its first place that is not taken or out of reach; none between uses
    std::vector<std::uint32_t> next_;    // by place: the next one of the same symbol
    std::vector<std::uint8_t> is_taken_;
    std::vector<std::uint32_t> left_matches_, right_matches_;
};

// Damerau-Levenshtein: swapped neighbours may be edited again (Zhao and Sahni 2019), a row at a time.

class DamerauKernel {
public:
    static constexpr bool takes_any_symbols = false;

    template <typename Symbol>
    std::uint32_t operator()(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t symbols) {
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
    static std::uint32_t distance(Sequence<Symbol> left, Sequence<Symbol> right, std::size_t symbols, Memory<Cell>& memory) {
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
    static void sort_places(Sequence<Symbol> text, std::size_t symbols, Memory<Cell>& memory) {
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
