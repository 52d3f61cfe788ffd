// The cosine of two vectors.
#pragma once

#include <cmath>

#include "../core/text.hpp"

namespace pe::plugin {

struct Vector {
    const double* data;
    std::size_t size;
};

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
inline double ratio(const Products& sums) { return std::clamp(sums.both / std::sqrt(sums.left * sums.right), 0.0, 1.0); }

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
        const Products sums =
            products(left.size, [&](std::size_t i) { return left.data[i]; }, [&](std::size_t i) { return right.data[i]; });
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

}  // namespace pe::plugin
