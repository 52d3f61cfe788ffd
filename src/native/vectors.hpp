// Columns of lists of numbers, and the cosine of two of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "columns.hpp"
#include "core/pool.hpp"

namespace pe {

struct Vector {
    const double* data;
    std::size_t size;
};

// A list array of doubles ("+L" or "+l" of "g").
class VectorArray {
public:
    VectorArray(const ArrowArray& array, const ArrowSchema& schema)
        : large_(schema.format == std::string("+L")),
          offset_(static_cast<std::size_t>(array.offset)),
          buffers_(array.buffers),
          child_offset_(static_cast<std::size_t>(array.children[0]->offset)),
          child_buffers_(array.children[0]->buffers) {
        if (schema.children[0]->format != std::string("g")) throw std::invalid_argument("expected a list of doubles");
    }
    // Whether there is a list and no null in it.
    bool is_valid(std::size_t row) const {
        if (!is_set(buffers_[0], offset_ + row)) return false;
        if (child_buffers_[0] == nullptr) return true;
        for (std::size_t at = begin(row); at < begin(row + 1); ++at)
            if (!is_set(child_buffers_[0], child_offset_ + at)) return false;
        return true;
    }
    Vector operator[](std::size_t row) const {
        const auto* values = static_cast<const double*>(child_buffers_[1]) + child_offset_;
        return {values + begin(row), begin(row + 1) - begin(row)};
    }

private:
    std::size_t begin(std::size_t row) const {
        row += offset_;
        return large_ ? static_cast<std::size_t>(static_cast<const std::int64_t*>(buffers_[1])[row])
                      : static_cast<std::size_t>(static_cast<const std::int32_t*>(buffers_[1])[row]);
    }
    bool large_;
    std::size_t offset_;
    const void** buffers_;
    std::size_t child_offset_;
    const void** child_buffers_;
};

using VectorColumn = Chunked<VectorArray>;

enum class Comparison : std::int64_t { done, no_expected, no_output, lengths_differ, zeros };

struct Cosine {
    double score;
    Comparison comparison;
};

namespace vectors {

struct Products {
    double both, left, right;
};

// The products of two vectors with each other and with themselves, all summed in the same order: for equal vectors the
// three are equal. `left(i)` and `right(i)` give the numbers.
template <class Left, class Right>
Products products(std::size_t size, Left&& left, Right&& right) {
    constexpr std::size_t lanes = 8;  // independent sums, which a compiler can keep in vector registers
    std::array<double, lanes> both{}, lefts{}, rights{};
    const auto add = [&](std::size_t i, std::size_t lane) {
        const double a = left(i), b = right(i);
        both[lane] += a * b;
        lefts[lane] += a * a;
        rights[lane] += b * b;
    };
    std::size_t i = 0;
    for (; i + lanes <= size; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
    for (std::size_t lane = 0; i < size; ++i, ++lane) add(i, lane);
    Products sums{0, 0, 0};
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        sums.both += both[lane];
        sums.left += lefts[lane];
        sums.right += rights[lane];
    }
    return sums;
}

// The root of the product, not the product of the roots: equal vectors give exactly 1.
inline double ratio(const Products& sums) {
    return std::clamp(sums.both / std::sqrt(sums.left * sums.right), 0.0, 1.0);
}

// The largest number, signs apart; infinite if one of them is not finite.
inline double peak(Vector vector) {
    double largest = 0;
    for (std::size_t i = 0; i < vector.size; ++i) {
        if (!std::isfinite(vector.data[i])) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::fabs(vector.data[i]));
    }
    return largest;
}

}  // namespace vectors

inline Cosine cosine(Vector left, Vector right) {
    using namespace vectors;
    // Within these bounds squares of lengths neither overflow nor vanish, and nothing is infinite or NaN.
    constexpr double least = 1e-140, most = 1e140;
    const auto is_ordinary = [](double square) { return square > least && square < most; };
    if (left.size == right.size) {
        const Products sums = products(
            left.size, [&](std::size_t i) { return left.data[i]; }, [&](std::size_t i) { return right.data[i]; });
        if (is_ordinary(sums.left) && is_ordinary(sums.right)) return {ratio(sums), Comparison::done};
    }
    const double left_peak = peak(left), right_peak = peak(right);
    if (std::isinf(right_peak)) return {0.0, Comparison::no_expected};
    if (std::isinf(left_peak)) return {0.0, Comparison::no_output};
    if (left.size != right.size) return {0.0, Comparison::lengths_differ};
    if (left_peak == 0 || right_peak == 0) return {0.0, Comparison::zeros};
    const Products sums = products(
        left.size, [&](std::size_t i) { return left.data[i] / left_peak; },
        [&](std::size_t i) { return right.data[i] / right_peak; });
    return {ratio(sums), Comparison::done};
}

// Calls `cosine` for all rows, over the threads of the pool, and `take(row, cosine, left size, right size)`.
template <class Take>
void for_each_cosine(const VectorColumn& left, const VectorColumn& right, std::size_t threads, Take&& take) {
    constexpr std::size_t step = 64;
    const std::size_t rows = broadcast_size(left.size(), right.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t row; (row = next.fetch_add(step)) < rows;) {
            VectorColumn::Cursor left_at(left, row), right_at(right, row);
            for (const std::size_t end = std::min(row + step, rows); row < end; ++row, left_at.next(), right_at.next()) {
                const bool has_left = left_at.array().is_valid(left_at.row());
                if (!right_at.array().is_valid(right_at.row())) take(row, Cosine{0.0, Comparison::no_expected}, 0, 0);
                else if (!has_left) take(row, Cosine{0.0, Comparison::no_output}, 0, 0);
                else {
                    const Vector a = left_at.array()[left_at.row()], b = right_at.array()[right_at.row()];
                    take(row, cosine(a, b), a.size, b.size);
                }
            }
        }
    };
    if (rows <= step) work();
    else Pool::get(threads).run(work);
}

}  // namespace pe
