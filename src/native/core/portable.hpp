// What compilers and systems spell differently, and nothing else: the rest of the code is standard C++.
#pragma once

#include <charconv>

#include "text.hpp"

// Microsoft's own compiler. clang-cl says _MSC_VER too, and has what Clang has. With Clang it can be set from outside, which
// tries what is written for Microsoft's (see tests/native/Makefile).
#if defined(_MSC_VER) && !defined(__clang__)
#define PE_MICROSOFT 1
#endif

#if defined(PE_MICROSOFT)
#include <intrin.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#endif

// Vector code is written with the vectors of GCC and Clang; other compilers make the portable kernels only.
#if defined(PE_MICROSOFT)
#elif defined(__GNUC__) && defined(__x86_64__)
#define PE_VECTORS_X86 1
#elif defined(__GNUC__) && defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#define PE_VECTORS_NEON 1
#endif
// The instructions of <emmintrin.h>, which every x86-64 has.
#if defined(__SSE2__) || defined(_M_X64)
#define PE_SSE2 1
#endif

// Floating-point numbers in <charconv>. Microsoft's library has them and may not say so.
#if defined(__cpp_lib_to_chars) || defined(_WIN32)
#define PE_REAL_CHARS 1
#else
#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

// How hard the compiler tries to put a function into its callers: always, and never.
#if defined(PE_MICROSOFT)
#define PE_ALWAYS_INLINE __forceinline
#define PE_NEVER_INLINE __declspec(noinline)
#else
#define PE_ALWAYS_INLINE [[gnu::always_inline]] inline
#define PE_NEVER_INLINE [[gnu::noinline]]
#endif
// A function for machines that count and mask bits in one instruction (see has_bit_instructions).
#if defined(PE_VECTORS_X86)
#define PE_BIT_INSTRUCTIONS [[gnu::target("popcnt,bmi,bmi2")]]
#endif

namespace pe {

// Bits that are set; zero bits below the lowest and above the highest that is set, of which there must be one.
#if defined(PE_MICROSOFT)
inline unsigned popcount(std::uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return static_cast<unsigned>(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}
inline unsigned count_trailing_zeros(std::uint64_t bits) {
    unsigned long place;
    _BitScanForward64(&place, bits);
    return place;
}
inline unsigned count_leading_zeros(std::uint64_t bits) {
    unsigned long place;
    _BitScanReverse64(&place, bits);
    return 63 - place;
}
#else
inline unsigned popcount(std::uint64_t bits) { return static_cast<unsigned>(__builtin_popcountll(bits)); }
inline unsigned count_trailing_zeros(std::uint64_t bits) { return static_cast<unsigned>(__builtin_ctzll(bits)); }
inline unsigned count_leading_zeros(std::uint64_t bits) { return static_cast<unsigned>(__builtin_clzll(bits)); }
#endif

// The two halves of the product, mixed: what hashes are made of.
inline std::uint64_t multiply_and_fold(std::uint64_t left, std::uint64_t right) {
#if defined(PE_MICROSOFT)
    // There is no _umul128 for ARM.
    return left * right ^ __umulh(left, right);
#else
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(left) * right;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#endif
}

// Begins to bring what is there into the cache.
inline void prefetch(const void* address) {
#if !defined(PE_MICROSOFT)
    __builtin_prefetch(address);
#elif defined(_M_X64)
    _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#elif defined(_M_ARM64)
    __prefetch(address);
#else
    (void)address;
#endif
}

#if defined(PE_VECTORS_X86)
// Whether this machine has the instructions that the kernels of a target use (see CMakeLists.txt).
inline bool has_bit_instructions() {
    static const bool has = (__builtin_cpu_init(), __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") &&
                                                       __builtin_cpu_supports("bmi2"));
    return has;
}
inline bool has_avx2() { return has_bit_instructions() && __builtin_cpu_supports("avx2"); }
inline bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("gfni");
}
#endif

// Calls `function` in every child process that a fork makes, where there are forks.
inline void call_in_forked_child(void (*function)()) {
#if defined(_WIN32)
    (void)function;
#else
    pthread_atfork(nullptr, nullptr, function);
#endif
}

// Names the calling thread, for debuggers and monitors.
inline void name_this_thread(const char* name) {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#else
    (void)name;
#endif
}

// A decimal number as the nearest double, whatever the locale of the process is.
// The text is a number without white space. One that is too large is infinite, one that is too small is 0.
inline double parse_real(Text text) {
#if defined(PE_REAL_CHARS)
    double number = 0;
    const char* const begin = text.data() + (!text.empty() && text.front() == '+');
    const std::from_chars_result result = std::from_chars(begin, text.data() + text.size(), number);
    if (result.ec != std::errc::result_out_of_range) return number;
    const std::size_t exponent = text.find_first_of("eE");
    const bool is_small = exponent != Text::npos ? text.find('-', exponent) != Text::npos
                                                 : text.substr(0, text.find('.')).find_first_of("123456789") == Text::npos;
    const double magnitude = is_small ? 0.0 : std::numeric_limits<double>::infinity();
    return text.front() == '-' ? -magnitude : magnitude;
#else
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(std::string(text).c_str(), nullptr, plain);
#endif
}

}  // namespace pe
