// The options of a call: JSON in a text, which is the only value of a pickled dict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../core/text.hpp"
#include "number.hpp"

namespace pe::plugin {

class Value {
public:
    bool is_null() const { return kind_ == Kind::null; }
    bool is_text() const { return kind_ == Kind::text; }
    bool flag() const { return expect(Kind::flag).whole_ != 0; }
    double real() const { return expect(Kind::number).real_; }
    std::int64_t whole() const { return expect(Kind::number).whole_; }
    std::size_t count() const { return static_cast<std::size_t>(whole()); }
    const std::string& text() const { return expect(Kind::text).text_; }
    const std::vector<Value>& items() const { return expect(Kind::list).items_; }
    std::vector<std::string> texts() const {
        std::vector<std::string> all;
        for (const Value& item : items()) all.push_back(item.text());
        return all;
    }
    bool has(const char* key) const { return find(key) != nullptr; }
    const Value& operator[](const char* key) const {
        const Value* found = find(key);
        if (!found) throw std::invalid_argument(std::string("the option '") + key + "' is missing");
        return *found;
    }
    // Which of the choices a text is.
    template <class Choice>
    Choice choose(std::initializer_list<std::pair<const char*, Choice>> choices) const {
        for (const auto& [known, choice] : choices)
            if (text() == known) return choice;
        throw std::invalid_argument("unknown choice '" + text() + "'");
    }

    static Value parse(Text json) {
        Value value;
        const char* at = json.data();
        value.read(at, at + json.size());
        return value;
    }
    static Value unpickle(const std::uint8_t* bytes, std::size_t size) {
        return parse(second_text(reinterpret_cast<const char*>(bytes), size));
    }

private:
    enum class Kind { null, flag, number, text, list, object };

    const Value& expect(Kind kind) const {
        if (kind_ != kind) throw std::invalid_argument("an option has another type than the function reads");
        return *this;
    }
    const Value* find(const char* key) const {
        for (std::size_t i = 0; i < keys_.size(); ++i)
            if (keys_[i] == key) return &items_[i];
        return nullptr;
    }

    // Python's pickles of protocol 5: what begins and ends them, frames, and a dict from one text to another.
    static Text second_text(const char* bytes, std::size_t size) {
        int texts = 0;
        for (std::size_t at = 0; at < size;) {
            const auto code = static_cast<unsigned char>(bytes[at++]);
            std::size_t width = 0;
            switch (code) {
                case 0x80: ++at; continue;      // PROTO
                case 0x95: at += 8; continue;   // FRAME
                case 0x8C: width = 1; break;    // SHORT_BINUNICODE
                case 'X': width = 4; break;     // BINUNICODE
                case 0x8D: width = 8; break;    // BINUNICODE8
                default: continue;              // EMPTY_DICT, MEMOIZE, SETITEM, STOP
            }
            std::uint64_t length = 0;
            if (size - at < width) break;
            std::memcpy(&length, bytes + at, width);
            at += width;
            if (length > size - at) break;
            if (++texts == 2) return {bytes + at, static_cast<std::size_t>(length)};
            at += static_cast<std::size_t>(length);
        }
        throw std::invalid_argument("the options of the function cannot be read");
    }

    static void skip(const char*& at, const char* end) {
        while (at < end && (*at == ' ' || *at == ',' || *at == ':' || *at == '\n')) ++at;
    }
    void read(const char*& at, const char* end) {
        skip(at, end);
        if (at == end) throw std::invalid_argument("the options of the function end early");
        switch (*at) {
            case '{': return read_all(Kind::object, '}', at, end);
            case '[': return read_all(Kind::list, ']', at, end);
            case '"':
                kind_ = Kind::text;
                text_ = read_text(at, end);
                return;
            case 'n': at += 4; return;
            case 't':
            case 'f':
                kind_ = Kind::flag;
                whole_ = *at == 't';
                at += *at == 't' ? 4 : 5;
                return;
            default: break;
        }
        const char* const begin = at;
        bool is_whole = true;
        for (; at < end && *at != ',' && *at != ']' && *at != '}' && *at != ' '; ++at) is_whole &= *at != '.' && *at != 'e';
        kind_ = Kind::number;
        real_ = parse_real({begin, static_cast<std::size_t>(at - begin)});
        for (const char* digit = begin; is_whole && digit < at; ++digit)
            if (*digit != '-') whole_ = 10 * whole_ + (*digit - '0');
        if (*begin == '-') whole_ = -whole_;
    }
    void read_all(Kind kind, char close, const char*& at, const char* end) {
        constexpr std::size_t usual = 12;
        kind_ = kind;
        items_.reserve(usual);
        if (kind == Kind::object) keys_.reserve(usual);
        for (++at, skip(at, end); at < end && *at != close; skip(at, end)) {
            if (kind == Kind::object) {
                keys_.push_back(read_text(at, end));
                skip(at, end);
            }
            items_.emplace_back().read(at, end);
        }
        ++at;
    }
    // As Python writes texts: with escapes for quotes, backslashes and control characters only.
    static std::string read_text(const char*& at, const char* end) {
        std::string text;
        for (++at; at < end && *at != '"'; ++at) {
            if (*at != '\\') {
                text += *at;
                continue;
            }
            switch (*++at) {
                case 'n': text += '\n'; break;
                case 't': text += '\t'; break;
                case 'r': text += '\r'; break;
                case 'b': text += '\b'; break;
                case 'f': text += '\f'; break;
                case 'u': {
                    unsigned code = 0;
                    for (int i = 0; i < 4; ++i) {
                        const char c = *++at;
                        code = 16 * code + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
                    }
                    text += static_cast<char>(code);
                    break;
                }
                default: text += *at;
            }
        }
        ++at;
        return text;
    }

    Kind kind_ = Kind::null;
    double real_ = 0;
    std::int64_t whole_ = 0;
    std::string text_;
    std::vector<std::string> keys_;
    std::vector<Value> items_;
};

}  // namespace pe::plugin
