// Columns as kernels read them, in any Arrow layout, chunked or sliced, with nulls.
#pragma once

#include <stdexcept>

#include "text.hpp"

extern "C" {
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace pe {

// The Arrow C data interface: its structures (fixed by the Arrow specification) and an owner for a stream of chunks.

// Holds a structure of the interface and releases it once.
template <class Structure>
class Owned {
public:
    Owned() = default;
    Owned(Owned&& other) noexcept : value_(other.value_) { other.value_.release = nullptr; }
    Owned& operator=(Owned&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Owned() {
        if (value_.release) value_.release(&value_);
    }
    Structure* operator->() { return &value_; }
    const Structure* operator->() const { return &value_; }
    Structure* get() { return &value_; }

private:
    Structure value_{};
};

// All chunks of a column. Nothing is copied: the buffers stay the producer's until this is destroyed.
class ArrowChunks {
public:
    // Takes the stream over, as its consumer: the capsule that held it is left empty.
    explicit ArrowChunks(ArrowArrayStream* source) {
        Owned<ArrowArrayStream> stream;
        std::swap(*stream.get(), *source);
        if (!stream->release) throw std::invalid_argument("the Arrow stream was consumed before");
        check(stream.get(), stream->get_schema(stream.get(), schema_.get()));
        while (true) {
            Owned<ArrowArray> chunk;
            check(stream.get(), stream->get_next(stream.get(), chunk.get()));
            if (!chunk->release) break;
            chunks_.push_back(std::move(chunk));
        }
    }
    const ArrowSchema& schema() const { return *schema_.operator->(); }
    const std::vector<Owned<ArrowArray>>& chunks() const { return chunks_; }

private:
    static void check(ArrowArrayStream* stream, int code) {
        if (code == 0) return;
        const char* message = stream->get_last_error(stream);
        throw std::runtime_error(std::string("Arrow stream: ") + (message ? message : "unknown error"));
    }
    Owned<ArrowSchema> schema_;
    std::vector<Owned<ArrowArray>> chunks_;
};

// Columns as kernels read them: texts, and lists of texts, in any Arrow layout, chunked or sliced, with nulls.

// Whether a bit of a validity bitmap is set; without a bitmap, all are.
inline bool is_set(const void* bits, std::size_t index) {
    return bits == nullptr || (static_cast<const std::uint8_t*>(bits)[index / 8] >> (index % 8) & 1);
}

// One Arrow array of strings: string views ("vu"), large ("U") or small ("u") strings.
class TextArray {
public:
    TextArray(const ArrowArray& array, const char* format)
        : offset_(static_cast<std::size_t>(array.offset)), buffers_(array.buffers), texts_(nullptr) {
        const std::string name = format;
        if (name == "vu") layout_ = Layout::views;
        else if (name == "U") layout_ = Layout::large;
        else if (name == "u") layout_ = Layout::small;
        else throw std::invalid_argument("expected an Arrow string array, got format '" + name + "'");
    }
    // Texts that stand somewhere else; a null is `no_text`.
    explicit TextArray(const Text* texts) : layout_(Layout::texts), offset_(0), buffers_(nullptr), texts_(texts) {}
    static inline const char mark = 0;
    static constexpr const char* no_text = &mark;

    bool is_valid(std::size_t row) const {
        return layout_ == Layout::texts ? texts_[row].data() != no_text : is_set(buffers_[0], offset_ + row);
    }
    Text operator[](std::size_t row) const {
        row += offset_;
        switch (layout_) {
            case Layout::texts: return texts_[row];
            case Layout::views: return view(row);
            case Layout::large: return between<std::int64_t>(row);
            default: return between<std::int32_t>(row);
        }
    }

    // How long the text of a row is, without a look at it.
    std::size_t size(std::size_t row) const {
        row += offset_;
        switch (layout_) {
            case Layout::texts: return texts_[row].size();
            case Layout::views: return view_size(static_cast<const char*>(buffers_[1]) + 16 * row);
            case Layout::large: return between<std::int64_t>(row).size();
            default: return between<std::int32_t>(row).size();
        }
    }

private:
    enum class Layout { views, large, small, texts };
    static std::size_t view_size(const char* view) {
        std::int32_t size;
        std::memcpy(&size, view, sizeof size);
        return static_cast<std::size_t>(size);
    }
    Text view(std::size_t row) const {
        const char* at = static_cast<const char*>(buffers_[1]) + 16 * row;
        std::int32_t head[4];
        std::memcpy(head, at, sizeof head);
        const auto size = static_cast<std::size_t>(head[0]);
        if (size <= 12) return {at + 4, size};
        return {static_cast<const char*>(buffers_[2 + head[2]]) + head[3], size};
    }
    template <class Offset>
    Text between(std::size_t row) const {
        const auto* offsets = static_cast<const Offset*>(buffers_[1]);
        const auto size = static_cast<std::size_t>(offsets[row + 1] - offsets[row]);
        return size == 0 ? Text{} : Text{static_cast<const char*>(buffers_[2]) + offsets[row], size};
    }
    Layout layout_;
    std::size_t offset_;
    const void** buffers_;
    const Text* texts_;
};

// The texts of a column, whose chunks stand behind one row number.
class TextColumn {
public:
    explicit TextColumn(ArrowChunks chunks) : owner_(std::make_unique<ArrowChunks>(std::move(chunks))) {
        for (const Owned<ArrowArray>& chunk : owner_->chunks()) add(*chunk.operator->(), owner_->schema());
    }
    // Of somebody else's chunks, which must live longer.
    TextColumn(ArrowArray* const* chunks, std::size_t count, const ArrowSchema& schema) {
        for (std::size_t i = 0; i < count; ++i) add(*chunks[i], schema);
    }
    explicit TextColumn(std::vector<Text> texts) : texts_(std::move(texts)), size_(texts_.size()) {
        if (size_ == 0) return;
        arrays_.emplace_back(texts_.data());
        starts_.push_back(0);
    }
    TextColumn(TextColumn&&) = default;
    TextColumn& operator=(TextColumn&&) = default;
    std::size_t size() const { return size_; }

    // Moves over the rows of a column in order, from any row. A column of one row stands for every row.
    class Cursor {
    public:
        Cursor(const TextColumn& column, std::size_t row) : column_(&column), single_(column.size_ == 1) {
            if (single_ || column.size_ == 0) return;
            const auto& starts = column.starts_;
            chunk_ = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), row) - starts.begin()) - 1;
            row_ = row - starts[chunk_];
            find_end();
        }
        bool is_valid() const { return array().is_valid(row_); }
        Text text() const { return array()[row_]; }
        // Of the text, without a look at it.
        std::size_t size() const { return array().size(row_); }
        Text text_or_none() const { return is_valid() ? text() : Text(TextArray::no_text, 0); }
        void next() {
            if (single_ || ++row_ < end_) return;
            if (chunk_ + 1 == column_->arrays_.size()) return;
            ++chunk_;
            row_ = 0;
            find_end();
        }

    private:
        const TextArray& array() const { return column_->arrays_[chunk_]; }
        void find_end() {
            const auto& starts = column_->starts_;
            end_ = (chunk_ + 1 < starts.size() ? starts[chunk_ + 1] : column_->size_) - starts[chunk_];
        }
        const TextColumn* column_;
        bool single_;
        std::size_t chunk_ = 0, row_ = 0, end_ = 0;
    };

private:
    void add(const ArrowArray& chunk, const ArrowSchema& schema) {
        if (chunk.length == 0) return;
        arrays_.emplace_back(chunk, schema.format);
        starts_.push_back(size_);
        size_ += static_cast<std::size_t>(chunk.length);
    }
    std::unique_ptr<ArrowChunks> owner_;
    std::vector<Text> texts_;
    std::vector<TextArray> arrays_;
    std::vector<std::size_t> starts_;
    std::size_t size_ = 0;
};

// Rows of a result made of two columns: equal lengths, or a length of one that stands for all.
inline std::size_t broadcast_size(std::size_t left, std::size_t right) {
    if (left == right || right == 1) return left;
    if (left == 1) return right;
    throw std::invalid_argument("columns of " + std::to_string(left) + " and " + std::to_string(right) + " rows");
}

}  // namespace pe
