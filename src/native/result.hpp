// What a kernel returns: columns of numbers that are null in the same rows, as one Arrow struct array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "arrow.hpp"

namespace pe {

class Result : public TakenOnce {
public:
    explicit Result(std::size_t rows) : rows_(rows), valid_(rows, 1) {}
    Result(Result&&) = default;
    Result(const Result&) = delete;

    // Adds a column; `name` is a literal, and the pointer stays good while the result lives.
    double* add_floats(const char* name) { return reinterpret_cast<double*>(add(name, "g")); }
    std::int64_t* add_integers(const char* name) { return reinterpret_cast<std::int64_t*>(add(name, "l")); }

    // Validity is kept in bytes, not bits, because threads write neighbouring rows at once.
    void set_null(std::size_t row) {
        valid_[row] = 0;
        for (Column& column : columns_) column.values[row] = 0;
    }

    bool is_valid(std::size_t row) const { return valid_[row] != 0; }

    // Hands the columns over to an Arrow consumer, once.
    void move_to(ArrowSchema* schema, ArrowArray* array) {
        take();
        auto schemas = std::make_shared<SchemaOwner>();
        auto arrays = std::make_shared<ArrayOwner>();
        pack_validity(*arrays);
        const std::size_t count = columns_.size();
        schemas->children.resize(count);
        arrays->children.resize(count);
        arrays->buffers.resize(2 * count);
        for (std::size_t i = 0; i < count; ++i) {
            schemas->pointers.push_back(&schemas->children[i]);
            arrays->pointers.push_back(&arrays->children[i]);
            ArrowSchema& field = schemas->children[i];
            field = {columns_[i].format, columns_[i].name, nullptr, nullable, 0, nullptr, nullptr, nullptr, nullptr};
            own(field, schemas);
            const void** buffers = &arrays->buffers[2 * i];
            buffers[0] = arrays->null_count ? arrays->validity.data() : nullptr;
            buffers[1] = columns_[i].values.get();
            ArrowArray& values = arrays->children[i];
            values = {length(), arrays->null_count, 0, 2, 0, buffers, nullptr, nullptr, nullptr, nullptr};
            own(values, arrays);
        }
        arrays->columns = std::move(columns_);
        const auto children = static_cast<std::int64_t>(count);
        *schema = {"+s", "", nullptr, 0, children, schemas->pointers.data(), nullptr, nullptr, nullptr};
        *array = {length(), 0, 0, 1, children, &arrays->no_validity, arrays->pointers.data(), nullptr, nullptr, nullptr};
        own(*schema, schemas);
        own(*array, arrays);
    }

private:
    static constexpr std::int64_t nullable = 2;

    struct Column {
        const char* name;
        const char* format;
        std::unique_ptr<std::uint64_t[]> values;
    };
    struct SchemaOwner {
        std::vector<ArrowSchema> children;
        std::vector<ArrowSchema*> pointers;
    };
    struct ArrayOwner {
        std::vector<Column> columns;
        std::vector<std::uint8_t> validity;
        std::int64_t null_count = 0;
        std::vector<ArrowArray> children;
        std::vector<ArrowArray*> pointers;
        std::vector<const void*> buffers;
        const void* no_validity = nullptr;
    };

    // Each structure holds its owner, because a consumer may keep a child and release the parent.
    template <class Structure, class Owner>
    static void own(Structure& structure, const std::shared_ptr<Owner>& owner) {
        structure.private_data = new std::shared_ptr<Owner>(owner);
        structure.release = [](Structure* self) {
            for (std::int64_t i = 0; i < self->n_children; ++i)
                if (self->children[i]->release) self->children[i]->release(self->children[i]);
            self->release = nullptr;
            delete static_cast<std::shared_ptr<Owner>*>(self->private_data);
        };
    }

    std::int64_t length() const { return static_cast<std::int64_t>(rows_); }
    std::uint64_t* add(const char* name, const char* format) {
        // Not zeroed: every row is written, and touching a large column twice would cost a pass.
        columns_.push_back({name, format, std::unique_ptr<std::uint64_t[]>(new std::uint64_t[rows_ ? rows_ : 1])});
        return columns_.back().values.get();
    }
    void pack_validity(ArrayOwner& owner) const {
        if (rows_ == 0 || std::memchr(valid_.data(), 0, rows_) == nullptr) return;
        owner.validity.assign((rows_ + 7) / 8, 0);
        for (std::size_t row = 0; row < rows_; ++row) {
            owner.validity[row / 8] |= static_cast<std::uint8_t>(valid_[row] << (row % 8));
            owner.null_count += valid_[row] == 0;
        }
    }

    std::size_t rows_;
    std::vector<std::uint8_t> valid_;
    std::vector<Column> columns_;
};

}  // namespace pe
