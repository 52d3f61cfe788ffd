// Oracles, texts and memory for the tests of the native kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pages.hpp"

namespace test {

using Codes = std::vector<std::uint32_t>;

inline void fail(const char* what, std::int64_t expected, std::int64_t found, std::size_t left_size, std::size_t right_size) {
    std::fprintf(stderr, "%s: expected %lld, found %lld, sizes %zu and %zu\n", what, static_cast<long long>(expected),
                 static_cast<long long>(found), left_size, right_size);
    std::exit(1);
}

inline void check_equal(const char* what, std::int64_t expected, std::int64_t found, std::size_t left_size = 0,
                        std::size_t right_size = 0) {
    if (expected != found) fail(what, expected, found, left_size, right_size);
}

// The definition, cell by cell.
template <typename Symbol>
std::int64_t reference(const std::vector<Symbol>& left, const std::vector<Symbol>& right, std::int64_t insert = 1,
                       std::int64_t remove = 1, std::int64_t substitute = 1) {
    std::vector<std::int64_t> before(right.size() + 1), now(right.size() + 1);
    for (std::size_t j = 0; j <= right.size(); ++j) now[j] = static_cast<std::int64_t>(j) * insert;
    for (std::size_t i = 1; i <= left.size(); ++i) {
        before.swap(now);
        now[0] = static_cast<std::int64_t>(i) * remove;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::int64_t changed = before[j - 1] + (left[i - 1] == right[j - 1] ? 0 : substitute);
            now[j] = std::min({changed, before[j] + remove, now[j - 1] + insert});
        }
    }
    return now[right.size()];
}

template <typename Symbol>
std::int64_t reference_lcs(const std::vector<Symbol>& left, const std::vector<Symbol>& right) {
    // Without substitutions, what is not common is removed or inserted.
    const auto sizes = static_cast<std::int64_t>(left.size() + right.size());
    return (sizes - reference(left, right, 1, 1, 2)) / 2;
}

// Levenshtein and swaps of neighbours, which are edited no further.
template <typename Symbol>
std::int64_t reference_osa(const std::vector<Symbol>& left, const std::vector<Symbol>& right) {
    std::vector<std::vector<std::int64_t>> rows(3, std::vector<std::int64_t>(right.size() + 1));
    for (std::size_t j = 0; j <= right.size(); ++j) rows[0][j] = static_cast<std::int64_t>(j);
    for (std::size_t i = 1; i <= left.size(); ++i) {
        const auto &two_above = rows[(i + 1) % 3], &above = rows[(i + 2) % 3];
        auto& now = rows[i % 3];
        now[0] = static_cast<std::int64_t>(i);
        for (std::size_t j = 1; j <= right.size(); ++j) {
            now[j] = std::min({above[j - 1] + (left[i - 1] != right[j - 1]), above[j] + 1, now[j - 1] + 1});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                now[j] = std::min(now[j], two_above[j - 2] + 1);
        }
    }
    return rows[left.size() % 3][right.size()];
}

inline std::string encode(const Codes& codes) {
    std::string text;
    for (const std::uint32_t code : codes) {
        if (code < 0x80) {
            text += static_cast<char>(code);
            continue;
        }
        const int extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        const std::uint32_t lead = extra == 1 ? 0xC0 : extra == 2 ? 0xE0 : 0xF0;
        text += static_cast<char>(lead | code >> 6 * extra);
        for (int i = extra - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
    }
    return text;
}

// Memory of exactly the wanted size. On the heap, the address sanitizer guards both ends; on pages of its own, beside one
// that may not be touched, the machine guards the end and sees masked loads and such too.
class ExactBytes {
public:
    enum class Place { heap, page_start, page_end };

    ExactBytes(const void* from, std::size_t size, Place place = Place::heap) {
        if (place == Place::heap) {
            heap_ = std::make_unique<char[]>(size);
            data_ = heap_.get();
        } else {
            pages_ = std::make_unique<GuardedPages>(size);
            data_ = place == Place::page_end ? pages_->end() - size : pages_->begin();
        }
        if (size > 0) std::memcpy(data_, from, size);
    }

    char* data() { return data_; }

private:
    std::unique_ptr<char[]> heap_;
    std::unique_ptr<GuardedPages> pages_;
    char* data_;
};

class Texts {
public:
    explicit Texts(std::uint64_t seed) : random(seed) {}

    std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random); }

    // Lengths gather around the places where one kernel gives way to another.
    std::size_t length(std::size_t most) {
        static constexpr std::size_t edges[] = {0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 192, 256, 320, 383, 384,
                                                385, 511, 512, 513, 768, 1024, 1535, 1536, 1537, 2048};
        const std::size_t kind = below(10);
        const std::size_t size = kind < 3 ? edges[below(std::size(edges))] : kind < 6 ? below(36) : kind < 9 ? below(400)
                                                                                                         : below(3000);
        return std::min(size, most);
    }

    Codes alphabet() {
        Codes codes;
        const auto add = [&](std::uint32_t first, std::uint32_t count) {
            for (std::uint32_t i = 0; i < count; ++i) codes.push_back(first + i);
        };
        switch (below(7)) {
            case 0: add('a', 2); break;
            case 1: add('a', 26), add(' ', 1); break;
            case 2: add('a', 4), add('A', 4), add('@', 1), add('[', 1); break;
            case 3: add(0, 128); break;
            case 4: add('a', 5), add(0xE0, 20), add(0x410, 40), add(0x3B1, 10); break;
            case 5: add(0x4E00, 2000); break;
            default: add('x', 2), add(0x1F600, 30), add(0x10400, 20), add(0x130, 1), add(0xFFFD, 1); break;
        }
        return codes;
    }

    Codes fresh(const Codes& alphabet, std::size_t size) {
        Codes codes(size);
        for (std::uint32_t& code : codes) code = alphabet[below(alphabet.size())];
        return codes;
    }

    Codes edited(Codes codes, const Codes& alphabet, std::size_t edits) {
        for (; edits > 0; --edits) {
            const std::size_t at = below(codes.size() + 1);
            const auto place = codes.begin() + static_cast<std::ptrdiff_t>(at);
            const std::size_t kind = below(4);
            if (kind == 0) codes.insert(place, alphabet[below(alphabet.size())]);
            else if (at + 1 < codes.size() && kind == 3) std::swap(*place, *(place + 1));
            else if (at < codes.size() && kind == 1) codes.erase(place);
            else if (at < codes.size()) *place = alphabet[below(alphabet.size())];
        }
        return codes;
    }

    // A pair of unrelated texts, of texts that are alike, or of texts that share their ends.
    std::pair<Codes, Codes> pair(std::size_t most) {
        const Codes letters = alphabet();
        Codes left = fresh(letters, length(most)), right;
        switch (below(4)) {
            case 0: right = fresh(letters, length(most)); break;
            case 1: right = fresh(below(2) ? letters : alphabet(), std::min(most, left.size() + below(9))); break;
            case 2: {
                const std::size_t edits[] = {0, 1, 2, 5, left.size() / 50, left.size() / 10, left.size() / 3};
                right = edited(left, letters, edits[below(std::size(edits))]);
                break;
            }
            default: {
                const Codes head = fresh(letters, below(80)), tail = fresh(letters, below(80));
                Codes middle = fresh(letters, length(most) / 4);
                left.insert(left.begin(), head.begin(), head.end());
                left.insert(left.end(), tail.begin(), tail.end());
                middle.insert(middle.begin(), head.begin(), head.end());
                middle.insert(middle.end(), tail.begin(), tail.end());
                right = std::move(middle);
            }
        }
        if (below(2)) left.swap(right);
        return {std::move(left), std::move(right)};
    }

    std::mt19937_64 random;
};

}  // namespace test
