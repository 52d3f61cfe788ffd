// Numbers of words in a row.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace pe::words {

// For vectors that are written to as soon as they have grown: what `resize` adds has no value yet.
template <class Value>
struct Unset : std::allocator<Value> {
    template <class Other>
    struct rebind {
        using other = Unset<Other>;
    };
    Unset() = default;
    template <class Other>
    Unset(const Unset<Other>&) {}

    template <class Made>
    void construct(Made* at) {
        ::new (static_cast<void*>(at)) Made;
    }
    template <class Made, class... Values>
    void construct(Made* at, Values&&... values) {
        ::new (static_cast<void*>(at)) Made(std::forward<Values>(values)...);
    }
};

using Numbers = std::vector<std::uint32_t, Unset<std::uint32_t>>;

}  // namespace pe::words
