// Whether two JSON values are equal: key order and the spelling of numbers and strings do not matter.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "document.hpp"

namespace pe::json {

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
