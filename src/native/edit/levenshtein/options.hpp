// What a caller says and gets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pe::edit {

struct EditOptions {
    bool fold_case;
    std::size_t max_chars;  // SIZE_MAX: no cut
};

// Lengths are in code points, after folding and cutting.
struct EditResult {
    std::uint32_t distance, left_chars, right_chars;
};

}  // namespace pe::edit
