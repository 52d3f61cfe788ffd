// The only file compiled for AVX-512 as processors have it since Ice Lake and Zen 4. What it includes keeps its code in
// anonymous namespaces and uses no templates of the standard library: those could be shared with, and end up in, code for other
// machines.
#include "kernels.hpp"

namespace pe::edit::vector_kernels {

extern const Kernels avx512_kernels;
const Kernels avx512_kernels = kernels_of_target();

}  // namespace pe::edit::vector_kernels
