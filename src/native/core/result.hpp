// What a kernel makes: a score for each pair, and columns of numbers beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace pe
