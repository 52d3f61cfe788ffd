// What every kernel reads: a run of valid UTF-8 bytes that somebody else owns.
#pragma once

#include <string_view>

namespace pe {

using Text = std::string_view;

}  // namespace pe
