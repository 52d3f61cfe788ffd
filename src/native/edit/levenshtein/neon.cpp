// The only file compiled for NEON, which every 64-bit ARM has: see kernels.hpp.
#define PE_KERNELS neon_kernels
#include "kernels.hpp"
