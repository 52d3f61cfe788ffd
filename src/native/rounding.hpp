// Similarity from a distance, rounded half up from the integers themselves: 1 - 1/40 is 0.98, never 0.97.
#pragma once

#include <cmath>
#include <cstdint>

namespace pe {

class Similarity {
public:
    // `decimals` below 0: no rounding. From 18 on, rounding changes nothing that a double can hold.
    explicit Similarity(int decimals) : scale_(0) {
        if (decimals < 0 || decimals > 17) return;
        scale_ = 1;
        for (int i = 0; i < decimals; ++i) scale_ *= 10;
    }
    double operator()(std::uint64_t distance, std::uint64_t length) const {
        if (length == 0) return 1.0;
        if (scale_ == 0) return 1.0 - static_cast<double>(distance) / static_cast<double>(length);
        const auto wide = static_cast<Wide>(length - distance) * (2 * static_cast<Wide>(scale_)) + length;
        const auto units = static_cast<std::uint64_t>(wide / (2 * static_cast<Wide>(length)));
        return static_cast<double>(static_cast<long double>(units) / static_cast<long double>(scale_));
    }

private:
    __extension__ using Wide = unsigned __int128;
    std::uint64_t scale_;
};

}  // namespace pe
