// The kinds of machine that there are kernels for, and the best one of this machine.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../core/portable.hpp"
#include "vector_kernels.hpp"

namespace pe::edit {

namespace vector_kernels {
extern const Kernels avx2_kernels, avx512_kernels, neon_kernels;
}

struct Target {
    const char* name;
    const vector_kernels::Kernels* kernels;  // none: the portable code
};

// What this machine can run, the best last.
inline std::vector<Target> available_targets() {
    std::vector<Target> targets{{"portable", nullptr}};
#if defined(PE_VECTORS_X86)
    if (has_avx2()) targets.push_back({"avx2", &vector_kernels::avx2_kernels});
    if (has_avx512()) targets.push_back({"avx512", &vector_kernels::avx512_kernels});
#elif defined(PE_VECTORS_NEON)
    targets.push_back({"neon", &vector_kernels::neon_kernels});
#endif
    return targets;
}

// The best target, or the one that the environment names, to try others on one machine.
inline Target chosen_target() {
    static const Target chosen = [] {
        const std::vector<Target> targets = available_targets();
        const char* wanted = std::getenv("POLARS_EVALS_TARGET");
        if (wanted == nullptr || *wanted == '\0') return targets.back();
        std::string known;
        for (const Target& target : targets) {
            if (std::string(wanted) == target.name) return target;
            known += std::string(known.empty() ? "" : ", ") + target.name;
        }
        throw std::invalid_argument("POLARS_EVALS_TARGET is '" + std::string(wanted) + "'; this machine can do: " + known);
    }();
    return chosen;
}

}  // namespace pe::edit
