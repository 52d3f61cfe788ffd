// Columns that leave for Arrow: their types, their memory, and the structures of the interface that own both.
#pragma once

#include <mutex>
#include <tuple>

#include "columns.hpp"

namespace pe {

enum class Type { real, whole, flag, text, long_text, texts, reals, label, structure, structures };

// A column's name and type.
struct Field {
    std::string name;
    Type type;
    std::vector<Field> fields = {};  // of a structure, or of each structure in a list
};

// The values of a column, owned.
struct Column {
    std::size_t rows = 0;
    std::vector<std::shared_ptr<const void>> memory;
    std::vector<const void*> buffers;  // the first is the validity, null where no value is
    std::int64_t nulls = 0;
    std::vector<Column> children;
    std::unique_ptr<Column> dictionary;

    template <class Memory>
    void add_buffer(std::shared_ptr<Memory> owner, const void* data) {
        memory.push_back(std::move(owner));
        buffers.push_back(data);
    }
    template <class Value>
    void add_buffer(std::vector<Value> values) {
        if (values.empty()) values.emplace_back();  // never a null pointer
        auto owner = std::make_shared<std::vector<Value>>(std::move(values));
        const void* data = owner->data();
        add_buffer(std::move(owner), data);
    }
    // `is_valid(row)` tells which values there are. To be called before any other buffer is added.
    template <class IsValid>
    void add_validity(const IsValid& is_valid) {
        std::vector<std::uint8_t> bits((rows + 7) / 8);
        for (std::size_t row = 0; row < rows; ++row) {
            const bool valid = is_valid(row);
            bits[row / 8] |= static_cast<std::uint8_t>(valid << (row % 8));
            nulls += !valid;
        }
        if (nulls == 0) buffers.push_back(nullptr);
        else add_buffer(std::move(bits));
    }
    void add_no_validity() { buffers.push_back(nullptr); }
};

// A column of numbers, or of lists by their offsets; `is_valid(row)` tells which there are.
template <class Value, class IsValid>
Column make_column(std::size_t rows, const IsValid& is_valid, std::vector<Value> values) {
    Column column;
    column.rows = rows;
    column.add_validity(is_valid);
    column.add_buffer(std::move(values));
    return column;
}

// A column of nulls, whatever its type.
inline Column make_nulls(std::size_t rows, Type type) {
    Column column;
    column.rows = rows;
    column.add_validity([](std::size_t) { return false; });
    if (type == Type::reals || type == Type::texts) {
        column.add_buffer(std::vector<std::int64_t>(rows + 1));
        column.children.push_back(make_nulls(0, type == Type::reals ? Type::real : Type::text));
    } else if (type == Type::flag) column.add_buffer(std::vector<std::uint8_t>((rows + 7) / 8));
    else {
        column.add_buffer(std::vector<std::uint64_t>(type == Type::text ? 2 * rows : rows));
        if (type == Type::text) column.add_buffer(std::vector<std::int64_t>(1));
    }
    return column;
}

// A column of texts, which several threads may write at once: string views over buffers that the threads filled.
class Texts {
public:
    explicit Texts(std::size_t rows) : views_(rows), valid_(rows, 1) {}
    Texts(const Texts&) = delete;

    void set_null(std::size_t row) { valid_[row] = 0; }

    // Where one thread keeps the bytes of its texts. Buffers are shared out before they are filled, so that a view can
    // name its buffer at once.
    class Writer {
    public:
        explicit Writer(Texts& texts) : texts_(texts) {}
        void write(std::size_t row, Text text) {
            View& view = texts_.views_[row];
            view = {};
            view.size = static_cast<std::int32_t>(text.size());
            if (text.size() <= sizeof view.rest) {
                if (!text.empty()) std::memcpy(view.rest, text.data(), text.size());
                return;
            }
            if (!buffer_ || buffer_->size() + text.size() > buffer_->capacity()) {
                // Small at first: most columns are.
                const std::size_t fresh = text.size() > next_size_ ? text.size() : next_size_;
                std::tie(buffer_, number_) = texts_.add_buffer(fresh);
                next_size_ = largest_size;
            }
            const auto offset = static_cast<std::int32_t>(buffer_->size());
            buffer_->insert(buffer_->end(), text.begin(), text.end());
            std::memcpy(view.rest, text.data(), 4);
            std::memcpy(view.rest + 4, &number_, 4);
            std::memcpy(view.rest + 8, &offset, 4);
        }

    private:
        static constexpr std::size_t largest_size = 1 << 20;
        std::size_t next_size_ = 1 << 12;
        Texts& texts_;
        std::vector<char>* buffer_ = nullptr;
        std::int32_t number_ = 0;
    };

    Column finish() {
        Column column;
        column.rows = views_.size();
        column.add_validity([&](std::size_t row) { return valid_[row] != 0; });
        column.add_buffer(std::move(views_));
        std::vector<std::int64_t> sizes;
        for (auto& buffer : buffers_) {
            sizes.push_back(static_cast<std::int64_t>(buffer->size()));
            const void* data = buffer->data();
            column.add_buffer(std::shared_ptr<std::vector<char>>(std::move(buffer)), data);
        }
        column.add_buffer(std::move(sizes));
        return column;
    }

private:
    struct View {
        std::int32_t size = 0;
        char rest[12] = {};
    };
    std::pair<std::vector<char>*, std::int32_t> add_buffer(std::size_t capacity) {
        auto buffer = std::make_unique<std::vector<char>>();
        buffer->reserve(capacity);
        std::lock_guard<std::mutex> lock(mutex_);
        buffers_.push_back(std::move(buffer));
        return {buffers_.back().get(), static_cast<std::int32_t>(buffers_.size() - 1)};
    }

    std::vector<View> views_;
    std::vector<std::uint8_t> valid_;
    std::vector<std::unique_ptr<std::vector<char>>> buffers_;
    std::mutex mutex_;
};

// The texts that `text_of(row)` gives for each row; one that is `no_text` is null.
template <class TextOf>
Column make_texts(std::size_t rows, const TextOf& text_of) {
    Texts texts(rows);
    Texts::Writer writer(texts);
    for (std::size_t row = 0; row < rows; ++row) {
        const Text text = text_of(row);
        if (text.data() == TextArray::no_text) texts.set_null(row);
        else writer.write(row, text);
    }
    return texts.finish();
}

constexpr std::int64_t nullable = 2;

template <class Structure>
struct Owner {
    std::vector<std::unique_ptr<Structure>> children;
    std::vector<Structure*> pointers;
    std::unique_ptr<Structure> dictionary;

    Structure* add_child() {
        pointers.push_back(children.emplace_back(std::make_unique<Structure>()).get());
        return pointers.back();
    }
};
struct SchemaOwner : Owner<ArrowSchema> {
    std::string name, metadata;
};
struct ArrayOwner : Owner<ArrowArray> {
    Column column;
};

// A consumer may keep a child and release its parent: then the child has no `release` any more.
template <class Structure, class Owner>
void release(Structure* self) {
    std::unique_ptr<Owner> owner(static_cast<Owner*>(self->private_data));
    for (auto& child : owner->children)
        if (child->release) child->release(child.get());
    if (owner->dictionary && owner->dictionary->release) owner->dictionary->release(owner->dictionary.get());
    self->release = nullptr;
}

// Key and value, as Arrow writes metadata.
inline std::string metadata_of(Text key, Text value) {
    std::string bytes;
    const auto add = [&](std::size_t number) {
        const auto word = static_cast<std::int32_t>(number);
        bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    };
    add(1);
    for (const Text text : {key, value}) {
        add(text.size());
        bytes.append(text);
    }
    return bytes;
}

inline const char* format_of(Type type) {
    switch (type) {
        case Type::real: return "g";
        case Type::whole: return "l";
        case Type::flag: return "b";
        case Type::text: return "vu";
        case Type::long_text: return "U";  // offsets into one buffer
        case Type::label: return "C";
        case Type::structure: return "+s";
        default: return "+L";
    }
}

inline void write_schema(const Field& field, ArrowSchema* out) {
    auto owner = std::make_unique<SchemaOwner>();
    owner->name = field.name;
    const auto add = [&](const Field& child) { write_schema(child, owner->add_child()); };
    if (field.type == Type::structure)
        for (const Field& child : field.fields) add(child);
    if (field.type == Type::structures) add({"item", Type::structure, field.fields});
    if (field.type == Type::reals) add({"item", Type::real});
    if (field.type == Type::texts) add({"item", Type::text});
    if (field.type == Type::label) {
        owner->dictionary = std::make_unique<ArrowSchema>();
        write_schema({"", Type::text}, owner->dictionary.get());
        owner->metadata = metadata_of("_PL_ENUM_VALUES2", "4;fail4;pass");
    }
    *out = {format_of(field.type),
            owner->name.c_str(),
            owner->metadata.empty() ? nullptr : owner->metadata.data(),
            nullable,
            static_cast<std::int64_t>(owner->children.size()),
            owner->pointers.data(),
            owner->dictionary.get(),
            release<ArrowSchema, SchemaOwner>,
            nullptr};
    out->private_data = owner.release();
}

inline void write_array(Column column, ArrowArray* out) {
    auto owner = std::make_unique<ArrayOwner>();
    owner->column = std::move(column);
    for (Column& child : owner->column.children) write_array(std::move(child), owner->add_child());
    if (owner->column.dictionary) {
        owner->dictionary = std::make_unique<ArrowArray>();
        write_array(std::move(*owner->column.dictionary), owner->dictionary.get());
    }
    const Column& held = owner->column;
    *out = {static_cast<std::int64_t>(held.rows),
            held.nulls,
            0,
            static_cast<std::int64_t>(held.buffers.size()),
            static_cast<std::int64_t>(owner->children.size()),
            owner->column.buffers.data(),
            owner->pointers.data(),
            owner->dictionary.get(),
            release<ArrowArray, ArrayOwner>,
            nullptr};
    out->private_data = owner.release();
}

}  // namespace pe
