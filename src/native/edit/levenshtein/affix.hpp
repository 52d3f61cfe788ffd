// What two sequences share at either end never costs an edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pe::edit {

template <typename Symbol>
std::size_t common_prefix(const Symbol* left, const Symbol* right, std::size_t size) {
    constexpr std::size_t step = 32 / sizeof(Symbol);
    std::size_t i = 0;
    while (size - i >= step && std::memcmp(left + i, right + i, 32) == 0) i += step;
    while (i < size && left[i] == right[i]) ++i;
    return i;
}

template <typename Symbol>
std::size_t common_suffix(const Symbol* left_end, const Symbol* right_end, std::size_t size) {
    constexpr std::size_t step = 32 / sizeof(Symbol);
    std::size_t i = 0;
    while (size - i >= step && std::memcmp(left_end - i - step, right_end - i - step, 32) == 0) i += step;
    while (i < size && *(left_end - i - 1) == *(right_end - i - 1)) ++i;
    return i;
}

}  // namespace pe::edit
