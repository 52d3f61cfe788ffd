// A growing run of bytes behind which at least 64 more may be read, so that kernels load whole blocks and whole words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../core/text.hpp"

namespace pe::unicode {

class PaddedText {
public:
    static constexpr std::size_t slack = 64;

    PaddedText() : bytes_(slack) {}

    // Makes room for `size` bytes and forgets what was there.
    char* resize(std::size_t size) {
        size_ = size;
        if (bytes_.size() < size + slack) bytes_.resize(size + size / 2 + slack);
        return bytes_.data();
    }
    void assign(Text text) {
        resize(text.size());
        if (!text.empty()) std::memcpy(bytes_.data(), text.data(), text.size());
    }
    void clear() { size_ = 0; }
    void push(char byte) {
        if (bytes_.size() < size_ + 1 + slack) bytes_.resize(2 * bytes_.size());
        bytes_[size_++] = byte;
    }
    void append(const char* from, std::size_t size) {
        if (bytes_.size() < size_ + size + slack) bytes_.resize(2 * bytes_.size() + size);
        if (size > 0) std::memcpy(bytes_.data() + size_, from, size);
        size_ += size;
    }
    void push_code_point(std::uint32_t code) {
        if (code < 0x80) return push(static_cast<char>(code));
        if (code < 0x800) push(static_cast<char>(0xC0 | code >> 6));
        else {
            if (code < 0x10000) push(static_cast<char>(0xE0 | code >> 12));
            else {
                push(static_cast<char>(0xF0 | code >> 18));
                push(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
            }
            push(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
        }
        push(static_cast<char>(0x80 | (code & 0x3F)));
    }
    // Keeps the first `size` bytes.
    void shrink(std::size_t size) { size_ = size; }

    char* data() { return bytes_.data(); }
    const char* data() const { return bytes_.data(); }
    std::size_t size() const { return size_; }
    Text view() const { return {bytes_.data(), size_}; }

private:
    std::vector<char> bytes_;
    std::size_t size_ = 0;
};

}  // namespace pe::unicode
