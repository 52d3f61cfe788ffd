// From UTF-8 to code points, lowercased as Polars does it.
#pragma once

#include "blocks.hpp"
#include "characters.hpp"

namespace pe::unicode {

// Eight ASCII characters as code points, lowercased if `fold_case`; false, and nothing written, if there is anything else.
inline bool decode_eight(const char* from, bool fold_case, std::uint32_t* to) {
    std::uint64_t eight;
    std::memcpy(&eight, from, 8);
    if (eight & 0x8080808080808080u) return false;
    for (int i = 0; i < 8; ++i) {
        const auto byte = static_cast<unsigned char>(from[i]);
        const bool is_upper = fold_case & (static_cast<unsigned char>(byte - 'A') < 26);
        to[i] = byte | static_cast<std::uint32_t>(is_upper) << 5;
    }
    return true;
}

// From UTF-8 to code points, lowercased if `fold_case`: as much of a text as there is room for.
class Decoder {
public:
    Decoder(Text text, bool fold_case, std::uint32_t* to, std::uint32_t* full)
        : text_(text), fold_case_(fold_case), at_(text.data()), end_(at_ + text.size()), to_(to), full_(full) {}

    // By vectors where there are any, and where they cannot, one by one.
    void run(DecodeBlocks* vectors) {
        while (at_ < end_ && to_ < full_) {
            if (vectors != nullptr) {
                if (!decode_blocks(vectors)) decode_until(at_ + block_characters);
            } else if (end_ - at_ >= 8 && decode_eight(at_, fold_case_, to_)) {
                at_ += 8;
                to_ += 8;
            } else decode_until(at_ + 8);
        }
    }
    std::uint32_t* end() const { return to_; }

private:
    bool decode_blocks(DecodeBlocks* vectors) {
        DecodedBlock blocks[most_blocks];
        // Room for a block is all that is sure to be there behind `full_`.
        const auto size = static_cast<std::size_t>(std::min(end_ - at_, full_ - to_));
        const std::size_t count = vectors(reinterpret_cast<const std::uint8_t*>(at_), size, fold_case_, to_, blocks);
        for (std::size_t i = 0; i < count; ++i) {
            for (std::uint64_t left = blocks[i].may_be_capital; left != 0; left &= left - 1) {
                std::uint32_t& code = to_[count_trailing_zeros(left)];
                if (code == capital_sigma || code == dotted_capital_i) return false;
                code = lower_(code);
            }
            at_ += blocks[i].bytes;
            to_ += blocks[i].characters;
        }
        return count > 0;
    }
    // One by one, those that begin before `stop`.
    void decode_until(const char* stop) {
        if (stop > end_) stop = end_;
        while (at_ < stop && to_ < full_) {
            const char* const start = at_;
            std::uint32_t code = next(at_, end_);
            if (fold_case_) {
                if (code == capital_sigma) code = is_final_sigma(text_, start, at_) ? final_sigma : small_sigma;
                else if (code != dotted_capital_i) code = lower_(code);
                else {
                    *to_++ = 'i';
                    code = dot_above;
                }
            }
            *to_++ = code;
        }
    }

    const LowercasePages& lower_ = LowercasePages::get();
    const Text text_;
    const bool fold_case_;
    const char* at_;
    const char* const end_;
    std::uint32_t* to_;
    std::uint32_t* const full_;
};

// The first `max_chars` code points of the text, lowercased before they are counted if `fold_case`.
inline void decode(Text text, bool fold_case, std::size_t max_chars, std::vector<std::uint32_t>& out,
                   DecodeBlocks* vectors = nullptr) {
    // A byte gives at most one code point, but for the two of the dotted capital I, which has two bytes.
    const std::size_t most = std::min(text.size(), max_chars), slack = block_characters;
    if (out.size() < most + slack) out.resize(most + slack);
    Decoder decoder(text, fold_case, out.data(), out.data() + most);
    decoder.run(vectors);
    out.resize(std::min<std::size_t>(static_cast<std::size_t>(decoder.end() - out.data()), max_chars));
}

}  // namespace pe::unicode
