// The only file compiled for AVX-512 as processors have it since Ice Lake and Zen 4: see kernels.hpp.
#define PE_KERNELS avx512_kernels
#include "kernels.hpp"
