// Positions at which two texts differ; those that only one has count as different.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "levenshtein/vector_kernels.hpp"

namespace pe::edit {

class HammingKernel {
public:
    static constexpr bool takes_any_symbols = true;

    template <typename Symbol>
    std::uint32_t operator()(vector_kernels::Sequence<Symbol> left, vector_kernels::Sequence<Symbol> right, std::size_t) {
        const std::size_t both = std::min(left.size, right.size);
        std::uint32_t different = 0;
        for (std::size_t i = 0; i < both; ++i) different += left.data[i] != right.data[i];
        return different + static_cast<std::uint32_t>(std::max(left.size, right.size) - both);
    }
};

}  // namespace pe::edit
