// JSON documents, n-gram counts and vectors on random and broken input.
// Usage: structured_test ROWS SEED. Buffers have their exact size, so that a sanitizer sees every step outside.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "json/document.hpp"
#include "words/ngram_cosine.hpp"
#include "plugin/vectors.hpp"

namespace {

using Random = std::mt19937;

void check(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
}

// A copy without the spare bytes that a string may have behind its end.
std::vector<char> exact(const std::string& text) { return {text.begin(), text.end()}; }
pe::Text view(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

std::string random_value(Random& random, int depth) {
    static const char* scalars[] = {"null", "true", "-0.0", "1e2", "100", "18446744073709551617", "\"a\"", "\"\\u00e9\"",
                                    "\"\\ud83d\\ude42\"", "1E400", "0.1", "[]", "{}", "\"\""};
    if (depth == 0 || random() % 3 == 0) return scalars[random() % std::size(scalars)];
    const bool is_object = random() % 2;
    std::string text = is_object ? "{" : "[";
    const std::size_t size = random() % 4;
    for (std::size_t i = 0; i < size; ++i) {
        if (i > 0) text += ",";
        if (is_object) text += "\"k" + std::to_string(i) + "\": ";
        text += random_value(random, depth - 1);
    }
    return text + (is_object ? "}" : "]");
}

// Bytes replaced, dropped and doubled: what a model writes when it is cut off, and worse.
std::string broken(std::string text, Random& random) {
    for (std::size_t edits = random() % 4; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
            case 0: text[at] = static_cast<char>(random() % 256); break;
            case 1: text.erase(at, 1 + random() % 3); break;
            case 2: text.insert(at, text.substr(at, random() % 8)); break;
            default: text[at] = "{}[]\",:\\u0e-+."[random() % 14];
        }
    }
    return text;
}

void read_json(std::size_t rounds, Random& random) {
    pe::json::JsonDocument left, right;
    pe::json::JsonEquality equal;
    for (std::size_t round = 0; round < rounds; ++round) {
        const std::string value = random_value(random, 4);
        const std::vector<char> whole = exact(value), spaced = exact("\n " + value + "\t");
        check(left.read(view(whole)) && right.read(view(spaced)), "a value is JSON");
        check(equal(left, right, false) && equal(left, right, true), "a value equals itself");
        const std::vector<char> damaged = exact(broken(value, random));
        if (right.read(view(damaged))) equal(left, right, random() % 2);
    }
    const std::string deep(1'000'000, '[');
    const std::vector<char> open = exact(deep), closed = exact(deep + std::string(deep.size(), ']'));
    check(!left.read(view(open)), "an open bracket is not JSON");
    check(left.read(view(closed)) && right.read(view(closed)) && equal(left, right, false), "a million levels");
    check(left.depth() == deep.size(), "depth");
}

void count_ngrams(std::size_t rounds, Random& random) {
    pe::words::NgramCosine cosine;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<char> texts[2];
        for (auto& text : texts) {
            text.resize(random() % 80);
            for (char& byte : text) byte = static_cast<char>(random() % 4 ? "ab C\xc3\xa9"[random() % 6] : random() % 256);
            text.shrink_to_fit();
        }
        const pe::words::NgramOptions options{random() % 2 == 0, random() % 2 == 0, 1 + random() % 5};
        const double there = cosine(view(texts[0]), view(texts[1]), options);
        check(there >= 0 && there <= 1, "a cosine lies in [0, 1]");
        check(there == cosine(view(texts[1]), view(texts[0]), options), "a cosine is symmetric");
        check(cosine(view(texts[0]), view(texts[0]), options) == 1.0, "a text is like itself");
    }
}

void multiply_vectors(std::size_t rounds, Random& random) {
    const double odd[] = {0.0, -0.0, 1e308, -1e308, 5e-324, std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN(), 1.0, -1.0};
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<double> values[2];
        const std::size_t size = random() % 20;
        for (auto& vector : values) {
            vector.resize(random() % 10 ? size : random() % 20);
            for (double& value : vector)
                value = random() % 5 ? static_cast<double>(random() % 2001) / 1000 - 1 : odd[random() % std::size(odd)];
            vector.shrink_to_fit();
        }
        const pe::plugin::Vector left{values[0].data(), values[0].size()}, right{values[1].data(), values[1].size()};
        const double score = pe::plugin::cosine(left, right).score;
        check(score >= 0 && score <= 1, "a cosine of vectors lies in [0, 1]");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    Random random(static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1));
    read_json(rows, random);
    count_ngrams(rows, random);
    multiply_vectors(rows, random);
    std::printf("structured: %zu JSON texts, pairs of texts and pairs of vectors\n", rows);
}
