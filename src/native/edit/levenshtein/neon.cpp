// The only file compiled for NEON, which every 64-bit ARM has. What it includes keeps its code in anonymous namespaces and uses
// no templates of the standard library: those could be shared with, and end up in, code for other machines.
#include "kernels.hpp"

namespace pe::edit::vector_kernels {

extern const Kernels neon_kernels;
const Kernels neon_kernels = kernels_of_target();

}  // namespace pe::edit::vector_kernels
