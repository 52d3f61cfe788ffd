// A growing run of bytes behind which at least 64 more may be read, so that kernels load whole blocks and whole words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../core/text.hpp"
#include "utf8.hpp"

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
        char bytes[4];
        append(bytes, encode(code, bytes));
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
