// The Arrow C data interface: its structures (fixed by the Arrow specification) and an owner for a stream of chunks.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

// What one consumer takes: whoever comes later would find what is no longer there.
class TakenOnce {
protected:
    void take() {
        if (is_taken_) throw std::invalid_argument("the columns are for one Arrow consumer, and were taken before");
        is_taken_ = true;
    }

private:
    bool is_taken_ = false;
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

}  // namespace pe
