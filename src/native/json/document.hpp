// A JSON text as a tree.
//
// Valid is what RFC 8259 says, less what has no single value: an object that repeats a key, an escape of half a surrogate
// pair, an exponent of more than 18 digits.
#pragma once

#include "reader.hpp"

namespace pe::json {

struct JsonNode {
    Kind kind = Kind::null;
    bool negative = false;
    Text key;   // within an object
    Text text;  // a string without its escapes, true or false, or the digits of a number without zeros at either end
    std::int64_t exponent = 0;           // the number is 0.digits * 10^exponent
    std::uint32_t first = 0, count = 0;  // where a container's children stand
};

class JsonDocument {
public:
    // Whether the text is valid JSON. The tree refers to the text.
    bool read(Text text) {
        nodes_.clear();
        children_.clear();
        pending_.clear();
        open_.clear();
        decoded_.clear();
        decoded_.reserve(text.size());  // what is decoded is never longer: views into it stay good
        key_ = {};
        depth_ = 0;
        has_huge_number_ = false;
        return reader_.read(text, *this);
    }
    const JsonNode& root() const { return nodes_.back(); }
    // In the order of their keys, for an object.
    const JsonNode& child(const JsonNode& container, std::size_t index) const {
        return nodes_[children_[container.first + index]];
    }
    std::size_t depth() const { return depth_; }
    // A number that a double cannot hold, or an integer of more digits than Python reads.
    bool has_huge_number() const { return has_huge_number_; }

private:
    friend class Reader;
    static constexpr std::size_t most_integer_digits = 4000, most_exponent_digits = 18;
    static constexpr std::int64_t largest_exponent = 308;

    struct Open {
        Text key;
        std::size_t first_pending;
        Kind kind;
    };

    bool begin(Kind kind, const char*) {
        open_.push_back({key_, pending_.size(), kind});
        depth_ = std::max(depth_, open_.size());
        key_ = {};
        return true;
    }
    bool end(const char*) {
        const Open container = open_.back();
        open_.pop_back();
        const auto begin = pending_.begin() + static_cast<std::ptrdiff_t>(container.first_pending);
        if (container.kind == Kind::object) {
            const auto key = [this](std::uint32_t child) { return nodes_[child].key; };
            std::sort(begin, pending_.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
            const auto repeats = [&](std::uint32_t a, std::uint32_t b) { return key(a) == key(b); };
            if (std::adjacent_find(begin, pending_.end(), repeats) != pending_.end()) return false;
        }
        const auto first = static_cast<std::uint32_t>(children_.size());
        const auto count = static_cast<std::uint32_t>(pending_.end() - begin);
        children_.insert(children_.end(), begin, pending_.end());
        pending_.erase(begin, pending_.end());
        key_ = container.key;
        return add({container.kind, false, {}, {}, 0, first, count});
    }
    bool key(Text inside, bool escaped) { return decode(inside, escaped, key_); }
    bool string(Text inside, bool escaped) {
        Text text;
        return decode(inside, escaped, text) && literal(Kind::string, text);
    }
    bool literal(Kind kind, Text text) { return add({kind, false, {}, text}); }
    // Brings a number to its one normal form, so that equal numbers are equal however they are written.
    bool number(const char*& at, const char* end) {
        Number number;
        if (!number.read(at, end)) return false;
        Text power = number.power;
        power.remove_prefix(std::min(power.find_first_not_of('0'), power.size()));
        Text digits = number.whole;
        if (!number.fraction.empty()) {
            const std::size_t start = decoded_.size();
            digits = Text(decoded_.append(number.whole).append(number.fraction)).substr(start);
        }
        const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
        digits.remove_prefix(zeros);
        if (digits.empty()) return literal(Kind::number, {});
        digits.remove_suffix(digits.size() - 1 - digits.find_last_not_of('0'));
        if (power.size() > most_exponent_digits) return false;
        std::int64_t exponent = 0;
        for (const char c : power) exponent = 10 * exponent + (c - '0');
        if (number.negative_power) exponent = -exponent;
        exponent += static_cast<std::int64_t>(number.whole.size()) - static_cast<std::int64_t>(zeros);
        const bool is_integer = number.fraction.empty() && number.power.empty();
        has_huge_number_ |= is_integer ? number.whole.size() > most_integer_digits : exponent > largest_exponent;
        return add({Kind::number, number.negative, {}, digits, exponent});
    }

    // A view of the source, or of a copy if it has escapes.
    bool decode(Text inside, bool escaped, Text& out) {
        const std::size_t start = decoded_.size();
        if (escaped && !unescape(inside, decoded_)) return false;
        out = escaped ? Text(decoded_).substr(start) : inside;
        return true;
    }
    bool add(JsonNode node) {
        node.key = key_;
        key_ = {};
        pending_.push_back(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.push_back(node);
        return true;
    }

    Reader reader_;
    std::vector<JsonNode> nodes_;
    std::vector<std::uint32_t> children_, pending_;
    std::vector<Open> open_;
    Text key_;  // of the value that comes next
    std::string decoded_;
    std::size_t depth_ = 0;
    bool has_huge_number_ = false;
};

// Whether two JSON values are equal: key order and the spelling of numbers and strings do not matter.

class JsonEquality {
public:
    // With `subset`, objects of `output` may have keys that those of `expected` have not.
    bool operator()(const JsonDocument& output, const JsonDocument& expected, bool subset) {
        to_do_.assign(1, {&output.root(), &expected.root()});
        while (!to_do_.empty()) {
            const auto [left, right] = to_do_.back();
            to_do_.pop_back();
            if (left->kind != right->kind) return false;
            switch (left->kind) {
                case Kind::number:
                    if (left->negative != right->negative || left->exponent != right->exponent) return false;
                    [[fallthrough]];
                case Kind::boolean:
                case Kind::string:
                    if (left->text != right->text) return false;
                    break;
                case Kind::array:
                    if (left->count != right->count) return false;
                    for (std::size_t i = 0; i < left->count; ++i)
                        to_do_.push_back({&output.child(*left, i), &expected.child(*right, i)});
                    break;
                case Kind::object:
                    if (!pair_members(output, *left, expected, *right, subset)) return false;
                    break;
                default: break;
            }
        }
        return true;
    }

private:
    // Both sides have their members in the order of the keys.
    bool pair_members(const JsonDocument& output, const JsonNode& left, const JsonDocument& expected, const JsonNode& right,
                      bool subset) {
        if (subset ? left.count < right.count : left.count != right.count) return false;
        std::size_t at = 0;
        for (std::size_t i = 0; i < right.count; ++i, ++at) {
            const JsonNode& wanted = expected.child(right, i);
            while (subset && at < left.count && output.child(left, at).key < wanted.key) ++at;
            if (at == left.count || output.child(left, at).key != wanted.key) return false;
            to_do_.push_back({&output.child(left, at), &wanted});
        }
        return true;
    }

    std::vector<std::pair<const JsonNode*, const JsonNode*>> to_do_;
};

}  // namespace pe::json
