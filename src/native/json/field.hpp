// The value at a path of a JSON text: `$.items[0].name`, with `*` for all entries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tape.hpp"

namespace pe::json {

struct PathStep {
    enum Kind { key, index, any } kind;
    std::string name;
    std::int64_t number = 0;
};

class Field {
public:
    explicit Field(std::vector<PathStep> steps) : steps_(std::move(steps)) {
        for (const PathStep& step : steps_) has_any_ = has_any_ || step.kind == PathStep::any;
    }
    // The content of a text, or else the value as it is written; with `*` a list of all values there are. False if there is
    // none. The text is good until the next call.
    bool find(Text text, Text& found) {
        if (!tape_.read(text)) return false;
        values_.clear();
        collect({&tape_, 0}, 0);
        if (values_.empty()) return false;
        written_.clear();
        if (has_any_) {
            written_ += '[';
            for (const Value value : values_) written_.append(written_.size() > 1 ? ", " : "").append(value.raw());
            found = written_ += ']';
        } else if (values_[0].is(Kind::string)) {
            values_[0].append_text(written_);
            found = written_;
        } else found = values_[0].raw();
        return true;
    }

private:
    void collect(Value value, std::size_t at) {
        if (!value) return;
        if (at == steps_.size()) return values_.push_back(value);
        const PathStep& step = steps_[at];
        switch (step.kind) {
            case PathStep::key: return collect(value.member(step.name), at + 1);
            case PathStep::index: return collect(value.at(step.number), at + 1);
            case PathStep::any: break;
        }
        if (value.is(Kind::array) || value.is(Kind::object)) value.each([&](Value below) { collect(below, at + 1); });
    }

    std::vector<PathStep> steps_;
    bool has_any_ = false;
    Tape tape_;
    std::vector<Value> values_;
    std::string written_;
};

}  // namespace pe::json
