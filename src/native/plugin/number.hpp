// A decimal number as the nearest double, whatever the locale of the process is.
#pragma once

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

#include "../core/portable.hpp"
#include "../core/text.hpp"

#if !defined(PE_REAL_CHARS)
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace pe::plugin {

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

}  // namespace pe::plugin
