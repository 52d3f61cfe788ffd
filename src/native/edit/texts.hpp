// A pair of texts as symbols that can be compared and counted: bytes where both are ASCII, else code points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../core/text.hpp"
#include "../unicode/decode.hpp"
#include "levenshtein/ascii.hpp"
#include "levenshtein/options.hpp"
#include "levenshtein/pair.hpp"
#include "levenshtein/workspace.hpp"

namespace pe::edit {

class EditTexts {
public:
    // Calls `measure(left, right, symbols)` with two sequences of symbols, of bytes or of 32-bit numbers below `symbols`, and
    // returns what it returns. Folded and cut as `options` say; the lengths are in `result`. A measure that takes any symbols
    // gets the code points themselves.
    template <class Measure>
    auto compare(Text left, Text right, const EditOptions& options, EditResult& result, Measure&& measure) {
        const Text left_cut = left.substr(0, options.max_chars), right_cut = right.substr(0, options.max_chars);
        left_bytes_.resize(std::max(left_bytes_.size(), left_cut.size()));
        right_bytes_.resize(std::max(right_bytes_.size(), right_cut.size()));
        const auto copy = options.fold_case ? copy_ascii<true> : copy_ascii<false>;
        if (copy(left_cut, left_bytes_.data()) && copy(right_cut, right_bytes_.data())) {
            set_sizes(result, left_cut.size(), right_cut.size());
            return measure(Sequence<std::uint8_t>{left_bytes_.data(), left_cut.size()},
                           Sequence<std::uint8_t>{right_bytes_.data(), right_cut.size()}, byte_symbols);
        }
        std::vector<std::uint32_t>&left_codes = workspace_.left_codes, &right_codes = workspace_.right_codes;
        workspace_.decode_pair(left, right, options);
        set_sizes(result, left_codes.size(), right_codes.size());
        if constexpr (std::remove_reference_t<Measure>::takes_any_symbols)
            return measure(Sequence<std::uint32_t>{left_codes.data(), left_codes.size()},
                           Sequence<std::uint32_t>{right_codes.data(), right_codes.size()}, 0);
        const NumberedPair pair =
            number_pair(left_codes.data(), left_codes.size(), right_codes.data(), right_codes.size(), workspace_);
        return measure(pair.left, pair.right, pair.symbols);
    }

private:
    static void set_sizes(EditResult& result, std::size_t left, std::size_t right) {
        result.left_chars = static_cast<std::uint32_t>(left);
        result.right_chars = static_cast<std::uint32_t>(right);
    }
    LevenshteinWorkspace workspace_;
    std::vector<std::uint8_t> left_bytes_, right_bytes_;
};

}  // namespace pe::edit
