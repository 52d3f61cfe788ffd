// The type of vector code that decodes UTF-8. There is nothing here that two kinds of machine would compile differently.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pe::unicode {

// The next characters of a text, in blocks of up to 64 bytes, as long as none has four bytes and all are UTF-8. Lowercases
// ASCII if `fold_case`, and says by a bit for each character of a block which of the others may be capitals. Writes up to
// block_characters beyond the last. Returns the number of blocks.
struct DecodedBlock {
    std::uint32_t bytes, characters;
    std::uint64_t may_be_capital;
};
constexpr std::size_t most_blocks = 16, block_characters = 64;
using DecodeBlocks = std::size_t(const std::uint8_t* text, std::size_t size, bool fold_case, std::uint32_t* codes,
                                 DecodedBlock* blocks);

}  // namespace pe::unicode
