// Columns for the tests, in every Arrow layout. Buffers have their exact size, so that a sanitizer sees every step outside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/columns.hpp"

using Texts = std::vector<std::unique_ptr<std::string>>;  // a missing string is a null

inline void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
}

// One chunk, and the buffers that it points to.
struct Chunk {
    std::vector<std::uint8_t> validity, head, data;
    std::vector<const void*> buffers;
    std::int64_t sizes = 0;
    std::int64_t length = 0, offset = 0;
};

struct Producer {
    const char* format;
    std::vector<Chunk> chunks;
    std::size_t next = 0;
};

template <class Value>
void append(std::vector<std::uint8_t>& bytes, Value value) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
}

inline Chunk make_chunk(const std::string& format, const Texts& texts, std::size_t first, std::size_t last, std::size_t skipped) {
    Chunk chunk;
    chunk.offset = static_cast<std::int64_t>(skipped);
    chunk.length = static_cast<std::int64_t>(last - first);
    const std::size_t rows = last - first + skipped;
    chunk.validity.assign((rows + 7) / 8, 0);
    if (format == "U") append(chunk.head, std::int64_t{0});
    if (format == "u") append(chunk.head, std::int32_t{0});
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string* text = row < skipped ? nullptr : texts[first + row - skipped].get();
        if (text) chunk.validity[row / 8] |= static_cast<std::uint8_t>(1u << (row % 8));
        const std::string value = text ? *text : "";
        if (format == "vu") {
            append(chunk.head, static_cast<std::int32_t>(value.size()));
            if (value.size() <= 12) {
                std::string padded = value;
                padded.resize(12);
                chunk.head.insert(chunk.head.end(), padded.begin(), padded.end());
                continue;
            }
            chunk.head.insert(chunk.head.end(), value.begin(), value.begin() + 4);
            append(chunk.head, std::int32_t{0});
            append(chunk.head, static_cast<std::int32_t>(chunk.data.size()));
        }
        chunk.data.insert(chunk.data.end(), value.begin(), value.end());
        if (format == "U") append(chunk.head, static_cast<std::int64_t>(chunk.data.size()));
        if (format == "u") append(chunk.head, static_cast<std::int32_t>(chunk.data.size()));
    }
    chunk.validity.shrink_to_fit();
    chunk.head.shrink_to_fit();
    chunk.data.shrink_to_fit();
    return chunk;
}

inline pe::TextColumn make_column(const char* format, const Texts& texts, std::mt19937& random) {
    auto* producer = new Producer{format, {}, 0};
    for (std::size_t first = 0; first < texts.size();) {
        const std::size_t last = std::min(texts.size(), first + random() % 300);
        producer->chunks.push_back(make_chunk(format, texts, first, last, random() % 3));
        first = last;
    }
    for (Chunk& chunk : producer->chunks) {
        chunk.buffers = {chunk.validity.data(), chunk.head.data(), chunk.data.data()};
        if (format == std::string("vu")) chunk.buffers.push_back(&chunk.sizes);
    }
    ArrowArrayStream stream{};
    stream.private_data = producer;
    stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
        *out = {};
        out->format = static_cast<Producer*>(self->private_data)->format;
        out->release = [](ArrowSchema* schema) { schema->release = nullptr; };
        return 0;
    };
    stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
        auto* from = static_cast<Producer*>(self->private_data);
        *out = {};
        if (from->next == from->chunks.size()) return 0;
        auto* chunk = new Chunk(std::move(from->chunks[from->next++]));
        *out = {chunk->length, -1, chunk->offset, static_cast<std::int64_t>(chunk->buffers.size()), 0, chunk->buffers.data(),
                nullptr, nullptr, nullptr, chunk};
        out->release = [](ArrowArray* array) {
            delete static_cast<Chunk*>(array->private_data);
            array->release = nullptr;
        };
        return 0;
    };
    stream.release = [](ArrowArrayStream* self) {
        delete static_cast<Producer*>(self->private_data);
        self->release = nullptr;
    };
    return pe::TextColumn(pe::ArrowChunks(&stream));
}
