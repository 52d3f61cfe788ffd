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
        run_long();
    }

private:
    // How much text to hold before the lanes are filled with what there is, small enough for the cache.
    static constexpr std::size_t usual_bytes = 1 << 17;
    static constexpr std::size_t most_medium = 256, most_long = 64, most_long_size = 1 << 14;

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
        const Sequence<std::uint8_t> right_copy = hold(right.size());
        const auto copy = options_.fold_case ? unicode::copy_ascii<true> : unicode::copy_ascii<false>;
        if (!copy(left, left_copy.data) || !copy(right, right_copy.data)) {
            bytes_used_ = before;
            return false;
        }
        set_sizes(row, left.size(), right.size());
        add_bytes(row, left_copy, right_copy, before, true);
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
            for (std::uint32_t& code : left) code = std::min(code, 0x80u);
            const Sequence<std::uint8_t> narrow_left = hold_narrow(left.data(), left.size());
            add_bytes(row, narrow_left, hold_narrow(right.data(), right.size()), before, false);
            return;
        }
        const NumberedPair pair = number_pair(left.data(), left.size(), right.data(), right.size(), workspace_);
        if (pair.symbols > byte_symbols) {
            results_[row].distance = pair_distance<Measure>(pair.left, pair.right, pair.symbols, workspace_);
            return;
        }
        const Sequence<std::uint8_t> narrow_left = hold_narrow(pair.left.data, pair.left.size);
        // The kernels of short pairs want ASCII and fold letters: numbers must stay below them.
        add_bytes(row, narrow_left, hold_narrow(pair.right.data, pair.right.size), before, pair.symbols <= 'A');
    }

    // `before` is what was held before the pair's own bytes: those need not be kept once the distance is known.
    void add_bytes(std::size_t row, Sequence<std::uint8_t> left, Sequence<std::uint8_t> right, std::size_t before,
                   bool may_be_short) {
        strip_affixes(left, right);
        if (left.size < right.size) std::swap(left, right);
        const bool is_exact = !use_vectors() || right.size == 0;
        if (is_exact || is_long(right.size)) {
            std::uint32_t& distance = results_[row].distance;
            bool is_done =
                is_exact || left.size > most_long_size || Measure::kernels(*workspace_.vectors).superblocks == nullptr;
            if (is_done) distance = pair_distance<Measure>(left, right, byte_symbols, workspace_);
            else is_done = try_bands<Measure>(left, right, unused_byte, workspace_, distance);
            if (is_done) {
                bytes_used_ = before;
                return;
            }
            // The side with less to pad gives the rows.
            if (superblock_cost(right.size, left.size) < superblock_cost(left.size, right.size)) std::swap(left, right);
            long_[long_count_] = {{left.data, right.data, left.size, right.size}, row};
            if (++long_count_ == most_long) run_long();
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

    static std::size_t superblock_cost(std::size_t rows, std::size_t columns) { return (rows + 511) / 512 * columns; }

    // Longest first: shorter ones fill the turns that are done.
    void run_long() {
        const auto cost = [](const Medium& a) { return superblock_cost(a.pair.pattern_size, a.pair.text_size); };
        std::sort(long_.begin(), long_.begin() + static_cast<std::ptrdiff_t>(long_count_),
                  [&](const Medium& a, const Medium& b) { return cost(a) > cost(b); });
        std::array<vector_kernels::BytePair, most_long> pairs;
        std::array<std::uint32_t, most_long> values{};
        std::size_t columns = 0;
        for (std::size_t i = 0; i < long_count_; ++i) {
            pairs[i] = long_[i].pair;
            columns = std::max(columns, pairs[i].text_size);
        }
        if (long_count_ > 1)
            Measure::kernels(*workspace_.vectors)
                .superblocks(pairs.data(), long_count_, workspace_.superblocks_for(columns), values.data());
        for (std::size_t i = 0; i < long_count_; ++i) {
            const vector_kernels::BytePair& pair = pairs[i];
            Sequence<std::uint8_t> left{pair.pattern, pair.pattern_size}, right{pair.text, pair.text_size};
            results_[long_[i].row].distance = long_count_ > 1
                                                  ? Measure::distance(values[i], left.size, right.size)
                                                  : whole_pair_distance<Measure>(left, right, byte_symbols, workspace_);
        }
        long_count_ = 0;
    }

    void set_sizes(std::size_t row, std::size_t left, std::size_t right) {
        results_[row] = {0, static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)};
    }

    void make_room(std::size_t left_size, std::size_t right_size) {
        const std::size_t wanted = left_size + right_size + 4 * vector_kernels::margin;
        if (workspace_.bytes.size() - bytes_used_ >= wanted) return;
        finish();
        bytes_used_ = 0;
        if (workspace_.bytes.size() < wanted) workspace_.bytes.resize(wanted);
    }

    Sequence<std::uint8_t> hold(std::size_t size) {
        std::uint8_t* data = workspace_.bytes.data() + bytes_used_ + vector_kernels::margin;
        bytes_used_ += size + 2 * vector_kernels::margin;
        return {data, size};
    }

    Sequence<std::uint8_t> hold_narrow(const std::uint32_t* symbols, std::size_t size) {
        const Sequence<std::uint8_t> copy = hold(size);
        for (std::size_t i = 0; i < size; ++i) copy.data[i] = static_cast<std::uint8_t>(symbols[i]);
        return copy;
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
    std::array<Medium, most_long> long_;
    std::size_t long_count_ = 0;
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
