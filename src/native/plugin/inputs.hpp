// The columns that Polars hands over: owned, and read as texts, lists of texts, tokens or vectors.
#pragma once

#include <cmath>
#include <deque>
#include <stdexcept>

#include "dtype.hpp"

// The C interface between Polars and the functions of a plugin: version 0.1, which Polars 1.35 to 2.x speak.
extern "C" {
struct SeriesExport {
    ArrowSchema* field;
    ArrowArray** arrays;
    std::size_t len;
    void (*release)(SeriesExport*);
    void* private_data;
};
}

namespace pe::plugin {

// What is wrong with a query: its text is for the user.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Input {
public:
    // Takes a column over, which is released with this.
    explicit Input(SeriesExport* series) : series_(*series) {
        for (std::size_t i = 0; i < series_.len; ++i) size_ += static_cast<std::size_t>(series_.arrays[i]->length);
    }
    Input(Input&& other) noexcept : series_(other.series_), written_(std::move(other.written_)), size_(other.size_) {
        other.series_.release = nullptr;
    }
    Input& operator=(Input&&) = delete;
    ~Input() {
        if (!series_.release) return;
        for (std::size_t i = 0; i < series_.len; ++i)
            if (series_.arrays[i]->release) series_.arrays[i]->release(series_.arrays[i]);
        series_.release(&series_);
    }
    Dtype dtype() const { return *series_.field; }
    std::size_t size() const { return size_; }
    std::size_t chunks() const { return series_.len; }
    const ArrowArray& chunk(std::size_t i) const { return *series_.arrays[i]; }
    TextColumn text_chunks() const { return TextColumn(series_.arrays, series_.len, dtype()); }
    // The texts of values that are none, which live as long as this.
    std::deque<std::string>& written() const { return written_; }

private:
    SeriesExport series_;
    mutable std::deque<std::string> written_;
    std::size_t size_ = 0;
};

// Rows of a result: a literal arrives with one row, also beside a column of none.
inline std::size_t count_rows(const std::vector<Input>& inputs, std::size_t count = 2) {
    for (std::size_t i = 0; i < std::min(count, inputs.size()); ++i)
        if (inputs[i].size() != 1) return inputs[i].size();
    return 1;
}

inline std::size_t row_of(std::size_t row, std::size_t size) { return size == 1 ? 0 : row; }

// Appends the texts of an array: of strings, of categories, of nothing, or of what is written as text.
inline void append_texts(const ArrowArray& array, Dtype dtype, std::size_t begin, std::size_t end, std::vector<Text>& out,
                         std::deque<std::string>& written) {
    if (is_text(dtype)) {
        const AnyTexts texts(array, dtype);
        for (std::size_t i = begin; i < end; ++i) out.push_back(texts(i));
        return;
    }
    for (std::size_t i = begin; i < end; ++i) {
        if (!is_there(array, dtype, i)) {
            out.emplace_back(TextArray::no_text, 0);
            continue;
        }
        std::string& text = written.emplace_back();
        if (is_object(dtype) || is_list(dtype)) append_json(array, dtype, i, text);
        else append_scalar(array, dtype, i, text);
        out.push_back(text);
    }
}

// All texts of a column, be they written for it or not.
inline std::vector<Text> all_texts(const Input& input) {
    std::vector<Text> texts;
    texts.reserve(input.size());
    for (std::size_t i = 0; i < input.chunks(); ++i)
        append_texts(input.chunk(i), input.dtype(), 0, static_cast<std::size_t>(input.chunk(i).length), texts, input.written());
    return texts;
}
inline TextColumn read_texts(const Input& input) {
    return is_plain_text(input.dtype()) ? input.text_chunks() : TextColumn(all_texts(input));
}

// Where the values of each row are.
struct Bounds {
    std::size_t begin = 0, end = 0;
    bool is_valid = false;
    std::size_t size() const { return end - begin; }
};

// Fills the bounds of all rows in all values, and calls `read(values, begin, end)` for the values of each chunk, whose bounds
// are there by then. A column of nothing has no lists.
template <class Read>
void read_lists(const Input& input, std::vector<Bounds>& bounds, const Read& read) {
    if (is_null(input.dtype())) return bounds.resize(input.size());
    bounds.reserve(input.size());
    std::size_t before = 0;
    for (std::size_t i = 0; i < input.chunks(); ++i) {
        const ArrowArray& chunk = input.chunk(i);
        const auto rows = static_cast<std::size_t>(chunk.length), offset = static_cast<std::size_t>(chunk.offset);
        if (rows == 0) continue;
        const auto at = [&](std::size_t row) { return list_begin(chunk, input.dtype(), offset + row); };
        const std::size_t first = at(0);
        for (std::size_t row = 0; row < rows; ++row)
            bounds.push_back({before + at(row) - first, before + at(row + 1) - first, is_set(chunk.buffers[0], offset + row)});
        read(*chunk.children[0], first, at(rows));
        before = bounds.back().end;
    }
}

// Lists of texts, or of what is compared as texts are.
struct TextLists {
    std::vector<Bounds> rows;
    std::vector<Text> values;
    std::string bytes;  // of values that no array holds

    const Bounds& operator[](std::size_t row) const { return rows[row_of(row, rows.size())]; }
    bool has(std::size_t value) const { return values[value].data() != TextArray::no_text; }
};

inline TextLists read_text_lists(const Input& input) {
    TextLists lists;
    read_lists(input, lists.rows, [&](const ArrowArray& values, std::size_t begin, std::size_t end) {
        append_texts(values, inner(input.dtype()), begin, end, lists.values, input.written());
    });
    return lists;
}

}  // namespace pe::plugin
