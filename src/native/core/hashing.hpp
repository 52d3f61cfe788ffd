// Hashes for tables inside one process: fast, and not to be foreseen, so that no text can be made to collide on purpose.
#pragma once

#include <random>

#include "portable.hpp"

namespace pe {

struct HashSeeds {
    std::uint64_t low, high;
    HashSeeds() {
        std::random_device device;
        low = std::uint64_t{device()} << 32 | device();
        high = std::uint64_t{device()} << 32 | device();
    }
};
inline const HashSeeds hash_seeds;

inline std::uint64_t hash_pair(std::uint64_t low, std::uint64_t high) {
    return multiply_and_fold(low ^ hash_seeds.low, high ^ hash_seeds.high);
}

inline std::uint64_t hash_bytes(const char* bytes, std::size_t size) {
    std::uint64_t hash = size;
    for (; size >= 8; bytes += 8, size -= 8) {
        std::uint64_t eight;
        std::memcpy(&eight, bytes, 8);
        hash = hash_pair(eight, hash);
    }
    std::uint64_t tail = 0;
    if (size > 0) std::memcpy(&tail, bytes, size);
    return hash_pair(tail, hash);
}

}  // namespace pe
