// The only file compiled for AVX2, BMI and POPCNT: see kernels.hpp.
#define PE_KERNELS avx2_kernels
#include "kernels.hpp"
