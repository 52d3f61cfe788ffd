// Longer texts: vectors of 64-bit lanes, in each lane up to six consecutive blocks of 64 rows. The lanes hold several pairs,
// or stretches of the rows of one pair. Included by the source file of a target alone.
#pragma once

#include "recurrences.hpp"
#include "vector.hpp"
#include "vector_kernels.hpp"

namespace {

using pe::edit::vector_kernels::block_rows;
using pe::edit::vector_kernels::BlockScratch;
using pe::edit::vector_kernels::BytePair;
using pe::edit::vector_kernels::most_lane_blocks;
using pe::edit::vector_kernels::pairs_at_once;
using pe::edit::vector_kernels::Sequence;

// Blocks a lane that suit a long pair: more do not fit the registers.
#if defined(__AVX512VL__)
constexpr std::size_t pass_blocks = 6;
#else
constexpr std::size_t pass_blocks = 4;
#endif

static_assert(pe::edit::vector_kernels::column_slack >= 2 * lanes * pass_blocks && pairs_at_once % lanes == 0);

template <int number>
struct Count {
    static constexpr int value = number;
};

// Calls `body` with every count below `end`, the last first. Not a loop: compilers unroll loops too late to hold what their
// bodies index in registers.
template <int end, class Body>
PE_INLINE void count_down(Body&& body) {
    if constexpr (end > 0) {
        body(Count<end - 1>{});
        count_down<end - 1>(body);
    }
}

// Calls `body` with a count of blocks, from 1 to at most six of them.
template <std::size_t most, class Body>
inline void with_count(std::size_t blocks, Body&& body) {
    switch (blocks) {
        case 1: return body(Count<1>{});
        case 2: return body(Count<2>{});
        case 3: return body(Count<3>{});
        case 4: return body(Count<4>{});
        case 5: return body(Count<most >= 5 ? 5 : 4>{});
        default: return body(Count<most>{});
    }
}

// Block k works k columns behind block 0, so that the blocks of a step need nothing of each other: a processor sees too
// few instructions ahead to find that order by itself.
template <class Recurrence, int blocks>
struct Wavefront {
    Words state[blocks][Recurrence::states];
    // What the blocks take in their next step, and at the end what the last block hands down.
    Words carry[blocks + 1][Recurrence::carries];

    inline void start() {
        count_down<blocks>([&](auto k) {
            count_down<Recurrence::states>([&](auto i) { state[k.value][i.value] = fill<Words>(Recurrence::start[i.value]); });
            count_down<Recurrence::carries>(
                [&](auto i) { carry[k.value][i.value] = fill<Words>(Recurrence::waiting[i.value]); });
        });
    }

    // One step of every block.
    template <class Texts>
    PE_INLINE void step(const Texts& texts) {
        count_down<blocks>([&](auto count) PE_ALWAYS {
            constexpr int k = decltype(count)::value;
            Recurrence::column(state[k], texts.matches(k), carry[k], carry[k + 1]);
        });
    }

    // The step after which block 0 of lane 0 had its last column was step 0: in step `late`, only blocks that lag behind it
    // by that much or more may still change.
    template <class Texts>
    PE_APART void late_step(const Texts& texts, std::uint64_t late, Words lag) {
        const Wavefront before = *this;
        step(texts);
        for (std::size_t k = 0; k < blocks; ++k) {
            const auto done = reinterpret_cast<Words>(lag + k < fill<Words>(late));
            for (int i = 0; i < Recurrence::states; ++i)
                state[k][i] =
                    logic(done, before.state[k][i], state[k][i], [](auto a, auto b, auto c) { return (a & b) | (~a & c); });
        }
    }

    // What the first `size` rows of a lane add to the value in the last column.
    inline std::int64_t value(std::size_t lane, std::size_t size) const {
        std::int64_t total = 0;
        for (std::size_t k = 0; k * block_rows < size; ++k) {
            Words more, less;
            Recurrence::value(state[k], more, less);
            std::uint64_t mores[lanes], lesses[lanes];
            store(mores, more);
            store(lesses, less);
            const std::size_t inside = size - k * block_rows;
            total += count_bits(mores[lane], inside);
            total -= count_bits(lesses[lane], inside);
        }
        return total;
    }
};

// Where in the table each lane finds the match bits of its symbol: block k reads at[lane][-k].
struct LaneTexts {
    const std::uint64_t* table;
    const std::uint32_t* at[lanes];

    PE_INLINE Words matches(int k) const {
        const std::uint64_t* from[lanes];
        count_down<lanes>([&](auto lane) PE_ALWAYS {
            from[lane.value] = table + *(at[lane.value] - k) + static_cast<std::size_t>(k) * lanes;
        });
        return load_lanes(from);
    }
    PE_INLINE void next() {
        count_down<lanes>([&](auto lane) PE_ALWAYS { ++at[lane.value]; });
    }
};

// Sets the match bits of one lane's rows, or clears them; the table is [symbol][block][lane].
template <std::size_t blocks, bool sets, typename Symbol>
inline void write_matches(std::uint64_t* table, std::size_t lane, const Symbol* pattern, std::size_t size) {
    for (std::size_t first = 0; first < size; first += block_rows, table += lanes) {
        const std::size_t end = size - first < block_rows ? size : first + block_rows;
        std::uint64_t bit = 1;
        for (std::size_t i = first; i < end; ++i, bit <<= 1) {
            std::uint64_t& word = table[pattern[i] * (lanes * blocks) + lane];
            word = sets ? word | bit : 0;
        }
    }
}

// Where the symbols' match bits are in the table, between `idle` steps before and after that read a symbol without any.
template <std::size_t blocks, typename Symbol>
inline std::uint32_t* set_offsets(std::uint32_t* offsets, const Symbol* text, std::size_t size, std::size_t idle_before,
                                  std::size_t idle_after, Symbol unused) {
    constexpr std::uint32_t stride = lanes * blocks;
    for (std::size_t i = 0; i < idle_before; ++i) *offsets++ = unused * stride;
    for (std::size_t i = 0; i < size; ++i) offsets[i] = text[i] * stride;
    offsets += size;
    for (std::size_t i = 0; i < idle_after; ++i) *offsets++ = unused * stride;
    return offsets;
}

// One pair a lane. Texts end together: a lane with a shorter one waits at first.
template <class Recurrence, int blocks>
void run_pairs(const BytePair* pairs, std::uint8_t unused, const BlockScratch& scratch, std::uint32_t* values) {
    const std::size_t columns = pairs[lanes - 1].text_size;
    LaneTexts texts{scratch.table, {}};
    std::uint32_t* offsets = scratch.offsets;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const BytePair& pair = pairs[lane];
        write_matches<blocks, true>(scratch.table, lane, pair.pattern, pair.pattern_size);
        texts.at[lane] = offsets + blocks;
        offsets = set_offsets<blocks>(offsets, pair.text, pair.text_size, blocks + columns - pair.text_size, blocks, unused);
    }

    Wavefront<Recurrence, blocks> state;
    state.start();
    std::size_t j = 0;
    Words waits = fill<Words>(1);
    for (std::size_t lane = lanes; lane-- > 0;) {
        waits[lane] = 0;
        Words in[Recurrence::carries];
        count_down<Recurrence::carries>([&](auto i) { in[i.value] = waits * Recurrence::waiting[i.value]; });
        for (const std::size_t end = lane > 0 ? columns - pairs[lane - 1].text_size : columns; j < end; ++j) {
            count_down<Recurrence::carries>([&](auto i) PE_ALWAYS { state.carry[0][i.value] = in[i.value]; });
            state.step(texts);
            texts.next();
        }
    }
    Wavefront<Recurrence, blocks> rest = state;
    for (std::uint64_t late = 1; late < blocks; ++late) {
        rest.late_step(LaneTexts(texts), late, Words{});
        texts.next();
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t row_zero = Recurrence::counts_columns ? pairs[lane].text_size : 0;
        const std::int64_t value = static_cast<std::int64_t>(row_zero) + rest.value(lane, pairs[lane].pattern_size);
        values[lane] = static_cast<std::uint32_t>(value);
        write_matches<blocks, false>(scratch.table, lane, pairs[lane].pattern, pairs[lane].pattern_size);
    }
}

// As many rows of one pair as fit the lanes. Lane l works `blocks` columns behind lane l - 1, from whose last block it
// takes. scratch.carries holds what the first block takes at every column, and afterwards what the last one hands down; both
// begin behind room for the largest lag.
template <class Recurrence, int blocks, typename Symbol>
std::int64_t run_rows(const Symbol* pattern, std::size_t rows, const Symbol* text, std::size_t columns, Symbol unused,
                      const BlockScratch& scratch) {
    constexpr std::size_t last_lag = lanes * blocks - 1;
    constexpr std::size_t lane_rows = blocks * block_rows;
    constexpr int carries = Recurrence::carries;
    const auto rows_of = [rows](std::size_t lane) {
        const std::size_t first = lane * lane_rows;
        return rows <= first ? 0 : rows - first < lane_rows ? rows - first : lane_rows;
    };
    for (std::size_t lane = 0; lane * lane_rows < rows; ++lane)
        write_matches<blocks, true>(scratch.table, lane, pattern + lane * lane_rows, rows_of(lane));
    set_offsets<blocks>(scratch.offsets, text, columns, last_lag, last_lag, unused);

    Wavefront<Recurrence, blocks> state;
    state.start();
    const std::uint32_t* at = scratch.offsets + last_lag;
    // What comes out of the first steps, before the last block had its first column, is of no column.
    constexpr std::size_t most_lag = lanes * pass_blocks - 1;
    const std::uint64_t* above = scratch.carries + most_lag * carries;
    std::uint64_t* below = scratch.carries + (most_lag - last_lag) * carries;
    Words from_lane_above[carries], not_first = fill<Words>(~std::uint64_t{0});
    not_first[0] = 0;
    for (int i = 0; i < carries; ++i) from_lane_above[i] = fill<Words>(Recurrence::waiting[i]);

    LaneTexts texts{scratch.table, {}};
    for (std::size_t lane = 0; lane < lanes; ++lane) texts.at[lane] = at - lane * blocks;
    const auto take = [&](Wavefront<Recurrence, blocks>& wave) PE_ALWAYS {
        count_down<carries>([&](auto i) PE_ALWAYS {
            wave.carry[0][i.value] = logic(from_lane_above[i.value], not_first, Words{above[i.value]},
                                           [](auto a, auto b, auto c) { return (a & b) | c; });
        });
        above += carries;
    };
    // Each lane's carry goes to the next lane; the last lane's, now in the place of the first, is for the rows below.
    const auto give = [&](const Wavefront<Recurrence, blocks>& wave) PE_ALWAYS {
        count_down<carries>([&](auto i) PE_ALWAYS {
            from_lane_above[i.value] = rotate_lanes(wave.carry[blocks][i.value]);
            below[i.value] = from_lane_above[i.value][0];
        });
        below += carries;
        texts.next();
    };
    for (std::size_t j = 0; j < columns; ++j) {
        take(state);
        state.step(texts);
        give(state);
    }
    Wavefront<Recurrence, blocks> rest = state;
    Words lag;
    for (std::size_t lane = 0; lane < lanes; ++lane) lag[lane] = lane * blocks;
    for (std::uint64_t late = 1; late <= last_lag; ++late) {
        take(rest);
        rest.late_step(LaneTexts(texts), late, lag);
        give(rest);
    }
    std::int64_t value = 0;
    for (std::size_t lane = 0; lane * lane_rows < rows; ++lane) {
        value += rest.value(lane, rows_of(lane));
        write_matches<blocks, false>(scratch.table, lane, pattern + lane * lane_rows, rows_of(lane));
    }
    return value;
}

template <class Recurrence, typename Symbol>
std::uint32_t run_long(Sequence<Symbol> pattern, Sequence<Symbol> text, Symbol unused, const BlockScratch& scratch) {
    std::memset(scratch.carries, 0,
                (text.size + pe::edit::vector_kernels::column_slack) * Recurrence::carries * sizeof(std::uint64_t));
    auto value = static_cast<std::int64_t>(Recurrence::counts_columns ? text.size : 0);
    while (pattern.size > 0 && !scratch.is_stopped()) {
        const std::size_t all_blocks = (pattern.size + block_rows - 1) / block_rows;
        const std::size_t passes = (all_blocks + lanes * pass_blocks - 1) / (lanes * pass_blocks);
        const std::size_t blocks = (all_blocks + lanes * passes - 1) / (lanes * passes);
        const std::size_t rows = pattern.size < lanes * blocks * block_rows ? pattern.size : lanes * blocks * block_rows;
        const auto run = [&](auto blocks) {
            return run_rows<Recurrence, decltype(blocks)::value>(pattern.data, rows, text.data, text.size, unused, scratch);
        };
        with_count<pass_blocks>(blocks, [&](auto count) { value += run(count); });
        pattern = {pattern.data + rows, pattern.size - rows};
    }
    return static_cast<std::uint32_t>(value);
}

// The pairs in groups of as many as there are lanes.
template <class Recurrence>
void run_all_pairs(const BytePair* pairs, std::uint8_t unused, const BlockScratch& scratch, std::uint32_t* values) {
    for (std::size_t first = 0; first < pairs_at_once; first += lanes, pairs += lanes, values += lanes) {
        std::size_t rows = 0;
        for (std::size_t lane = 0; lane < lanes; ++lane)
            rows = pairs[lane].pattern_size > rows ? pairs[lane].pattern_size : rows;
        const std::size_t blocks = rows > block_rows ? (rows + block_rows - 1) / block_rows : 1;
        with_count<most_lane_blocks>(
            blocks, [&](auto count) { run_pairs<Recurrence, decltype(count)::value>(pairs, unused, scratch, values); });
    }
}

}  // namespace
