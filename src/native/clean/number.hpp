// The last number in a text, as people write them: signs, thousands separators, exponents, percent signs.
#pragma once

#include <cstddef>
#include <string>

#include "extract.hpp"

namespace pe::clean {

class LastNumber {
public:
    // Looks for the last number. It may end in an exponent or a percent sign. A sign counts where no letter or digit stands
    // right before it: "10-20" ends in 20, "x = -20" in -20. A point begins a number where no other stands before it: "so...5"
    // ends in 5. A comma that separates no thousands separates numbers.
    bool read(Text text) {
        const Found window = NumberWindow()(text);
        if (!window.found) return false;
        // What stands before a number is the first character of its match, so there must be one.
        text_.assign(1, ' ');
        text_.append(window.text);
        const Text found = find_last(text_);
        if (found.empty()) return false;
        is_percent_ = found.back() == '%';
        body_ = found.substr(begin_of_number(found));
        if (is_percent_) body_ = without_percent(body_);
        is_list_ = body_.find(',') != Text::npos && !is_grouped(body_);
        if (is_list_) body_ = body_.substr(body_.rfind(',') + 1);
        is_negative_ = !is_list_ && has_minus(found);
        digits_.clear();
        for (const char c : body_)
            if (c != ',') digits_ += c;
        return true;
    }

    // As a float is written, without separators.
    std::string decimal() const { return (is_negative_ ? "-" : "") + digits_ + (is_percent_ ? "e-2" : ""); }
    // A whole number without leading zeros, so that equal numbers are equal texts.
    bool is_whole() const { return !is_percent_ && digits_.find_first_not_of("0123456789") == std::string::npos; }
    std::string whole() const {
        const std::size_t first = digits_.find_first_not_of('0');
        return first == std::string::npos ? "" : (is_negative_ ? "-" : "") + digits_.substr(first);
    }
    // As it is written, without a currency sign.
    std::string written() const { return (is_negative_ ? "-" : "") + std::string(body_) + (is_percent_ ? "%" : ""); }

private:
    // What \s matches in Polars' regular expressions.
    static bool is_white(std::uint32_t code) { return unicode::is_space(code) && !(code >= 0x1C && code <= 0x1F); }
    static bool is_digit(Text text, std::size_t at) { return at < text.size() && unicode::is_ascii_digit(static_cast<unsigned char>(text[at])); }
    static std::uint32_t code_at(Text text, std::size_t at, std::size_t& behind) {
        const char* here = text.data() + at;
        const std::uint32_t code = at < text.size() ? unicode::next(here, text.data() + text.size()) : 0;
        behind = static_cast<std::size_t>(here - text.data());
        return code;
    }
    static bool is_word(std::uint32_t code) {
        if (code >= 0x80) return unicode::is_kind(code, unicode::kind_word);
        return unicode::is_ascii_digit(static_cast<unsigned char>(code)) || unicode::is_ascii_letter(static_cast<unsigned char>(code)) || code == '_';
    }
    static std::size_t behind_digits(Text text, std::size_t at) {
        while (is_digit(text, at)) ++at;
        return at;
    }
    // Behind a sign with or without a currency, or `at` itself.
    static std::size_t behind_sign(Text text, std::size_t at) {
        std::size_t behind;
        const std::uint32_t sign = code_at(text, at, behind);
        if (sign != '-' && sign != '+' && sign != 0x2212) return at;
        std::size_t further;
        const std::uint32_t currency = code_at(text, behind, further);
        return currency == '$' || currency == 0x20AC || currency == 0xA3 || currency == 0xA5 ? further : behind;
    }
    // Behind digits with commas between them and perhaps a fraction, or `at` itself.
    static std::size_t behind_number(Text text, std::size_t at) {
        if (!is_digit(text, at)) return at;
        at = behind_digits(text, at);
        while (at < text.size() && text[at] == ',' && is_digit(text, at + 1)) at = behind_digits(text, at + 1);
        return at < text.size() && text[at] == '.' && is_digit(text, at + 1) ? behind_digits(text, at + 1) : at;
    }
    static std::size_t behind_units(Text text, std::size_t at) {
        if (at < text.size() && (text[at] | 0x20) == 'e') {
            const std::size_t sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
            if (is_digit(text, at + 1 + sign)) return behind_digits(text, at + 1 + sign);
        }
        std::size_t behind;
        const std::uint32_t code = code_at(text, at, behind);
        if (at < text.size() && is_white(code) && behind < text.size() && text[behind] == '%') return behind + 1;
        return at < text.size() && text[at] == '%' ? at + 1 : at;
    }
    // Where a match that begins here ends, or `at` itself.
    static std::size_t match(Text text, std::size_t at) {
        std::size_t behind;
        const std::uint32_t before = code_at(text, at, behind);
        if (!is_word(before)) {
            const auto is_point = [&](std::size_t place) { return place < text.size() && text[place] == '.' && is_digit(text, place + 1); };
            const std::size_t sign = behind_sign(text, behind);
            if (before != '.' && is_point(sign)) return behind_units(text, behind_digits(text, sign + 1));
            if (before != '.' && is_point(behind)) return behind_units(text, behind_digits(text, behind + 1));
            if (sign > behind && is_digit(text, sign)) return behind_units(text, behind_number(text, sign));
        }
        const std::size_t end = behind_number(text, at);
        return end > at ? behind_units(text, end) : at;
    }
    static Text find_last(Text text) {
        Text last;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = match(text, at);
            if (end > at) {
                last = text.substr(at, end - at);
                at = end;
            } else code_at(text, at, at);
        }
        return last;
    }

    static std::size_t begin_of_number(Text found) {
        std::size_t at = 0;
        while (!is_digit(found, at) && !(found[at] == '.' && is_digit(found, at + 1))) ++at;
        return at;
    }
    static Text without_percent(Text text) {
        text.remove_suffix(1);
        const char* end = text.data() + text.size();
        return !text.empty() && is_white(unicode::previous(text.data(), end)) ? Text(text.data(), static_cast<std::size_t>(end - text.data())) : text;
    }
    static bool is_grouped(Text text) {
        std::size_t at = behind_digits(text, 0);
        if (at == 0 || at > 3 || at == text.size() || text[at] != ',') return false;
        while (at < text.size() && text[at] == ',') {
            if (behind_digits(text, at + 1) != at + 4) return false;
            at += 4;
        }
        return at == text.size() || text[at] == '.' || (text[at] | 0x20) == 'e';
    }
    static bool has_minus(Text found) {
        std::size_t behind, further;
        const std::uint32_t first = code_at(found, 0, behind), second = code_at(found, behind, further);
        return !unicode::is_ascii_digit(static_cast<unsigned char>(first < 0x80 ? first : 0)) && (second == '-' || second == 0x2212);
    }

    std::string text_, digits_;
    Text body_;
    bool is_percent_ = false, is_list_ = false, is_negative_ = false;
};

}  // namespace pe::clean
