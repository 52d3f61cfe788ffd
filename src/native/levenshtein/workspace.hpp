// Memory that the kernels use over and over. One a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbering.hpp"
#include "scalar.hpp"
#include "vector_kernels.hpp"

namespace pe {

enum class Engine { portable, avx2 };

#if defined(__x86_64__)
constexpr bool has_vector_kernels = true;
#else
constexpr bool has_vector_kernels = false;
#endif

inline Engine best_engine() {
#if defined(__x86_64__)
    static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                                 __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    return has_avx2 ? Engine::avx2 : Engine::portable;
#else
    return Engine::portable;
#endif
}

// Words that start out zero, the first at the start of a cache line.
class AlignedWords {
public:
    std::uint64_t* at_least(std::size_t count) {
        if (words_.size() < count + slack) words_.resize(count + slack);
        const auto address = reinterpret_cast<std::uintptr_t>(words_.data());
        return words_.data() + (64 - address % 64) % 64 / sizeof(std::uint64_t);
    }

private:
    static constexpr std::size_t slack = 64 / sizeof(std::uint64_t);
    std::vector<std::uint64_t> words_;
};

class LevenshteinWorkspace {
public:
    explicit LevenshteinWorkspace(Engine engine = best_engine()) : engine(engine) {}

    vector_kernels::BlockScratch blocks_for(std::size_t symbols, std::size_t columns) {
        using vector_kernels::column_slack;
        using vector_kernels::lanes;
        if (offsets.size() < lanes * (columns + column_slack)) offsets.resize(lanes * (columns + column_slack));
        if (carries.size() < columns + column_slack) carries.resize(columns + column_slack);
        return {table.at_least(symbols * vector_kernels::symbol_words), offsets.data(), carries.data()};
    }

    const Engine engine;
    SymbolNumbering numbering;
    ScalarScratch scalar;
    AlignedWords table;  // zero between uses
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint64_t> carries;
    std::vector<std::uint32_t> left_codes, right_codes;
    std::vector<std::uint32_t> left_numbers, right_numbers;
    std::vector<std::uint8_t> bytes;
};

}  // namespace pe
