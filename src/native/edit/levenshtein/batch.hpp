// Sorts the pairs of many rows by the kernel that suits them, and fills the lanes of that kernel with them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "../../core/text.hpp"
#include "../../unicode/decode.hpp"
#include "ascii.hpp"
#include "measures.hpp"
#include "options.hpp"
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
    }

private:
    // How much text to hold before the lanes are filled with what there is, small enough for the cache.
    static constexpr std::size_t usual_bytes = 1 << 19;
    static constexpr std::size_t most_medium = 256, most_medium_size = 1 << 14;

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
        const auto copy = options_.fold_case ? copy_ascii<true> : copy_ascii<false>;
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
            for (std::size_t i = 0; i < left.size(); ++i) narrow_left.data[i] = static_cast<std::uint8_t>(std::min(left[i], 0x80u));
            add_bytes(row, narrow_left, hold_expected(right.data(), right.size()), before, false);
            return;
        }
        const NumberedPair pair = number_pair(left.data(), left.size(), right.data(), right.size(), workspace_);
        if (pair.symbols > byte_symbols) {
            results_[row].distance = pair_distance<Measure>(pair.left, pair.right, pair.symbols, workspace_);
            return;
        }
        const Sequence<std::uint8_t> narrow_left = hold(pair.left.size);
        std::copy_n(pair.left.data, pair.left.size, narrow_left.data);
        // The kernels of short pairs want ASCII and fold letters: numbers must stay below them.
        add_bytes(row, narrow_left, hold_expected(pair.right.data, pair.right.size), before, pair.symbols <= 'A');
    }

    template <typename Symbol>
    Sequence<std::uint8_t> hold_expected(const Symbol* symbols, std::size_t size) {
        const std::size_t before = bytes_used_;
        const Sequence<std::uint8_t> copy = hold(size);
        std::copy_n(symbols, size, copy.data);
        return share(copy, before);
    }

    // The expected text of the row before is often the same: kernels compare several texts with one faster.
    Sequence<std::uint8_t> share(Sequence<std::uint8_t> expected, std::size_t before) {
        if (expected_.data != nullptr && expected.size == expected_.size &&
            std::equal(expected.data, expected.data + expected.size, expected_.data)) {
            bytes_used_ = before;
            return expected_;
        }
        return expected_ = expected;
    }

    // `before` is what was held before the pair's own bytes: those need not be kept once the distance is known.
    void add_bytes(std::size_t row, Sequence<std::uint8_t> left, Sequence<std::uint8_t> right, std::size_t before,
                   bool may_be_short) {
        const Sequence<std::uint8_t> output = left, expected = right;
        strip_affixes(left, right);
        const auto prefix = static_cast<std::size_t>(left.data - output.data);
        if (left.size < right.size) std::swap(left, right);
        if (use_vectors() && may_be_short && right.size > 0 && is_short(left.size)) {
            add_short(row, left.data, left.size, right.data, right.size);
            return;
        }
        std::uint32_t& distance = results_[row].distance;
        const bool is_medium = use_vectors() && right.size > 0 && left.size <= most_medium_size;
        const bool is_done = !is_medium || try_bands<Measure>(left, right, unused_byte, workspace_, distance);
        if (!is_medium) distance = pair_distance<Measure>(left, right, byte_symbols, workspace_);
        // Bands write before the texts.
        std::memcpy(left.data - prefix, right.data - prefix, prefix);
        if (is_done) {
            bytes_used_ = before;
            if (expected_.data >= output.data) expected_ = {};
        } else {
            // Whole texts if the rest is not much shorter, since other rows may have the same expected one.
            if (right.size >= std::min(output.size, expected.size) / 16 * 15) left = output, right = expected;
            medium_[medium_count_] = {{left.data, right.data, left.size, right.size}, row};
            if (++medium_count_ == most_medium) run_medium();
        }
    }

    bool is_short(std::size_t size) const {
        if (size <= vector_kernels::middling_size) return true;
        return size <= vector_kernels::double_size && Measure::kernels(*workspace_.vectors).double_pairs != nullptr;
    }

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
            results_[taken.rows[i]].distance = Measure::distance(values[i], taken.pairs[i].left_size, taken.pairs[i].right_size);
        if (not_ascii == 0) return;
        for (std::size_t i = 0; i < taken.count; ++i)
            if (not_ascii >> i & 1) add_unicode(taken.rows[i]);
    }

    // Pairs with the same text follow one another, so that lanes share it.
    void run_medium() {
        if (medium_count_ == 0) return;
        std::sort(medium_.begin(), medium_.begin() + static_cast<std::ptrdiff_t>(medium_count_), [](const Medium& a, const Medium& b) {
            return std::tuple(b.pair.text_size, b.pair.text, b.pair.pattern_size) <
                   std::tuple(a.pair.text_size, a.pair.text, a.pair.pattern_size);
        });
        vector_kernels::BytePair pairs[most_medium];
        std::uint32_t values[most_medium];
        for (std::size_t i = 0; i < medium_count_; ++i) pairs[i] = medium_[i].pair;
        const vector_kernels::BlockScratch scratch = workspace_.blocks_for(byte_symbols, pairs[0].text_size);
        // A few pairs would leave lanes idle.
        constexpr std::size_t at_once = vector_kernels::pairs_at_once;
        const std::size_t in_lanes = medium_count_ < 2 * at_once ? medium_count_ / at_once * at_once : medium_count_;
        const vector_kernels::BlockKernels& kernels = Measure::kernels(*workspace_.vectors);
        if (in_lanes > 0) kernels.pairs(pairs, in_lanes, unused_byte, scratch, values);
        for (std::size_t i = in_lanes; i < medium_count_; ++i)
            values[i] = kernels.long_bytes({pairs[i].pattern, pairs[i].pattern_size}, {pairs[i].text, pairs[i].text_size}, unused_byte, scratch);
        for (std::size_t i = 0; i < medium_count_; ++i)
            results_[medium_[i].row].distance = Measure::distance(values[i], pairs[i].pattern_size, pairs[i].text_size);
        medium_count_ = 0;
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

    const Text* left_;
    const Text* right_;
    const EditOptions& options_;
    EditResult* results_;
    LevenshteinWorkspace& workspace_;
    std::size_t bytes_used_ = 0;
    Sequence<std::uint8_t> expected_{};  // the last one that is held
    Queue<vector_kernels::short_pairs> short_;
    Queue<vector_kernels::middling_pairs> middling_;
    Queue<vector_kernels::double_pairs> double_;
    std::array<Medium, most_medium> medium_;
    std::size_t medium_count_ = 0;
};

}  // namespace pe::edit
