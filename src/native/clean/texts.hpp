// A column of texts that a kernel makes: Arrow string views over buffers that the threads filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "../arrow.hpp"
#include "../core/text.hpp"

namespace pe::clean {

class Texts : public TakenOnce {
public:
    explicit Texts(std::size_t rows) : rows_(rows), views_(rows), valid_(rows, 1) {}
    Texts(Texts&&) = default;
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
                const std::size_t fresh = text.size() > fresh_size ? text.size() : fresh_size;
                std::tie(buffer_, number_) = texts_.add_buffer(fresh);
            }
            const auto offset = static_cast<std::int32_t>(buffer_->size());
            buffer_->insert(buffer_->end(), text.begin(), text.end());
            std::memcpy(view.rest, text.data(), 4);
            std::memcpy(view.rest + 4, &number_, 4);
            std::memcpy(view.rest + 8, &offset, 4);
        }

    private:
        static constexpr std::size_t fresh_size = 1 << 20;
        Texts& texts_;
        std::vector<char>* buffer_ = nullptr;
        std::int32_t number_ = 0;
    };

    // Hands the column over to an Arrow consumer, once.
    void move_to(ArrowSchema* schema, ArrowArray* array) {
        take();
        auto owner = std::make_unique<Owner>();
        std::int64_t nulls = 0;
        owner->validity.assign((rows_ + 7) / 8 + 1, 0);
        for (std::size_t row = 0; row < rows_; ++row) {
            owner->validity[row / 8] |= static_cast<std::uint8_t>(valid_[row] << (row % 8));
            nulls += valid_[row] == 0;
        }
        owner->views = std::move(views_);
        owner->views.emplace_back();  // never an empty buffer
        owner->filled = std::move(buffers_);
        owner->buffers = {nulls ? owner->validity.data() : nullptr, owner->views.data()};
        for (const auto& buffer : owner->filled) {
            owner->buffers.push_back(buffer->data());
            owner->sizes.push_back(static_cast<std::int64_t>(buffer->size()));
        }
        owner->sizes.push_back(0);
        owner->buffers.push_back(owner->sizes.data());
        *schema = {"vu", "", nullptr, 2, 0, nullptr, nullptr, [](ArrowSchema* self) { self->release = nullptr; }, nullptr};
        *array = {static_cast<std::int64_t>(rows_), nulls, 0, static_cast<std::int64_t>(owner->buffers.size()), 0,
                  owner->buffers.data(), nullptr, nullptr,
                  [](ArrowArray* self) {
                      delete static_cast<Owner*>(self->private_data);
                      self->release = nullptr;
                  },
                  nullptr};
        array->private_data = owner.release();
    }

private:
    struct View {
        std::int32_t size = 0;
        char rest[12] = {};
    };
    struct Owner {
        std::vector<View> views;
        std::vector<std::uint8_t> validity;
        std::vector<std::unique_ptr<std::vector<char>>> filled;
        std::vector<const void*> buffers;
        std::vector<std::int64_t> sizes;
    };

    std::pair<std::vector<char>*, std::int32_t> add_buffer(std::size_t capacity) {
        auto buffer = std::make_unique<std::vector<char>>();
        buffer->reserve(capacity);
        std::lock_guard<std::mutex> lock(*mutex_);
        buffers_.push_back(std::move(buffer));
        return {buffers_.back().get(), static_cast<std::int32_t>(buffers_.size() - 1)};
    }

    std::size_t rows_;
    std::vector<View> views_;
    std::vector<std::uint8_t> valid_;
    std::vector<std::unique_ptr<std::vector<char>>> buffers_;
    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace pe::clean
