// Columns of texts that a kernel makes, row after row, as one Arrow struct array.
#pragma once

#include "../core/table.hpp"

namespace pe::traces {

class TextColumns {
public:
    explicit TextColumns(const std::vector<std::string>& names) {
        for (const std::string& name : names) columns_.push_back({name, {}, {0}, {}});
    }
    // The text that the next value of a column is appended to.
    std::string& text(std::size_t column) { return columns_[column].data; }
    // Drops what was appended to the next value of a column.
    void drop(std::size_t index) {
        Written& column = columns_[index];
        column.data.resize(static_cast<std::size_t>(column.offsets.back()));
    }
    // Ends the value of a column: what was appended, or a null.
    void end(std::size_t index, bool is_valid) {
        Written& column = columns_[index];
        if (!is_valid) drop(index);
        column.valid.push_back(is_valid);
        column.offsets.push_back(static_cast<std::int64_t>(column.data.size()));
    }

    // Hands the columns over to an Arrow consumer, once: whoever comes later would find what is no longer there.
    void move_to(ArrowSchema* schema, ArrowArray* array) {
        if (std::exchange(is_taken_, true))
            throw std::invalid_argument("the columns are for one Arrow consumer, and were taken before");
        Field field{"", Type::structure};
        Column all;
        all.rows = columns_.empty() ? 0 : columns_[0].valid.size();
        all.add_no_validity();
        for (Written& written : columns_) {
            field.fields.push_back({written.name, Type::long_text});
            Column& column = all.children.emplace_back();
            column.rows = all.rows;
            column.add_validity([&](std::size_t row) { return written.valid[row] != 0; });
            column.add_buffer(std::move(written.offsets));
            auto data = std::make_shared<std::string>(std::move(written.data));
            column.add_buffer(data, data->data());
        }
        write_schema(field, schema);
        write_array(std::move(all), array);
    }

private:
    struct Written {
        std::string name, data;
        std::vector<std::int64_t> offsets;
        std::vector<std::uint8_t> valid;
    };
    std::vector<Written> columns_;
    bool is_taken_ = false;
};

}  // namespace pe::traces
