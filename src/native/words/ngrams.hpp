// How many n-grams two texts share, for n = 1, 2, …, as multisets.
//
// A longer n-gram is a shorter one and the token behind it, and that pair gets a number. Only the n-grams of expected are
// numbered, once for all outputs that are compared with it; those of an output drop out where expected does not have them.
#pragma once

#include "vocabulary.hpp"

namespace pe::words {

// Which tokens follow which n-grams in a text of few different tokens: where longer n-grams are looked up.
//
// Each n-gram has a bit for every token that follows it. Longer n-grams are numbered in the order of these bits, so the
// number of one is that of the first and the bits below its own: no hash, no search and no branch.

// An n-gram of an output: where it begins, and its number.
struct Ngram {
    std::uint32_t begin, number;
};
using Ngrams = std::vector<Ngram, Unset<Ngram>>;

class Followers {
public:
    // Tokens are below this.
    static constexpr std::size_t most_tokens = 256;
    using Tokens = std::vector<std::uint8_t, Unset<std::uint8_t>>;

    // Takes n-grams of a text, whose numbers are below `ngrams_different`, and makes them one token longer: their numbers
    // become those of the longer ones. The first of them ends before `tokens[next]`, each other one a token later. Returns how
    // many different ones there are.
    std::uint32_t set(std::size_t tokens_different, std::size_t ngrams_different, const Tokens& tokens, std::size_t next,
                      Numbers& ngrams) {
        words_ = (tokens_different + 63) / 64;
        table_.assign(ngrams_different * words_, Word{});
#if defined(PE_VECTORS_X86)
        if (has_bit_instructions()) return set_fast(tokens.data() + next, ngrams);
#endif
        return set_any(tokens.data() + next, ngrams);
    }

    // Makes n-grams of n - 1 tokens of an output one token longer, and keeps those that the text has.
    void extend(const Tokens& output, std::size_t n, Ngrams& ngrams) const {
        while (!ngrams.empty() && ngrams.back().begin + n > output.size()) ngrams.pop_back();
        if (ngrams.empty()) return;
#if defined(PE_VECTORS_X86)
        if (has_bit_instructions()) return extend_fast(output.data() + n - 1, ngrams);
#endif
        extend_any(output.data() + n - 1, ngrams);
    }

private:
    // Of 64 tokens in a row, those that follow an n-gram, and the number of the longer n-gram that the lowest of them makes.
    struct Word {
        std::uint64_t tokens = 0;
        std::uint32_t first = 0;

        bool has(unsigned token) const { return tokens >> (token % 64) & 1; }
        PE_ALWAYS_INLINE std::uint32_t number(unsigned token) const {
            return first + popcount(tokens & ((std::uint64_t{1} << (token % 64)) - 1));
        }
    };

    PE_ALWAYS_INLINE std::uint32_t set_any(const std::uint8_t* last, Numbers& ngrams) {
        const std::size_t words = words_;
        Word* const table = table_.data();
        for (std::size_t i = 0; i < ngrams.size(); ++i)
            table[ngrams[i] * words + last[i] / 64].tokens |= std::uint64_t{1} << (last[i] % 64);
        std::uint32_t different = 0;
        for (Word& word : table_) {
            word.first = different;
            different += popcount(word.tokens);
        }
        for (std::size_t i = 0; i < ngrams.size(); ++i) ngrams[i] = table[ngrams[i] * words + last[i] / 64].number(last[i]);
        return different;
    }
    PE_ALWAYS_INLINE void extend_any(const std::uint8_t* last, Ngrams& ngrams) const {
        const std::size_t words = words_, size = ngrams.size();
        const Word* const table = table_.data();
        Ngram* const all = ngrams.data();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const Ngram ngram = all[i];
            const unsigned token = last[ngram.begin];
            const Word& word = table[ngram.number * words + token / 64];
            all[kept] = {ngram.begin, word.number(token)};
            kept += word.has(token);
        }
        ngrams.resize(kept);
    }

#if defined(PE_VECTORS_X86)
    // The same for machines that count and mask bits in one instruction: nearly all, but not all that a package is for.
    PE_BIT_INSTRUCTIONS std::uint32_t set_fast(const std::uint8_t* last, Numbers& ngrams) { return set_any(last, ngrams); }
    PE_BIT_INSTRUCTIONS void extend_fast(const std::uint8_t* last, Ngrams& ngrams) const { extend_any(last, ngrams); }
#endif

    std::vector<Word> table_;  // by n-gram, and 64 tokens by 64
    std::size_t words_ = 0;    // of one n-gram
};

class SharedNgrams {
public:
    // The tokens are below `distinct`. They must stay where they are.
    void set_expected(const Numbers& tokens, std::size_t distinct) {
        tokens_ = &tokens;
        ngrams_ = tokens;
        levels_used_ = 0;
        distinct_ = distinct;
        if (has_few_tokens()) shorten(tokens, expected_bytes_);
        if (versions_ > most_versions) {  // before old slots would look new
            levels_.clear();
            versions_ = 0;
        }
        next_level().set_counts(tokens, distinct);
    }
    // `shared[n - 1]` becomes the size of the multiset intersection of the n-grams. Tokens that expected does not have
    // are `no_number`.
    void count(const Numbers& output, std::vector<std::size_t>& shared) {
        if (has_few_tokens()) shorten(output, output_bytes_);
        alive_.resize(output.size());
        std::size_t alive = 0;
        for (std::size_t i = 0; i < output.size(); ++i) {
            alive_[alive] = {static_cast<std::uint32_t>(i), output[i]};
            alive += output[i] != no_number;
        }
        alive_.resize(alive);
        for (std::size_t n = 1; n <= shared.size(); ++n) {
            if (n > 1 && !alive_.empty()) extend(output, n);
            shared[n - 1] = alive_.empty() ? 0 : levels_[n - 1].count(alive_);
        }
    }

private:
    static constexpr std::uint32_t most_versions = 0xFFFF0000;

    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t name = 0, version = 0;  // the slot is free unless this is the level's
    };
    // The n-grams of one length: how many there are of each, and how to find them.
    struct Level {
        Followers followers;      // where there are few different tokens
        std::vector<Slot> slots;  // where there are many
        std::uint32_t version = 0;
        std::vector<std::uint32_t> counts, left;  // these are equal but while an output is counted
        std::vector<std::uint32_t> found;

        // Where the n-gram is, or belongs.
        std::size_t find(std::uint64_t wanted) const {
            std::uint64_t hash = wanted * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 32;
            std::size_t at = hash & (slots.size() - 1);
            while (slots[at].version == version && slots[at].key != wanted) at = (at + 1) & (slots.size() - 1);
            return at;
        }
        // The size of the multiset intersection with n-grams of an output that expected has.
        std::size_t count(const Ngrams& ngrams) {
            return 2 * ngrams.size() > counts.size() ? count_many(ngrams) : count_few(ngrams);
        }
        std::size_t count_many(const Ngrams& ngrams) {
            found.assign(counts.size(), 0);
            for (const Ngram& ngram : ngrams) ++found[ngram.number];
            std::uint32_t shared = 0;
            for (std::size_t i = 0; i < counts.size(); ++i) shared += std::min(counts[i], found[i]);
            return shared;
        }
        // Touches those that the output has alone.
        std::size_t count_few(const Ngrams& ngrams) {
            std::size_t shared = 0;
            for (const Ngram& ngram : ngrams) {
                const std::uint32_t taken = left[ngram.number] != 0;
                left[ngram.number] -= taken;
                shared += taken;
            }
            for (const Ngram& ngram : ngrams) left[ngram.number] = counts[ngram.number];
            return shared;
        }
        void set_counts(const Numbers& ngrams, std::size_t different) {
            counts.assign(different, 0);
            for (const std::uint32_t ngram : ngrams) ++counts[ngram];
            left = counts;
        }
    };

    // One number is left for the tokens that expected does not have.
    bool has_few_tokens() const { return distinct_ < Followers::most_tokens; }
    void shorten(const Numbers& tokens, Followers::Tokens& bytes) const {
        const auto unknown = static_cast<std::uint32_t>(distinct_);
        bytes.resize(tokens.size());
        for (std::size_t i = 0; i < tokens.size(); ++i) bytes[i] = static_cast<std::uint8_t>(std::min(tokens[i], unknown));
    }

    Level& next_level() {
        if (levels_used_ == levels_.size()) levels_.emplace_back();
        return levels_[levels_used_++];
    }
    // From the n-grams of output that expected has to those that are one token longer.
    void extend(const Numbers& output, std::size_t n) {
        if (n > levels_used_) number_expected(n);
        const Level& level = levels_[n - 1];
        if (has_few_tokens()) return level.followers.extend(output_bytes_, n, alive_);
        std::size_t alive = 0;
        for (const Ngram& ngram : alive_) {
            const std::size_t last = ngram.begin + n - 1;
            if (last >= output.size() || output[last] == no_number) continue;
            const Slot& slot = level.slots[level.find(key(ngram.number, output[last]))];
            alive_[alive] = {ngram.begin, slot.name};
            alive += slot.version == level.version;
        }
        alive_.resize(alive);
    }
    // Levels are made when an output gets that far.
    void number_expected(std::size_t n) {
        Level& level = next_level();
        if (!ngrams_.empty()) ngrams_.pop_back();
        if (has_few_tokens()) {
            const std::size_t shorter = levels_[n - 2].counts.size();
            const std::uint32_t different = level.followers.set(distinct_ + 1, shorter, expected_bytes_, n - 1, ngrams_);
            return level.set_counts(ngrams_, different);
        }
        std::size_t size = 16;
        while (size < 2 * ngrams_.size()) size *= 2;
        if (level.slots.size() != size) level.slots.assign(size, Slot{});
        level.version = ++versions_;
        std::uint32_t different = 0;
        for (std::size_t i = 0; i < ngrams_.size(); ++i) {
            const std::uint64_t ngram = key(ngrams_[i], (*tokens_)[i + n - 1]);
            Slot& slot = level.slots[level.find(ngram)];
            if (slot.version != level.version) slot = {ngram, different++, level.version};
            ngrams_[i] = slot.name;
        }
        level.set_counts(ngrams_, different);
    }
    static std::uint64_t key(std::uint32_t ngram, std::uint32_t token) {
        return static_cast<std::uint64_t>(ngram) << 32 | token;
    }

    const Numbers* tokens_ = nullptr;
    std::size_t distinct_ = 0;
    Numbers ngrams_;  // of expected, at the longest level so far
    Followers::Tokens expected_bytes_, output_bytes_;
    std::vector<Level> levels_;
    std::size_t levels_used_ = 0;
    std::uint32_t versions_ = 0;
    Ngrams alive_;
};

}  // namespace pe::words
