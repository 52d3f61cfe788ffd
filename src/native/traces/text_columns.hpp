// Columns of texts that a kernel makes, row after row, as one Arrow struct array.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../core/arrow.hpp"
#include "../core/text.hpp"

namespace pe::traces {

class TextColumns : public TakenOnce {
public:
    explicit TextColumns(const std::vector<std::string>& names) : owner_(std::make_shared<Owner>()) {
        for (const std::string& name : names) {
            owner_->columns.emplace_back();
            owner_->columns.back().name = name;
        }
    }
    // The text that the next value of a column is appended to.
    std::string& text(std::size_t column) { return owner_->columns[column].data; }
    // Drops what was appended to the next value of a column.
    void drop(std::size_t index) {
        Column& column = owner_->columns[index];
        column.data.resize(static_cast<std::size_t>(column.offsets.back()));
    }
    // Ends the value of a column: what was appended, or a null.
    void end(std::size_t index, bool is_valid) {
        Column& column = owner_->columns[index];
        const std::size_t row = column.offsets.size() - 1;
        if (row % 8 == 0) column.validity.push_back(0);
        if (is_valid) column.validity.back() |= static_cast<std::uint8_t>(1u << (row % 8));
        else column.data.resize(static_cast<std::size_t>(column.offsets.back())), ++column.nulls;
        column.offsets.push_back(static_cast<std::int64_t>(column.data.size()));
    }

    // Hands the columns over to an Arrow consumer, once.
    void move_to(ArrowSchema* schema, ArrowArray* array) {
        take();
        Owner& held = *owner_;
        const std::size_t count = held.columns.size();
        const std::int64_t rows = count ? static_cast<std::int64_t>(held.columns[0].offsets.size()) - 1 : 0;
        held.schemas.resize(count);
        held.arrays.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            Column& column = held.columns[i];
            column.buffers[0] = column.nulls ? column.validity.data() : nullptr;
            column.buffers[1] = column.offsets.data();
            column.buffers[2] = column.data.data();
            held.schemas[i] = {"U", column.name.c_str(), nullptr, 2, 0, nullptr, nullptr, nullptr, nullptr};
            held.arrays[i] = {rows, column.nulls, 0, 3, 0, column.buffers, nullptr, nullptr, nullptr, nullptr};
            own(held.schemas[i]);
            own(held.arrays[i]);
            held.schema_pointers.push_back(&held.schemas[i]);
            held.array_pointers.push_back(&held.arrays[i]);
        }
        const auto children = static_cast<std::int64_t>(count);
        *schema = {"+s", "", nullptr, 0, children, held.schema_pointers.data(), nullptr, nullptr, nullptr};
        *array = {rows, 0, 0, 1, children, &held.no_validity, held.array_pointers.data(), nullptr, nullptr, nullptr};
        own(*schema);
        own(*array);
    }

private:
    struct Column {
        std::string name, data;
        std::vector<std::int64_t> offsets{0};
        std::vector<std::uint8_t> validity;
        std::int64_t nulls = 0;
        const void* buffers[3] = {};
    };
    struct Owner {
        std::vector<Column> columns;
        std::vector<ArrowSchema> schemas;
        std::vector<ArrowArray> arrays;
        std::vector<ArrowSchema*> schema_pointers;
        std::vector<ArrowArray*> array_pointers;
        const void* no_validity = nullptr;
    };
    // Each structure holds the owner, because a consumer may keep a child and release the parent.
    template <class Structure>
    void own(Structure& structure) {
        structure.private_data = new std::shared_ptr<Owner>(owner_);
        structure.release = [](Structure* self) {
            for (std::int64_t i = 0; i < self->n_children; ++i)
                if (self->children[i]->release) self->children[i]->release(self->children[i]);
            self->release = nullptr;
            delete static_cast<std::shared_ptr<Owner>*>(self->private_data);
        };
    }
    std::shared_ptr<Owner> owner_;
};

}  // namespace pe::traces
