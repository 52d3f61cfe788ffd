// What every kernel reads: a run of valid UTF-8 bytes that somebody else owns.
#pragma once

#include <cstddef>
#include <string_view>

namespace pe {

using Text = std::string_view;

inline Text between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

}  // namespace pe
