// The recurrences of the bit-parallel kernels: what one column does to a block of rows, a row a bit. Included by the source
// file of a target alone.
#pragma once

#include "vector.hpp"

namespace {

// Each has the words of its state and of what a block hands down to the next one, both as arrays. A block that starts, has
// no match and takes `waiting` stays as it is: that is how blocks wait for their turn. The first block takes zeros. `value`
// gives the bits whose number, less those of the second word, the rows add to what is measured.

// Those whose state begins with the vertical differences.
struct Differences {
    static constexpr bool counts_columns = true, has_bound = false;

    template <typename Vector, std::size_t states>
    static inline void value(const Vector (&state)[states], Vector& more, Vector& less) {
        more = state[0];
        less = state[1];
    }
};

// Myers' recurrence in Hyyrö's form. Holding the complement of the positive horizontal differences saves an operation; taking
// both differences right from the sum, without the detour over d0, shortens the way from vp to the next vp.
struct Levenshtein : Differences {
    static constexpr int states = 2, carries = 2;
    static constexpr std::uint64_t start[states] = {~std::uint64_t{0}, 0}, waiting[carries] = {carried_one, 0};
    static constexpr bool has_bound = true;  // where all paths come through every row: swaps step over one

    template <typename Vector, typename NoHp, typename Hn>
    static inline void column(Vector (&state)[states], Vector equal, NoHp no_hp_in, Hn hn_in, Vector (&out)[carries]) {
        auto& [vp, vn] = state;
        const Vector xv = equal | vn;
        const Vector x = with_bit(equal, hn_in);
        const Vector sum = (x & vp) + vp;
        const Vector any = logic(sum, x, vp, [](auto a, auto b, auto c) { return a | (b | c); });
        // As one operation: compilers make two of it.
        const Vector no_hp = logic(vn, any, any, [](auto a, auto b, auto) { return ~a & b; });
        const Vector hn = logic(vp, x, sum, [](auto a, auto b, auto c) { return a & ~(~b & c); });
        const Vector no_hp_above = shift_in(no_hp, no_hp_in);
        vp = logic(shift_in(hn, hn_in), xv, no_hp_above, [](auto a, auto b, auto c) { return a | (~b & c); });
        vn = xv & ~no_hp_above;
        out[0] = carry_of(no_hp);
        out[1] = carry_of(hn);
    }
    template <typename Vector>
    static inline void column(Vector (&state)[states], Vector equal, const Vector (&in)[carries], Vector (&out)[carries]) {
        column(state, equal, in[0], in[1], out);
    }
    // Alone, without rows above; in a `waiting` lane row 0 does not grow.
    template <typename Vector>
    static inline void column_alone(Vector (&state)[states], Vector equal, Vector is_waiting) {
        Vector out[carries];
        column(state, equal, carry_of(is_waiting), NoCarry{}, out);
    }
};

// Levenshtein with swaps of neighbours that are edited no further (Hyyrö 2003): a swap is possible where this row matched
// the column before and the row above matches this column, and did not gain by the diagonal before.
struct Osa : Differences {
    static constexpr int states = 4, carries = 3;
    static constexpr std::uint64_t start[states] = {~std::uint64_t{0}, 0, 0, 0}, waiting[carries] = {carried_one, 0, 0};

    template <typename Vector, typename NoHp, typename Carry>
    static inline void column(Vector (&state)[states], Vector equal, NoHp no_hp_in, Carry hn_in, Carry swap_in,
                              Vector (&out)[carries]) {
        auto& [vp, vn, d0, equal_before] = state;
        const Vector swap = ~d0 & equal;
        const Vector x = with_bit(equal, hn_in);
        const Vector sum = (x & vp) + vp;
        const Vector kept = vn | logic(sum, vp, x, [](auto a, auto b, auto c) { return (a ^ b) | c; });
        d0 = logic(kept, shift_in(swap, swap_in), equal_before, [](auto a, auto b, auto c) { return a | (b & c); });
        const Vector no_hp = logic(vn, d0, vp, [](auto a, auto b, auto c) { return ~a & (b | c); });
        const Vector hn = d0 & vp;
        const Vector no_hp_above = shift_in(no_hp, no_hp_in);
        vp = logic(shift_in(hn, hn_in), d0, no_hp_above, [](auto a, auto b, auto c) { return a | (~b & c); });
        vn = d0 & ~no_hp_above;
        equal_before = equal;
        out[0] = carry_of(no_hp);
        out[1] = carry_of(hn);
        out[2] = carry_of(swap);
    }
    template <typename Vector>
    static inline void column(Vector (&state)[states], Vector equal, const Vector (&in)[carries], Vector (&out)[carries]) {
        column(state, equal, in[0], in[1], in[2], out);
    }
    template <typename Vector>
    static inline void column_alone(Vector (&state)[states], Vector equal, Vector is_waiting) {
        Vector out[carries];
        column(state, equal, carry_of(is_waiting), NoCarry{}, NoCarry{}, out);
    }
};

// Length of the longest common subsequence (Hyyrö 2004).
struct Lcs {
    static constexpr int states = 1, carries = 1;
    static constexpr std::uint64_t start[states] = {~std::uint64_t{0}}, waiting[carries] = {0};
    static constexpr bool counts_columns = false, has_bound = false;

    template <typename Vector, typename Carry>
    static inline void column(Vector (&state)[states], Vector equal, Carry in, Vector (&out)[carries]) {
        auto& [rows] = state;
        const Vector matched = rows & equal;
        const Vector sum = plus_bit(rows + matched, in);
        out[0] = carry_of(logic(matched, rows, sum, [](auto a, auto b, auto c) { return a | (b & ~c); }));
        rows = logic(sum, rows, equal, [](auto a, auto b, auto c) { return a | (b & ~c); });
    }
    template <typename Vector>
    static inline void column(Vector (&state)[states], Vector equal, const Vector (&in)[carries], Vector (&out)[carries]) {
        column(state, equal, in[0], out);
    }
    template <typename Vector>
    static inline void column_alone(Vector (&state)[states], Vector equal, Vector) {
        Vector out[carries];
        column(state, equal, NoCarry{}, out);
    }
    template <typename Vector>
    static inline void value(const Vector (&state)[states], Vector& more, Vector& less) {
        more = ~state[0];
        less = Vector{};
    }
};

}  // namespace
