// The options of a call: JSON in a text, which is the only value of a pickled dict.
#pragma once

#include <initializer_list>
#include <stdexcept>

#include "../json/tape.hpp"

namespace pe::plugin {

using json::Kind;

// One of them, which refers to the text.
class Value {
public:
    explicit Value(json::Value value) : value_(value) {}
    bool is_null() const { return value_.is(Kind::null); }
    bool is_text() const { return value_.is(Kind::string); }
    bool flag() const { return expect(Kind::boolean).raw() == "true"; }
    double real() const { return parse_real(expect(Kind::number).raw()); }
    std::int64_t whole() const {
        const Text digits = expect(Kind::number).raw();
        std::int64_t number = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return number;
    }
    std::size_t count() const { return static_cast<std::size_t>(whole()); }
    std::string text() const { return expect(Kind::string).text(); }
    std::vector<Value> items() const {
        std::vector<Value> all;
        expect(Kind::array).each([&](json::Value item) { all.emplace_back(item); });
        return all;
    }
    std::vector<std::string> texts() const {
        std::vector<std::string> all;
        for (const Value& item : items()) all.push_back(item.text());
        return all;
    }
    bool has(const char* key) const { return bool{value_.member(key)}; }
    // Whether an option that not every function has is there and true.
    bool is_set(const char* key) const { return has(key) && (*this)[key].flag(); }
    Value operator[](const char* key) const {
        const json::Value found = value_.member(key);
        if (!found) throw std::invalid_argument(std::string("the option '") + key + "' is missing");
        return Value(found);
    }
    // Which of the choices a text is.
    template <class Choice>
    Choice choose(std::initializer_list<std::pair<const char*, Choice>> choices) const {
        const std::string wanted = text();
        for (const auto& [known, choice] : choices)
            if (wanted == known) return choice;
        throw std::invalid_argument("unknown choice '" + wanted + "'");
    }

private:
    json::Value expect(Kind kind) const {
        if (!value_.is(kind)) throw std::invalid_argument("an option has another type than the function reads");
        return value_;
    }
    json::Value value_;
};

class Options {
public:
    // The pickle must live longer.
    Options(const std::uint8_t* pickle, std::size_t size) {
        if (!tape_.read(second_text(reinterpret_cast<const char*>(pickle), size))) throw unreadable();
    }
    Value root() const { return Value({&tape_, 0}); }

private:
    static std::invalid_argument unreadable() { return std::invalid_argument("the options of the function cannot be read"); }

    // Python's pickles of protocol 5: what begins and ends them, frames, and a dict from one text to another.
    static Text second_text(const char* bytes, std::size_t size) {
        int texts = 0;
        for (std::size_t at = 0; at < size;) {
            std::size_t width = 0;
            switch (static_cast<unsigned char>(bytes[at++])) {
                case 0x80: ++at; continue;     // PROTO
                case 0x95: at += 8; continue;  // FRAME
                case 0x8C: width = 1; break;   // SHORT_BINUNICODE
                case 'X': width = 4; break;    // BINUNICODE
                case 0x8D: width = 8; break;   // BINUNICODE8
                default: continue;             // EMPTY_DICT, MEMOIZE, SETITEM, STOP
            }
            std::uint64_t length = 0;
            if (size - at < width) break;
            std::memcpy(&length, bytes + at, width);
            at += width;
            if (length > size - at) break;
            if (++texts == 2) return {bytes + at, static_cast<std::size_t>(length)};
            at += static_cast<std::size_t>(length);
        }
        throw unreadable();
    }

    json::Tape tape_;
};

}  // namespace pe::plugin
