// Columns in every Arrow layout, cut into batches by several callers at once, and results read back.
// Usage: columns_test ROWS SEED. Buffers have their exact size, so that a sanitizer sees every step outside.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "batches.hpp"
#include "rounding.hpp"
#include "unicode.hpp"

namespace {

using Texts = std::vector<std::unique_ptr<std::string>>;  // a missing string is a null

void check(bool holds, const char* what) {
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

Chunk make_chunk(const std::string& format, const Texts& texts, std::size_t first, std::size_t last, std::size_t skipped) {
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

pe::TextColumn make_column(const char* format, const Texts& texts, std::mt19937& random) {
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

Texts make_texts(std::size_t rows, std::mt19937& random) {
    Texts texts;
    for (std::size_t row = 0; row < rows; ++row) {
        if (random() % 7 == 0) {
            texts.push_back(nullptr);
            continue;
        }
        std::string text(random() % (random() % 50 == 0 ? 3000 : 30), 'a');
        for (char& letter : text) letter = static_cast<char>('a' + random() % 26);
        texts.push_back(std::make_unique<std::string>(text));
    }
    return texts;
}

struct Nothing {};

// Each pair gives the sum of its sizes and first letters; nulls give null.
void read_pairs(const Texts& left, const Texts& right, std::mt19937& random) {
    const char* formats[] = {"vu", "U", "u"};
    const pe::TextColumn left_column = make_column(formats[random() % 3], left, random);
    const pe::TextColumn right_column = make_column(formats[random() % 3], right, random);
    const std::size_t rows = pe::broadcast_size(left.size(), right.size());
    const auto value = [](const std::string& a, const std::string& b) {
        return static_cast<std::int64_t>(a.size() * 10000 + b.size() + (a.empty() ? 0 : static_cast<unsigned char>(a[0])));
    };
    pe::Result result(rows);
    std::int64_t* sums = result.add_integers("sum");
    pe::for_each_batch<Nothing>(left_column, right_column, 3, result, [&](const pe::Batch& batch, Nothing&) {
        for (std::size_t i = 0; i < batch.size(); ++i)
            sums[batch.rows[i]] = value(std::string(batch.left[i]), std::string(batch.right[i]));
    });
    ArrowSchema schema;
    ArrowArray array;
    result.move_to(&schema, &array);
    ArrowArray sum = *array.children[0];  // taken over: it must outlive its parent
    array.children[0]->release = nullptr;
    array.release(&array);
    schema.release(&schema);
    const auto* validity = static_cast<const std::uint8_t*>(sum.buffers[0]);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string* a = left[left.size() == 1 ? 0 : row].get();
        const std::string* b = right[right.size() == 1 ? 0 : row].get();
        const bool is_valid = validity == nullptr || (validity[row / 8] >> (row % 8) & 1);
        check(is_valid == (a && b), "a pair with a null is null");
        if (a && b) check(static_cast<const std::int64_t*>(sum.buffers[1])[row] == value(*a, *b), "a pair's value");
    }
    sum.release(&sum);
}

void decode_anything(std::size_t rounds, std::mt19937& random) {
    std::vector<std::uint32_t> codes;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<char> bytes(random() % 40);
        for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? 0xC0 + random() % 64 : random() % 256);
        bytes.shrink_to_fit();
        const pe::Text text(bytes.data(), bytes.size());
        const std::size_t most = random() % 50;
        for (const bool fold : {false, true}) {
            pe::decode(text, fold, most, codes);
            check(codes.size() <= most, "no more characters than asked for");
        }
        pe::decode(text, false, bytes.size(), codes);
        check(pe::is_ascii(text) == (codes.size() == bytes.size() && std::all_of(codes.begin(), codes.end(), [](auto c) { return c < 128; })), "ASCII");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    const auto seed = static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
    std::vector<std::thread> callers;
    for (std::uint32_t caller = 0; caller < 4; ++caller) {
        callers.emplace_back([=] {
            std::mt19937 random(seed * 100 + caller);
            for (const std::size_t left_rows : {rows / 4, std::size_t{1}, std::size_t{0}, std::size_t{17}}) {
                for (const std::size_t right_rows : {left_rows, std::size_t{1}}) {
                    const Texts left = make_texts(left_rows, random), right = make_texts(right_rows, random);
                    read_pairs(left, right, random);
                    read_pairs(right, left, random);
                }
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    std::mt19937 random(seed);
    decode_anything(rows, random);
    check(pe::Similarity(2)(1, 40) == 0.98 && pe::Similarity(2)(6, 16) == 0.63 && pe::Similarity(-1)(1, 3) == 1.0 - 1.0 / 3, "rounding");
    std::printf("columns: %zu rows of four callers in batches, %zu decoded texts\n", rows, rows);
}
