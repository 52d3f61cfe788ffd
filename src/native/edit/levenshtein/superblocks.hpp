// Long pairs with AVX-512: the eight lanes of a vector hold 512 rows of a pair, each lane one column behind the one above it,
// and four pairs take their steps in turn, since one alone would wait for its own results most of the time. Included by the
// source file of a target alone.
#pragma once

#include "blocks.hpp"
#include "recurrences.hpp"
#include "vector.hpp"
#include "vector_kernels.hpp"

#if defined(__AVX512VBMI2__)
namespace {

using pe::edit::vector_kernels::distance_guesses;
using pe::edit::vector_kernels::DistanceGuess;
using pe::edit::vector_kernels::SuperblockScratch;

constexpr std::size_t wide_lanes = 8, pass_rows = wide_lanes * block_rows, chunk = 16, pairs_in_turn = 4;
static_assert(pe::edit::vector_kernels::superblock_words == pairs_in_turn * 256 * wide_lanes);
static_assert(pe::edit::vector_kernels::column_slack >= 64);
static_assert(pe::edit::vector_kernels::margin >= pass_rows);

template <int mask>
PE_INLINE WideWords choose(WideWords where_zero, WideWords where_one) {
    return reinterpret_cast<WideWords>(
        _mm512_mask_blend_epi64(mask, reinterpret_cast<__m512i>(where_zero), reinterpret_cast<__m512i>(where_one)));
}

// Every lane moves one up; the word at `first` becomes the first. Compilers would load that word by itself.
PE_INLINE WideWords move_lanes(WideWords words, const std::uint64_t* first) {
    WideWords moved;
    __asm__("valignq $7, %2%{1to8%}, %1, %0" : "=v"(moved) : "v"(words), "m"(*first));
    return moved;
}

// The last lanes of what a column hands down. In two's and one's: stores of a lane by a mask take longer.
template <int carries>
PE_INLINE void store_last(std::uint64_t* to, const WideWords (&words)[carries]) {
    const auto at = [&](int i) { return reinterpret_cast<__m512i>(words[i]); };
    if constexpr (carries >= 2)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(_mm512_permutex2var_epi64(
                                                             at(0), _mm512_set_epi64(0, 0, 0, 0, 0, 0, 15, 7), at(1))));
    if constexpr (carries % 2 == 1)
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to + carries - 1),
                         _mm512_castsi512_si128(_mm512_alignr_epi64(at(carries - 1), at(carries - 1), 7)));
}

// Delays lane l of the match words by l columns: odd lanes by one, then every second pair of lanes by two, then the upper
// four by four.
struct Skew {
    WideWords late_one{}, late_two[2]{}, late_four[4]{};

    PE_INLINE void four_columns(const std::uint64_t* table, const std::uint8_t* text, WideWords* to) {
        WideWords now[4], one[4], two[4];
        count_down<4>([&](auto i) PE_ALWAYS { now[i.value] = load<WideWords>(table + wide_lanes * text[i.value]); });
        count_down<4>([&](auto i) PE_ALWAYS {
            constexpr int j = decltype(i)::value;
            one[j] = choose<0xAA>(now[j], j >= 1 ? now[(j + 3) % 4] : late_one);
        });
        count_down<4>([&](auto i) PE_ALWAYS {
            constexpr int j = decltype(i)::value;
            two[j] = choose<0xCC>(one[j], j >= 2 ? one[(j + 2) % 4] : late_two[j % 2]);
        });
        count_down<4>([&](auto i) PE_ALWAYS {
            to[i.value] = choose<0xF0>(two[i.value], late_four[i.value]);
            late_four[i.value] = two[i.value];
        });
        late_one = now[3];
        late_two[0] = one[2];
        late_two[1] = one[3];
    }
};

// What is known of the distances of pairs whose sizes have this ratio: they are much alike where texts are of one kind.
class Guess {
public:
    Guess(const BytePair& pair, DistanceGuess* guesses) {
        const bool is_higher = pair.pattern_size > pair.text_size;
        longer_ = static_cast<double>(is_higher ? pair.pattern_size : pair.text_size);
        const auto shorter = static_cast<double>(is_higher ? pair.text_size : pair.pattern_size);
        learned_ = guesses + static_cast<std::size_t>(shorter / longer_ * (distance_guesses - 1));
    }
    std::size_t bound() const {
        return learned_->spread == 0 ? SIZE_MAX : static_cast<std::size_t>((learned_->mean + 2.5 * learned_->spread) * longer_);
    }
    void learn(std::size_t distance) {
        const double share = static_cast<double>(distance) / longer_;
        if (learned_->spread == 0) *learned_ = {share, share / 16};
        const double off = share - learned_->mean;
        learned_->mean += off / 16;
        learned_->spread += ((off < 0 ? -off : off) - learned_->spread) / 16 + 1e-6;
    }

private:
    DistanceGuess* learned_;
    double longer_;
};

// The pair that takes its steps in one of the turns.
template <class Recurrence>
struct Turn {
    static constexpr int states = Recurrence::states, carries = Recurrence::carries;
    static constexpr std::int64_t group = 32;  // columns that are chosen or not together

    WideWords state[states], carry[carries];
    Skew skew;
    WideWords matches[2][chunk];  // of the current chunk of columns and of the next one
    std::uint64_t* table;         // [symbol][lane]
    std::uint64_t* boundary;      // what the first lane takes at every column, and what the last one hands down
    const BytePair* pair;
    bool is_idle;                       // does what is not needed, where there is nothing else to do
    std::size_t bound;                  // nothing above it is looked for
    std::size_t row, from, to, corner;  // the pass takes columns from `from`, where row `row` has the value `corner`, to `to`
    std::size_t columns_done, chunks;   // up to where; whole ones still to come
    std::uint8_t symbols[256];
    std::size_t symbol_count;
    std::int64_t value;

    void start_pair(const BytePair* next, std::size_t most) {
        pair = next;
        bound = most;
        row = corner = from = to = 0;
        value = static_cast<std::int64_t>(Recurrence::counts_columns ? pair->text_size : 0);
        std::memset(boundary, 0, (pair->text_size + std::size_t{group}) * carries * sizeof *boundary);
        std::uint8_t has[256];
        for (std::size_t i = 0; i < sizeof has; i += wide_bytes) store(has + i, WideWords{});
        for (std::size_t j = 0; j < pair->text_size; ++j) has[pair->text[j]] = 1;
        symbol_count = 0;
        for (std::size_t i = 0; i < sizeof has; i += 64)
            for (std::uint64_t left = ByteRow<64>(has + i).equal_to(1); left != 0; left &= left - 1)
                symbols[symbol_count++] = static_cast<std::uint8_t>(i + static_cast<std::size_t>(__builtin_ctzll(left)));
    }

    void start_pass(std::size_t half) {
        if (!is_idle) {
            const std::uint8_t* rows = pair->pattern + row;
            const ByteRow<64> parts[wide_lanes] = {ByteRow<64>(rows),       ByteRow<64>(rows + 64),  ByteRow<64>(rows + 128),
                                                   ByteRow<64>(rows + 192), ByteRow<64>(rows + 256), ByteRow<64>(rows + 320),
                                                   ByteRow<64>(rows + 384), ByteRow<64>(rows + 448)};
            for (std::size_t i = 0; i < symbol_count; ++i)
                for (std::size_t lane = 0; lane < wide_lanes; ++lane)
                    table[symbols[i] * wide_lanes + lane] = parts[lane].equal_to(symbols[i]);
        }
        skew = Skew();
        for (std::size_t j = 0; j < chunk; j += 4) skew.four_columns(table, pair->text + from + j, matches[half] + j);
        for (int i = 0; i < states; ++i) state[i] = fill<WideWords>(Recurrence::start[i]);
        for (int i = 0; i < carries; ++i) carry[i] = fill<WideWords>(Recurrence::waiting[i]);
        columns_done = from;
        chunks = (to - from) / chunk;
    }

    // Chooses the columns of the next pass: those that a path of at most `bound` can reach. Whether there are any.
    bool choose_columns() {
        const std::size_t columns = pair->text_size;
        if (bound >= columns && bound >= pair->pattern_size) {
            to = columns;
            return true;
        }
        // What a path through a column costs at least does not rise up to the diagonal that ends in the last row and column,
        // and does not fall behind it: looking at some columns is enough.
        const auto size = static_cast<std::int64_t>(columns), most = static_cast<std::int64_t>(bound);
        const std::int64_t diagonal = size - static_cast<std::int64_t>(pair->pattern_size - row);
        const auto is_possible = [&](std::int64_t column, std::int64_t here) {
            return here + (column > diagonal ? column - diagonal : diagonal - column) <= most;
        };
        auto here = static_cast<std::int64_t>(corner);
        auto column = static_cast<std::int64_t>(from);
        std::int64_t first = -1, last = -1;
        bool is_kept = is_possible(column, here);
        while (column < size) {
            const std::int64_t next = column + group < size ? column + group : size;
            const std::uint64_t* words = boundary + column * carries;
            WideWords tops{};
            for (std::size_t i = 0; i < 2 * std::size_t{group}; i += wide_lanes)
                tops = shift_in(tops, load<WideWords>(words + i));
            std::uint64_t bits;
            _mm_storel_epi64(reinterpret_cast<__m128i*>(&bits), _mm512_cvtepi64_epi8(reinterpret_cast<__m512i>(tops)));
            // A column adds one, less one for each carry: one says that it does not rise, the other that it falls.
            const std::int64_t there = here + (next - column) - count_bits(bits, 64);
            const bool is_next_kept = is_possible(next, there);
            if (is_kept || is_next_kept || (column < diagonal && diagonal < next)) {
                if (first < 0) {
                    first = column;
                    corner = static_cast<std::size_t>(here);
                }
                last = next;
            }
            column = next;
            here = there;
            is_kept = is_next_kept;
        }
        value = here;
        if (first < 0) return false;
        from = static_cast<std::size_t>(first);
        const std::size_t reached = static_cast<std::size_t>(last) + pass_rows;
        to = reached < to ? to : reached;
        to = to < columns ? to : columns;
        return true;
    }

    // The columns behind the last whole chunk, and those that lower lanes lag behind: a lane that is not in a column stays as
    // it is.
    PE_APART void finish_pass() {
        for (std::size_t j = columns_done; j < to + wide_lanes - 1; ++j) {
            std::uint64_t words[wide_lanes];
            unsigned active = 0;
            for (std::size_t lane = 0; lane < wide_lanes; ++lane) {
                words[lane] = 0;
                if (from + lane > j || j - lane >= to) continue;
                words[lane] = table[pair->text[j - lane] * wide_lanes + lane];
                active |= 1u << lane;
            }
            WideWords before[states], in[carries];
            for (int i = 0; i < states; ++i) before[i] = state[i];
            for (int i = 0; i < carries; ++i) in[i] = move_lanes(carry[i], boundary + j * carries + i);
            Recurrence::column(state, load<WideWords>(words), in, carry);
            for (int i = 0; i < states; ++i)
                state[i] = reinterpret_cast<WideWords>(_mm512_mask_blend_epi64(
                    static_cast<__mmask8>(active), reinterpret_cast<__m512i>(before[i]), reinterpret_cast<__m512i>(state[i])));
            if (j >= from + wide_lanes - 1) store_last(boundary + (j - (wide_lanes - 1)) * carries, carry);
        }
        corner += pass_rows;
        WideWords more, less;
        Recurrence::value(state, more, less);
        std::uint64_t mores[wide_lanes], lesses[wide_lanes];
        store(mores, more);
        store(lesses, less);
        for (std::size_t lane = 0; lane < wide_lanes && row < pair->pattern_size; ++lane, row += block_rows) {
            value += count_bits(mores[lane], pair->pattern_size - row);
            value -= count_bits(lesses[lane], pair->pattern_size - row);
        }
    }
};

// So many chunks of all pairs. The match words of the next chunk are brought together between the steps of the current one.
template <class Recurrence>
PE_APART std::size_t run_chunks(Turn<Recurrence> (&turns)[pairs_in_turn], std::size_t count, std::size_t half) {
    constexpr int states = Recurrence::states, carries = Recurrence::carries;
    WideWords state[pairs_in_turn][states], carry[pairs_in_turn][carries];
    std::uint64_t* boundary[pairs_in_turn];
    count_down<pairs_in_turn>([&](auto p) PE_ALWAYS {
        count_down<states>([&](auto i) PE_ALWAYS { state[p.value][i.value] = turns[p.value].state[i.value]; });
        count_down<carries>([&](auto i) PE_ALWAYS { carry[p.value][i.value] = turns[p.value].carry[i.value]; });
        boundary[p.value] = turns[p.value].boundary + turns[p.value].columns_done * carries;
    });
    for (std::size_t done = 0; done < count; ++done) {
        std::size_t first = 0;
        for (Turn<Recurrence>& ahead : turns) {
            Skew skew = ahead.skew;
            const std::uint8_t* text = ahead.pair->text + ahead.columns_done + chunk;
            WideWords* to = ahead.matches[half ^ 1];
            count_down<chunk / 4>([&](auto left) PE_ALWAYS {
                constexpr std::size_t step = chunk / 4 - 1 - decltype(left)::value;
                skew.four_columns(ahead.table, text + 4 * step, to + 4 * step);
                count_down<pairs_in_turn>([&](auto p) PE_ALWAYS {
                    constexpr std::size_t pair = decltype(p)::value;
                    std::uint64_t* at = boundary[pair] + step * carries;
                    WideWords in[carries];
                    count_down<carries>([&](auto i)
                                            PE_ALWAYS { in[i.value] = move_lanes(carry[pair][i.value], at + i.value); });
                    Recurrence::column(state[pair], turns[pair].matches[half][first + step], in, carry[pair]);
                    store_last(at - static_cast<std::ptrdiff_t>(wide_lanes - 1) * carries, carry[pair]);
                });
            });
            count_down<pairs_in_turn>([&](auto p) PE_ALWAYS { boundary[p.value] += chunk / 4 * carries; });
            first += chunk / 4;
            ahead.skew = skew;
            ahead.columns_done += chunk;
        }
        half ^= 1;
    }
    count_down<pairs_in_turn>([&](auto p) PE_ALWAYS {
        count_down<states>([&](auto i) PE_ALWAYS { turns[p.value].state[i.value] = state[p.value][i.value]; });
        count_down<carries>([&](auto i) PE_ALWAYS { turns[p.value].carry[i.value] = carry[p.value][i.value]; });
        turns[p.value].chunks -= count;
    });
    return half;
}

template <class Recurrence>
void run_superblocks(const BytePair* pairs, std::size_t count, const SuperblockScratch& scratch, std::uint32_t* values) {
    Turn<Recurrence> turns[pairs_in_turn];
    for (std::size_t i = 0; i < pairs_in_turn; ++i) {
        turns[i].table = scratch.tables + i * 256 * wide_lanes;
        turns[i].boundary = scratch.carries + i * scratch.turn_carries + wide_lanes * Recurrence::carries;
    }
    std::size_t next = 0, half = 0, working = 0;
    const auto start = [&](Turn<Recurrence>& turn) {
        turn.is_idle = next == count;
        if (!turn.is_idle) ++working;
        const BytePair* pair = turn.is_idle ? pairs : pairs + next++;
        turn.start_pair(pair, turn.is_idle || !Recurrence::has_bound ? SIZE_MAX : Guess(*pair, scratch.guesses).bound());
    };
    for (Turn<Recurrence>& turn : turns) {
        start(turn);
        turn.choose_columns();
        turn.start_pass(half);
    }
    while (working > 0 && !scratch.is_stopped()) {
        std::size_t least = SIZE_MAX;
        for (const Turn<Recurrence>& turn : turns) least = turn.chunks < least ? turn.chunks : least;
        half = run_chunks(turns, least, half);
        for (Turn<Recurrence>& turn : turns) {
            if (turn.chunks > 0) continue;
            if (!turn.is_idle) {
                turn.finish_pass();
                if (turn.row >= turn.pair->pattern_size) {
                    const auto value = static_cast<std::size_t>(turn.value);
                    if (value > turn.bound) turn.start_pair(turn.pair, value);
                    else {
                        values[turn.pair - pairs] = static_cast<std::uint32_t>(value);
                        Guess(*turn.pair, scratch.guesses).learn(value);
                        --working;
                        start(turn);
                    }
                }
                // No path is as short as the guess.
                if (!turn.choose_columns()) {
                    turn.start_pair(turn.pair, SIZE_MAX);
                    turn.choose_columns();
                }
            }
            turn.start_pass(half);
        }
    }
}

}  // namespace
#endif
