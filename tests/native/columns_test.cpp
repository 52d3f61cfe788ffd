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

#include "core/batches.hpp"
#include "edit/levenshtein/workspace.hpp"
#include "core/rounding.hpp"
#include "unicode/decode.hpp"
#include "arrow_columns.hpp"

namespace {

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
    for (std::size_t row = 0; row < rows; ++row) {
        const std::string* a = left[left.size() == 1 ? 0 : row].get();
        const std::string* b = right[right.size() == 1 ? 0 : row].get();
        check(result.is_valid(row) == (a && b), "a pair with a null is null");
        if (a && b) check(sums[row] == value(*a, *b), "a pair's value");
    }
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
            pe::unicode::decode(text, fold, most, codes);
            check(codes.size() <= most, "no more characters than asked for");
        }
        pe::unicode::decode(text, false, bytes.size(), codes);
        check(pe::unicode::is_ascii(text) == (codes.size() == bytes.size() && std::all_of(codes.begin(), codes.end(), [](auto c) { return c < 128; })), "ASCII");
    }
}

// The vectors of every target give what the portable code gives: all characters, alone and among others, and any bytes.
void decode_with_vectors(std::size_t rounds, std::mt19937& random) {
    std::vector<std::uint32_t> codes, wanted;
    const auto compare = [&](const std::string& text, std::size_t most) {
        const std::vector<char> bytes(text.begin(), text.end());  // of its exact size
        for (const pe::edit::Target& target : pe::edit::available_targets()) {
            if (target.kernels == nullptr) continue;
            for (const bool fold : {false, true}) {
                pe::unicode::decode({bytes.data(), bytes.size()}, fold, most, wanted);
                pe::unicode::decode({bytes.data(), bytes.size()}, fold, most, codes, target.kernels->decode);
                check(codes == wanted, "vectors decode as the portable code does");
            }
        }
    };
    const auto encode = [](std::uint32_t code) {
        std::string text;
        const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
        if (code < 0x80) add(code);
        else if (code < 0x800) add(0xC0 | code >> 6), add(0x80 | (code & 0x3F));
        else if (code < 0x10000) add(0xE0 | code >> 12), add(0x80 | (code >> 6 & 0x3F)), add(0x80 | (code & 0x3F));
        else add(0xF0 | code >> 18), add(0x80 | (code >> 12 & 0x3F)), add(0x80 | (code >> 6 & 0x3F)), add(0x80 | (code & 0x3F));
        return text;
    };
    std::string all;
    for (std::uint32_t code = 0; code < 0x11000; ++code) all += encode(code);
    compare(all, all.size());
    for (std::size_t round = 0; round < rounds / 10; ++round) {
        std::string text;
        const std::uint32_t script = random() % 4;
        for (std::size_t i = random() % 300; i > 0; --i) {
            const std::uint32_t kind = random() % 40;
            if (kind == 0) text += encode(random() % 0x11000);
            else if (kind == 1 && random() % 20 == 0) text += static_cast<char>(random());
            else if (kind == 1 && random() % 10 == 0) text += encode(random() % 2 == 0 ? 0x3A3 : 0x130);
            else if (kind < 8 || script == 0) text += encode(' ' + random() % 95);
            else text += encode((script == 1 ? 0x400u : script == 2 ? 0xC0u : 0x3040u) + random() % (script == 2 ? 0x100 : 0x60));
        }
        compare(text, random() % 2 == 0 ? text.size() : random() % 200);
    }
}

// By whole numbers: rounds down what is a half more.
void round_everything() {
    std::uint64_t scale = 1;
    for (int decimals = 0; decimals <= 9; ++decimals, scale *= 10) {
        const pe::Similarity similarity(decimals);
        for (std::uint64_t size = 1; size <= 10'000; size += 1 + size / 100)
            for (std::uint64_t distance = 0; distance <= size; distance += 1 + size / 300) {
                const std::uint64_t units = (2 * (size - distance) * scale + size) / (2 * size);
                check(similarity(distance, size) == static_cast<double>(units) / static_cast<double>(scale), "every rounding");
            }
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
    decode_with_vectors(rows, random);
    round_everything();
    check(pe::Similarity(2)(1, 40) == 0.98 && pe::Similarity(2)(6, 16) == 0.63 && pe::Similarity(-1)(1, 3) == 1.0 - 1.0 / 3, "rounding");
    std::printf("columns: %zu rows of four callers in batches, %zu decoded texts\n", rows, rows);
}
