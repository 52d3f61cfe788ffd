// What lowercase sees beside a capital sigma: marks that it looks through, and letters with case.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pe::unicode {

struct Range {
    std::uint32_t first, last;
};

// Ranges in order, none of which touch.
class Ranges {
public:
    template <std::size_t size>
    constexpr Ranges(const Range (&ranges)[size]) : ranges_(ranges), size_(size) {}

    bool contain(std::uint32_t code) const {
        std::size_t low = 0, high = size_;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (code > ranges_[middle].last) low = middle + 1;
            else high = middle;
        }
        return low < size_ && code >= ranges_[low].first;
    }

private:
    const Range* ranges_;
    std::size_t size_;
};

struct SigmaTable {
    Ranges ignorable, cased;
};

}  // namespace pe::unicode
