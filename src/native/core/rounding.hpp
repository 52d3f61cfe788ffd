// Similarity from a distance, rounded half up from the integers themselves: 1 - 1/40 is 0.98, never 0.97.
#pragma once

#include <cmath>

#include "text.hpp"

namespace pe {

class Similarity {
public:
    // `decimals` below 0: no rounding. Nor above 15, which is all that a double is sure to hold.
    explicit Similarity(int decimals) : is_rounded_(decimals >= 0 && decimals <= 15) {
        if (!is_rounded_) return;
        fits_doubles_ = decimals <= 5;
        for (int i = 0; i < decimals; ++i) (i < 9 ? head_ : tail_) *= 10;
    }
    // Lengths are below 2^34, so that what a division leaves over can be taken a billion times in 64 bits.
    double operator()(std::uint64_t distance, std::uint64_t length) const {
        if (length == 0) return 1.0;
        if (!is_rounded_) return 1.0 - static_cast<double>(distance) / static_cast<double>(length);
        if (fits_doubles_) {
            // Below 2^53. A quotient that is less than a whole number is so by more than doubles round off.
            const auto twice = static_cast<double>(2 * (length - distance) * head_ + length);
            const auto units = static_cast<std::int64_t>(twice / static_cast<double>(2 * length));
            return static_cast<double>(units) / static_cast<double>(head_);
        }
        const std::uint64_t wide = (length - distance) * head_;
        std::uint64_t units = wide / length, left_over = wide % length;
        if (tail_ > 1) {
            left_over *= tail_;
            units = units * tail_ + left_over / length;
            left_over %= length;
        }
        units += 2 * left_over >= length;
        // Whole numbers that doubles hold exactly: the quotient is the double nearest to the rounded decimal number.
        return static_cast<double>(units) / static_cast<double>(head_ * tail_);
    }

private:
    bool is_rounded_, fits_doubles_ = false;
    // Ten to the power of `decimals`: the first nine of them, and the others.
    std::uint64_t head_ = 1, tail_ = 1;
};

// Rounds a number, usually in [0, 1], half up, from its first twelve decimals: 0.145 is 0.15 with two, though the nearest float
// is below it.
class Rounding {
public:
    // `decimals` below 0: no rounding.
    explicit Rounding(int decimals) : is_rounded_(decimals >= 0) {
        for (int i = decimals; i < 12 && is_rounded_; ++i) step_ *= 10;
    }
    double operator()(double number) const {
        if (!is_rounded_) return number;
        const std::int64_t units = std::llround(number * static_cast<double>(whole));
        return static_cast<double>((units + step_ / 2) / step_) / static_cast<double>(whole / step_);
    }

private:
    static constexpr std::int64_t whole = 1'000'000'000'000;
    bool is_rounded_;
    std::int64_t step_ = 1;
};

}  // namespace pe
