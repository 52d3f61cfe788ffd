// Levenshtein distances of many texts and of sequences. No threads: a caller that has several gives each its own workspace and
// a part of the rows.
#pragma once

#include "pair.hpp"
#include "vector_kernels.hpp"
#include "workspace.hpp"

namespace pe::edit {

template <class Measure>
class EditBatch {
public:
    EditBatch(const Text* left, const Text* right, const EditOptions& options, EditResult* results,
              LevenshteinWorkspace& workspace)
        : left_(left), right_(right), options_(options), results_(results), workspace_(workspace) {
        if (workspace.bytes.size() < usual_bytes) workspace.bytes.resize(usual_bytes);
    }

    void add(std::size_t row) {
        // Where the first max_chars bytes are ASCII, they are the first max_chars characters.
        const Text left = left_[row].substr(0, options_.max_chars), right = right_[row].substr(0, options_.max_chars);
        if (use_vectors() && is_short(std::max(left.size(), right.size()))) {
            set_sizes(row, left.size(), right.size());
            add_short(row, bytes_of(left), left.size(), bytes_of(right), right.size());
        } else if (!add_ascii(row, left, right)) {
            add_unicode(row);
        }
    }

    void finish() {
        // Pairs that turn out not to be ASCII come back as numbers, which never do.
        while (short_.count + middling_.count + double_.count > 0) {
            run(short_, &vector_kernels::BlockKernels::short_pairs);
            run(middling_, &vector_kernels::BlockKernels::middling_pairs);
            run(double_, &vector_kernels::BlockKernels::double_pairs);
        }
        run_medium();
        run_shared();
    }

private:
    // How much text to hold before the lanes are filled with what there is, small enough for the cache.
    static constexpr std::size_t usual_bytes = 1 << 17;
    static constexpr std::size_t most_medium = 256, most_shared = 64, most_shared_size = 1 << 14;

    // Pairs that wait until there are enough to fill the lanes of a kernel.
    template <std::size_t most>
    struct Queue {
        std::array<vector_kernels::ShortPair, most> pairs;
        std::array<std::size_t, most> rows;
        std::size_t count = 0;
    };

    struct Medium {
        vector_kernels::BytePair pair;
        std::size_t row;
    };

    static const std::uint8_t* bytes_of(Text text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

    bool use_vectors() const { return workspace_.vectors != nullptr; }

    bool add_ascii(std::size_t row, Text left, Text right) {
        make_room(left.size(), right.size());
        const std::size_t before = bytes_used_;
        const Sequence<std::uint8_t> left_copy = hold(left.size());
        const std::size_t before_right = bytes_used_;
        const Sequence<std::uint8_t> right_copy = hold(right.size());
        const auto copy = options_.fold_case ? unicode::copy_ascii<true> : unicode::copy_ascii<false>;
        if (!copy(left, left_copy.data) || !copy(right, right_copy.data)) {
            bytes_used_ = before;
            return false;
        }
        set_sizes(row, left.size(), right.size());
        add_bytes(row, left_copy, share(right_copy, before_right), before, true);
        return true;
    }

    void add_unicode(std::size_t row) {
        // First, since it may work off rows that need the same scratch memory. A byte gives at most one code point.
        make_room(std::min(left_[row].size(), options_.max_chars), std::min(right_[row].size(), options_.max_chars));
        std::vector<std::uint32_t>&left = workspace_.left_codes, &right = workspace_.right_codes;
        workspace_.decode_pair(left_[row], right_[row], options_);
        set_sizes(row, left.size(), right.size());
        const std::size_t before = bytes_used_;
        if (use_vectors() && !is_short(std::max(left.size(), right.size())) &&
            std::all_of(right.begin(), right.end(), [](std::uint32_t code) { return code < 0x80; })) {
            // What only the output has may be any one symbol.
            const Sequence<std::uint8_t> narrow_left = hold(left.size());
            for (std::size_t i = 0; i < left.size(); ++i)
                narrow_left.data[i] = static_cast<std::uint8_t>(std::min(left[i], 0x80u));
            add_bytes(row, narrow_left, hold_expected(right.data(), right.size()), before, false);
            return;
        }
        const NumberedPair pair = number_pair(left.data(), left.size(), right.data(), right.size(), workspace_);
        if (pair.symbols > byte_symbols) {
            results_[row].distance = pair_distance<Measure>(pair.left, pair.right, pair.symbols, workspace_);
            return;
        }
        const Sequence<std::uint8_t> narrow_left = hold(pair.left.size);
        narrow(pair.left.data, pair.left.size, narrow_left.data);
        // The kernels of short pairs want ASCII and fold letters: numbers must stay below them.
        add_bytes(row, narrow_left, hold_expected(pair.right.data, pair.right.size), before, pair.symbols <= 'A');
    }

    Sequence<std::uint8_t> hold_expected(const std::uint32_t* symbols, std::size_t size) {
        const std::size_t before = bytes_used_;
        const Sequence<std::uint8_t> copy = hold(size);
        narrow(symbols, size, copy.data);
        return share(copy, before);
    }

    // The expected text, which is often that of the row before: kernels compare several texts with one faster.
    Sequence<std::uint8_t> share(Sequence<std::uint8_t> expected, std::size_t before) {
        if (expected_.data != nullptr && expected.size == expected_.size &&
            std::memcmp(expected.data, expected_.data, expected.size) == 0) {
            bytes_used_ = before;
            return expected_;
        }
        run_shared();
        return expected_ = expected;
    }

    // `before` is what was held before the pair's own bytes: those need not be kept once the distance is known.
    void add_bytes(std::size_t row, Sequence<std::uint8_t> left, Sequence<std::uint8_t> right, std::size_t before,
                   bool may_be_short) {
        const Sequence<std::uint8_t> output = left, expected = right;
        strip_affixes(left, right);
        const auto prefix = static_cast<std::size_t>(left.data - output.data);
        if (left.size < right.size) std::swap(left, right);
        const bool is_exact = !use_vectors() || right.size == 0;
        if (is_exact || is_long(right.size)) {
            std::uint32_t& distance = results_[row].distance;
            bool is_done = is_exact || left.size > most_shared_size || Measure::kernels(*workspace_.vectors).shared == nullptr;
            if (is_done) distance = pair_distance<Measure>(left, right, byte_symbols, workspace_);
            else is_done = try_bands<Measure>(left, right, unused_byte, workspace_, distance);
            // Bands write before the longer text, which may be that of other rows.
            std::copy_n(right.data - prefix, prefix, left.data - prefix);
            if (is_done) {
                bytes_used_ = before;
                if (expected_.data >= output.data) expected_ = {};
                return;
            }
            shared_[shared_count_] = {{output.data, expected.data, output.size, expected.size}, row};
            if (++shared_count_ == most_shared) run_shared();
        } else if (may_be_short && is_short(left.size)) {
            add_short(row, left.data, left.size, right.data, right.size);
        } else {
            if (is_long(left.size) || block_count(right.size) * left.size <= block_count(left.size) * right.size)
                std::swap(left, right);
            medium_[medium_count_] = {{left.data, right.data, left.size, right.size}, row};
            if (++medium_count_ == most_medium) run_medium();
        }
    }

    bool is_short(std::size_t size) const {
        if (size <= vector_kernels::middling_size) return true;
        return size <= vector_kernels::double_size && Measure::kernels(*workspace_.vectors).double_pairs != nullptr;
    }

    static bool is_long(std::size_t size) { return block_count(size) > vector_kernels::most_lane_blocks; }

    void add_short(std::size_t row, const std::uint8_t* left, std::size_t left_size, const std::uint8_t* right,
                   std::size_t right_size) {
        using vector_kernels::BlockKernels;
        const auto add_to = [&](auto& queue, BlockKernels::Short* BlockKernels::* kernel) {
            queue.rows[queue.count] = row;
            queue.pairs[queue.count] = {left, right, static_cast<std::uint32_t>(left_size),
                                        static_cast<std::uint32_t>(right_size)};
            if (++queue.count == queue.rows.size()) run(queue, kernel);
        };
        const std::size_t size = std::max(left_size, right_size);
        if (size <= vector_kernels::short_size) add_to(short_, &BlockKernels::short_pairs);
        else if (size <= vector_kernels::middling_size) add_to(middling_, &BlockKernels::middling_pairs);
        else add_to(double_, &BlockKernels::double_pairs);
    }

    template <std::size_t most>
    void run(Queue<most>& queue, vector_kernels::BlockKernels::Short* vector_kernels::BlockKernels::* of_measure) {
        if (queue.count == 0) return;
        const auto kernel = Measure::kernels(*workspace_.vectors).*of_measure;
        std::array<std::uint32_t, most> values;
        const Queue<most> taken = queue;
        queue.count = 0;
        const std::uint32_t not_ascii = kernel(taken.pairs.data(), taken.count, options_.fold_case, values.data());
        for (std::size_t i = 0; i < taken.count; ++i)
            results_[taken.rows[i]].distance =
                Measure::distance(values[i], taken.pairs[i].left_size, taken.pairs[i].right_size);
        if (not_ascii == 0) return;
        for (std::size_t i = 0; i < taken.count; ++i)
            if (not_ascii >> i & 1) add_unicode(taken.rows[i]);
    }

    // Pairs of as many blocks and of texts of like length share a vector.
    void run_medium() {
        using vector_kernels::pairs_at_once;
        static_assert(most_medium <= 256);
        std::array<std::uint64_t, most_medium> order;  // block count, text size, place
        for (std::size_t i = 0; i < medium_count_; ++i) {
            const vector_kernels::BytePair& pair = medium_[i].pair;
            order[i] = std::uint64_t{block_count(pair.pattern_size)} << 56 | std::uint64_t{pair.text_size} << 8 | i;
        }
        std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(medium_count_));
        for (std::size_t first = 0; first < medium_count_; first += pairs_at_once) {
            std::array<const Medium*, pairs_at_once> group;
            for (std::size_t i = 0; i < pairs_at_once; ++i)
                group[i] = &medium_[order[std::min(first + i, medium_count_ - 1)] & 0xFF];
            std::sort(group.begin(), group.end(),
                      [](const Medium* a, const Medium* b) { return a->pair.text_size < b->pair.text_size; });
            vector_kernels::BytePair pairs[pairs_at_once];
            for (std::size_t i = 0; i < pairs_at_once; ++i) pairs[i] = group[i]->pair;
            std::uint32_t values[pairs_at_once];
            const std::size_t columns = pairs[pairs_at_once - 1].text_size;
            Measure::kernels(*workspace_.vectors)
                .pairs(pairs, unused_byte, workspace_.blocks_for(byte_symbols, columns), values);
            for (std::size_t i = 0; i < pairs_at_once; ++i)
                results_[group[i]->row].distance = Measure::distance(values[i], pairs[i].pattern_size, pairs[i].text_size);
        }
        medium_count_ = 0;
    }

    // Longest output first: shorter ones fill the lanes that are done. Where lanes would wait for the longest ones, those go
    // alone.
    void run_shared() {
        const auto by_size = [](const Medium& a, const Medium& b) { return a.pair.pattern_size > b.pair.pattern_size; };
        std::sort(shared_.begin(), shared_.begin() + static_cast<std::ptrdiff_t>(shared_count_), by_size);
        vector_kernels::BytePair pairs[most_shared];
        std::uint32_t values[most_shared];
        for (std::size_t i = 0; i < shared_count_; ++i) pairs[i] = shared_[i].pair;
        std::size_t alone = 0;
        while (alone < shared_count_ && !fills_lanes(pairs + alone, shared_count_ - alone)) ++alone;
        for (std::size_t i = 0; i < alone; ++i) {
            Sequence<std::uint8_t> left{pairs[i].pattern, pairs[i].pattern_size}, right{pairs[i].text, pairs[i].text_size};
            values[i] = whole_pair_distance<Measure>(left, right, byte_symbols, workspace_);
        }
        if (alone < shared_count_)
            Measure::kernels(*workspace_.vectors)
                .shared(pairs + alone, shared_count_ - alone, unused_byte,
                        workspace_.blocks_for(byte_symbols, pairs[0].text_size), values + alone);
        for (std::size_t i = 0; i < shared_count_; ++i)
            results_[shared_[i].row].distance =
                i < alone ? values[i] : Measure::distance(values[i], pairs[i].pattern_size, pairs[i].text_size);
        shared_count_ = 0;
    }

    static bool fills_lanes(const vector_kernels::BytePair* pairs, std::size_t count) {
        std::array<std::size_t, vector_kernels::pairs_at_once> lanes{};
        std::size_t all = 0;
        for (std::size_t i = 0; i < count; ++i) {
            *std::min_element(lanes.begin(), lanes.end()) += pairs[i].pattern_size;
            all += pairs[i].pattern_size;
        }
        return all * 4 >= *std::max_element(lanes.begin(), lanes.end()) * lanes.size() * 3;
    }

    void set_sizes(std::size_t row, std::size_t left, std::size_t right) {
        results_[row] = {0, static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)};
    }

    void make_room(std::size_t left_size, std::size_t right_size) {
        const std::size_t wanted = left_size + right_size + 4 * vector_kernels::margin;
        if (workspace_.bytes.size() - bytes_used_ >= wanted) return;
        finish();
        bytes_used_ = 0;
        expected_ = {};
        if (workspace_.bytes.size() < wanted) workspace_.bytes.resize(wanted);
    }

    Sequence<std::uint8_t> hold(std::size_t size) {
        std::uint8_t* data = workspace_.bytes.data() + bytes_used_ + vector_kernels::margin;
        bytes_used_ += size + 2 * vector_kernels::margin;
        return {data, size};
    }

    static void narrow(const std::uint32_t* from, std::size_t size, std::uint8_t* to) {
        for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(from[i]);
    }

    const Text* left_;
    const Text* right_;
    const EditOptions& options_;
    EditResult* results_;
    LevenshteinWorkspace& workspace_;
    std::size_t bytes_used_ = 0;
    Queue<vector_kernels::short_pairs> short_;
    Queue<vector_kernels::middling_pairs> middling_;
    Queue<vector_kernels::double_pairs> double_;
    std::array<Medium, most_medium> medium_;
    std::size_t medium_count_ = 0;
    Sequence<std::uint8_t> expected_{};       // of the last row that is held
    std::array<Medium, most_shared> shared_;  // long pairs with that expected text
    std::size_t shared_count_ = 0;
};

// The distance over code points of left[i] and right[i] for each i < count, both lowercased first if options.fold_case and
// then cut to their first options.max_chars code points.
template <class Measure>
void measure_many(const Text* left, const Text* right, std::size_t count, const EditOptions& options, EditResult* results,
                  LevenshteinWorkspace& workspace) {
    // Texts of a column that was filtered, sorted or sliced are anywhere in memory.
    constexpr std::size_t ahead = 32;
    EditBatch<Measure> batch(left, right, options, results, workspace);
    for (std::size_t row = 0; row < count; ++row) {
        if (row + ahead < count) {
            prefetch(left[row + ahead].data());
            prefetch(right[row + ahead].data());
        }
        batch.add(row);
    }
    batch.finish();
}

inline void levenshtein_many(const Text* left, const Text* right, std::size_t count, const EditOptions& options,
                             EditResult* results, LevenshteinWorkspace& workspace) {
    measure_many<LevenshteinMeasure>(left, right, count, options, results, workspace);
}

// The distance of two sequences of any symbols.
inline std::uint32_t levenshtein_sequence(const std::uint32_t* left, std::size_t left_size, const std::uint32_t* right,
                                          std::size_t right_size, LevenshteinWorkspace& workspace) {
    const NumberedPair pair = number_pair(left, left_size, right, right_size, workspace);
    return pair_distance(pair.left, pair.right, pair.symbols, workspace);
}

}  // namespace pe::edit
