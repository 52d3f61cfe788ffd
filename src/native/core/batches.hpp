// Two columns of texts, cut into pieces that the threads of the pool take one after the other, and what a kernel makes of them:
// a score for each pair, and columns of numbers beside it.
#pragma once

#include <exception>
#include <mutex>

#include "columns.hpp"
#include "hashing.hpp"
#include "pool.hpp"

namespace pe {

class Result {
public:
    // Numbers in eight bytes each. Flags are 0 and 1; choices are places in a list of texts.
    enum class Kind { real, whole, flag, choice };
    static constexpr std::int64_t no_whole = std::numeric_limits<std::int64_t>::min();  // a null; of reals it is NaN

    struct Column {
        std::string name;
        Kind kind;
        std::unique_ptr<std::uint64_t[]> values;
        const std::vector<std::string>* choices = nullptr;

        double* reals() const { return reinterpret_cast<double*>(values.get()); }
        std::int64_t* wholes() const { return reinterpret_cast<std::int64_t*>(values.get()); }
        bool is_null(std::size_t row) const {
            return kind == Kind::real ? reals()[row] != reals()[row] : wholes()[row] == no_whole;
        }
    };

    explicit Result(std::size_t rows) : rows_(rows), valid_(rows, 1) {}
    Result(Result&&) = default;
    Result(const Result&) = delete;

    // Adds a column; the pointer stays good while the result lives.
    double* add_floats(const char* name) { return add(name, Kind::real).reals(); }
    std::int64_t* add_integers(const char* name, Kind kind = Kind::whole) { return add(name, kind).wholes(); }
    // The texts must live longer than the result.
    std::int64_t* add_choices(const char* name, const std::vector<std::string>& choices) {
        Column& column = add(name, Kind::choice);
        column.choices = &choices;
        return column.wholes();
    }
    // As `other` has it, for other rows.
    Column& add_like(const Column& other) {
        Column& column = add(other.name.c_str(), other.kind);
        column.choices = other.choices;
        return column;
    }

    // No score for this row, nor anything beside it. Validity is kept in bytes, not bits, because threads write neighbouring
    // rows at once.
    void set_null(std::size_t row) {
        valid_[row] = 0;
        for (Column& column : columns_) {
            if (column.kind == Kind::real) column.reals()[row] = std::numeric_limits<double>::quiet_NaN();
            else column.wholes()[row] = no_whole;
        }
    }
    // No score, but what is beside it stays.
    void set_no_score(std::size_t row) { valid_[row] = 0; }
    void set_score(std::size_t row) { valid_[row] = 1; }

    std::size_t size() const { return rows_; }
    bool is_valid(std::size_t row) const { return valid_[row] != 0; }
    bool has_nulls() const { return rows_ > 0 && std::memchr(valid_.data(), 0, rows_) != nullptr; }
    const std::vector<std::uint8_t>& valid() const { return valid_; }
    std::vector<Column>& columns() { return columns_; }
    const Column* find(const char* name) const {
        for (const Column& column : columns_)
            if (column.name == name) return &column;
        return nullptr;
    }
    Column* find(const char* name) { return const_cast<Column*>(std::as_const(*this).find(name)); }

private:
    Column& add(const char* name, Kind kind) {
        // Not zeroed: every row is written, and touching a large column twice would cost a pass.
        columns_.push_back({name, kind, std::unique_ptr<std::uint64_t[]>(new std::uint64_t[rows_ ? rows_ : 1]), nullptr});
        return columns_.back();
    }

    std::size_t rows_;
    std::vector<std::uint8_t> valid_;
    std::vector<Column> columns_;
};

// Workspaces that are kept from call to call, because what they have learnt is worth something to the next one.

// There are never more than threads that used one at the same time. A forked child starts without any: one of them may
// have been in use by a thread that the child does not have.
template <class Workspace>
class Kept {
public:
    Kept() : workspace_(take()), exceptions_(std::uncaught_exceptions()) {}
    Kept(const Kept&) = delete;
    ~Kept() {
        // After an error nobody knows what state it is in.
        if (!is_worth_keeping_ || std::uncaught_exceptions() > exceptions_) return;
        std::lock_guard<std::mutex> lock(store()->mutex);
        store()->idle.push_back(std::move(workspace_));
    }
    // To be called where it has grown so much that the memory is worth more.
    void discard() { is_worth_keeping_ = false; }
    Workspace& operator*() { return *workspace_; }
    Workspace* operator->() { return workspace_.get(); }

private:
    struct Store {
        std::mutex mutex;
        std::vector<std::unique_ptr<Workspace>> idle;
    };
    static Store*& store() {
        static Store* store = [] {
            call_in_forked_child([] { Kept::store() = new Store; });
            return new Store;
        }();
        return store;
    }
    static std::unique_ptr<Workspace> take() {
        {
            std::lock_guard<std::mutex> lock(store()->mutex);
            std::vector<std::unique_ptr<Workspace>>& idle = store()->idle;
            if (!idle.empty()) {
                std::unique_ptr<Workspace> workspace = std::move(idle.back());
                idle.pop_back();
                return workspace;
            }
        }
        return std::make_unique<Workspace>();
    }

    std::unique_ptr<Workspace> workspace_;
    const int exceptions_;
    bool is_worth_keeping_ = true;
};

template <class Workspace>
inline constexpr bool is_kept = false;
template <class Workspace>
inline constexpr bool is_kept<Kept<Workspace>> = true;

// A pair of texts so long that a workspace that held it is not kept.
constexpr std::size_t bulky_bytes = 1 << 20;

// Two columns of texts, cut into batches of pairs that the threads of the pool take one after the other.

// Pairs without nulls; `rows[i]` is the row that pair i came from.
struct Batch {
    std::vector<Text> left, right;
    std::vector<std::size_t> rows;
    std::size_t size() const { return rows.size(); }

    // Becomes the rows from `begin` to `end`, but for those with a null, for which it calls `set_null(row)`.
    template <class SetNull>
    void read(const TextColumn& left_column, const TextColumn& right_column, std::size_t begin, std::size_t end,
              const SetNull& set_null) {
        resize(end - begin);
        std::size_t count = 0;
        TextColumn::Cursor left_at(left_column, begin), right_at(right_column, begin);
        for (std::size_t row = begin; row < end; ++row, left_at.next(), right_at.next()) {
            if (!left_at.is_valid() || !right_at.is_valid()) {
                set_null(row);
                continue;
            }
            left[count] = left_at.text();
            right[count] = right_at.text();
            rows[count++] = row;
        }
        resize(count);
    }

    bool has_bulky() const {
        for (std::size_t i = 0; i < size(); ++i)
            if (left[i].size() + right[i].size() > bulky_bytes) return true;
        return false;
    }

private:
    void resize(std::size_t count) {
        left.resize(count);
        right.resize(count);
        rows.resize(count);
    }
};

// How long the pairs of two columns are: those of the rows from the first on, one at each call. Only looks at lengths:
// reading texts is for the threads, side by side.
inline auto pair_sizes(const TextColumn& left, const TextColumn& right) {
    return [left_at = TextColumn::Cursor(left, 0), right_at = TextColumn::Cursor(right, 0)](std::size_t) mutable {
        const std::size_t size = left_at.size() + right_at.size();
        left_at.next();
        right_at.next();
        return size;
    };
}

// Whether the texts of two columns are so few that other threads would take longer to wake than to help.
inline bool are_few(const TextColumn& left, const TextColumn& right) {
    constexpr std::size_t few_bytes = 1 << 15;
    const std::size_t rows = broadcast_size(left.size(), right.size());
    auto size_of = pair_sizes(left, right);
    std::size_t bytes = 0;
    for (std::size_t row = 0; row < rows && bytes < few_bytes; ++row) bytes += size_of(row);
    return bytes < few_bytes;
}

// Calls `kernel(batch, workspace)` for all pairs of the two columns, with one Workspace a thread. Nulls on either side
// become nulls of the result. A column of few texts is done on the calling thread. A `Kept` workspace stays for later calls
// unless a pair was so long that its memory is worth more.
template <class Workspace, class Kernel>
void for_each_batch(const TextColumn& left, const TextColumn& right, std::size_t threads, Result& result, Kernel&& kernel) {
    Dealer dealer(broadcast_size(left.size(), right.size()), threads, pair_sizes(left, right));
    const auto work = [&] {
        Workspace workspace;
        Batch batch;
        for (std::size_t begin, end; dealer.next(begin, end);) {
            batch.read(left, right, begin, end, [&](std::size_t row) { result.set_null(row); });
            if (batch.size() == 0) continue;
            if constexpr (is_kept<Workspace>) {
                kernel(static_cast<const Batch&>(batch), *workspace);
                if (batch.has_bulky()) workspace.discard();
            } else {
                kernel(static_cast<const Batch&>(batch), workspace);
            }
        }
    };
    if (are_few(left, right)) work();
    else Pool::get(threads).run(work);
}

// The same for kernels that take pairs one by one: `kernel(row, left, right, workspace)`.
template <class Workspace, class Kernel>
void for_each_row(const TextColumn& left, const TextColumn& right, std::size_t threads, Result& result, const Kernel& kernel) {
    for_each_batch<Workspace>(left, right, threads, result, [&](const Batch& batch, auto& workspace) {
        for (std::size_t i = 0; i < batch.size(); ++i) kernel(batch.rows[i], batch.left[i], batch.right[i], workspace);
    });
}

// Two columns of texts, pair by pair, those with the same expected text one after the other.
//
// In a comparison of versions the same expected text stands in many rows, wherever they are. Kernels that prepare it do
// so once, then.

// The pairs of some thousand rows, without nulls.
class PairWindow {
public:
    struct Pair {
        Text output, expected;
        std::size_t row;
    };
    static constexpr std::size_t most_rows = 1 << 16;

    Batch pairs;
    Pair operator[](std::size_t i) const {
        const std::size_t at = order_.empty() ? i : order_[i];
        return {pairs.left[at], pairs.right[at], pairs.rows[at]};
    }

    // Brings pairs that seem to have the same expected text together, where there are many of them.
    void group() {
        order_.clear();
        std::size_t slots = 16;
        while (slots < 2 * pairs.size()) slots *= 2;
        slots_.assign(slots, Slot{});
        groups_.resize(pairs.size());
        starts_.clear();
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const std::uint64_t hash = glance(pairs.right[i]);
            std::size_t at = hash & (slots - 1);
            while (slots_[at].group != none && slots_[at].hash != hash) at = (at + 1) & (slots - 1);
            if (slots_[at].group == none) {
                slots_[at] = {hash, static_cast<std::uint32_t>(starts_.size())};
                starts_.push_back(0);
            }
            groups_[i] = slots_[at].group;
            ++starts_[groups_[i]];
        }
        if (10 * starts_.size() > 9 * pairs.size()) return;
        std::uint32_t sum = 0;
        for (std::uint32_t& start : starts_) {
            const std::uint32_t size = start;
            start = sum;
            sum += size;
        }
        order_.resize(pairs.size());
        for (std::size_t i = 0; i < pairs.size(); ++i) order_[starts_[groups_[i]]++] = static_cast<std::uint32_t>(i);
    }

private:
    static constexpr std::uint32_t none = 0xFFFFFFFF;
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t group = none;
    };

    // Looks at a few places of the text. That is enough: kernels compare expected texts themselves.
    static std::uint64_t glance(Text text) {
        std::uint64_t parts[3] = {};
        const std::size_t size = std::min<std::size_t>(text.size(), 8);
        if (size > 0) {
            std::memcpy(&parts[0], text.data(), size);
            std::memcpy(&parts[1], text.data() + (text.size() - size) / 2, size);
            std::memcpy(&parts[2], text.data() + text.size() - size, size);
        }
        return hash_pair(hash_pair(parts[0], text.size()) ^ parts[1], parts[2]);
    }

    std::vector<std::uint32_t> order_;  // none: as they are
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> groups_, starts_;
};

// Calls `kernel(pair, workspace)` for all pairs of the two columns, on the threads of the pool or, for a few, on this one;
// and `set_null(row)` where either side is null. `start(workspace)` comes before a thread's first pair.
template <class Workspace, class Start, class Kernel, class SetNull>
void for_each_pair(const TextColumn& output, const TextColumn& expected, std::size_t threads, const Start& start,
                   const Kernel& kernel, const SetNull& set_null) {
    constexpr std::size_t few_bytes = 1 << 13;
    const std::size_t rows = broadcast_size(output.size(), expected.size());
    PairWindow window;
    for (std::size_t first = 0; first < rows; first += PairWindow::most_rows) {
        window.pairs.read(output, expected, first, std::min(rows, first + PairWindow::most_rows), set_null);
        if (expected.size() > 1) window.group();
        const auto size_of = [&](std::size_t i) { return window[i].output.size() + window[i].expected.size(); };
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < window.pairs.size() && bytes < few_bytes; ++i) bytes += size_of(i);
        Dealer dealer(window.pairs.size(), threads, size_of);
        const auto work = [&] {
            Kept<Workspace> workspace;
            start(*workspace);
            for (std::size_t begin, end; dealer.next(begin, end);) {
                for (; begin < end; ++begin) {
                    const PairWindow::Pair pair = window[begin];
                    kernel(pair, *workspace);
                    if (pair.output.size() + pair.expected.size() > bulky_bytes) workspace.discard();
                }
            }
        };
        if (bytes < few_bytes) work();
        else Pool::get(threads).run(work);
    }
}

}  // namespace pe
