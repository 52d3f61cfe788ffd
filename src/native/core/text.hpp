// What every kernel reads, a run of valid UTF-8 bytes that somebody else owns, and the standard headers that nearly every file
// needs. Not for code that is compiled for several kinds of machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pe {

using Text = std::string_view;

inline Text between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

}  // namespace pe
