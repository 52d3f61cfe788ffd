// Words in a row, as they stand in a text.
#pragma once

#include <cstddef>
#include <vector>

namespace pe::words {

// One byte or more of a text. At least 16 bytes are readable at `bytes`, whatever the length.
struct Word {
    const char* bytes;
    std::size_t length;
};

// Where each word begins and ends, in turn. As a vector, but for a `push` that costs next to nothing.
class WordList {
public:
    void clear() { size_ = 0; }
    std::size_t size() const { return size_ / 2; }
    Word operator[](std::size_t i) const {
        return {edges_[2 * i], static_cast<std::size_t>(edges_[2 * i + 1] - edges_[2 * i])};
    }
    void push(const char* bytes, std::size_t length) {
        const char** edges = room(2);
        edges[0] = bytes;
        edges[1] = bytes + length;
        set_end(edges + 2);
    }

    // For those who write the ends of many words themselves: a place for so many, and then how far they came.
    const char** room(std::size_t edges) {
        if (edges_.size() - size_ < edges) edges_.resize(2 * edges_.size() + edges);
        return edges_.data() + size_;
    }
    void set_end(const char** end) { size_ = static_cast<std::size_t>(end - edges_.data()); }

private:
    std::vector<const char*> edges_;
    std::size_t size_ = 0;
};

}  // namespace pe::words
