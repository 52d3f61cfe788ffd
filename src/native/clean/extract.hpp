// What an answer holds: the JSON in prose, the last box of LaTeX, what stands behind a marker.
#pragma once

#include "../json/reader.hpp"
#include "found.hpp"

namespace pe::clean {

// The last complete object or array.
//
// One pass: where the text stops being JSON, no container that is open can be completed, but those that were completed
// inside of it are values of their own. What was a string in it may have been prose with a value in it: it is read again,
// as long as all that is read again is no more than the text.
class ExtractJson {
public:
    Found operator()(Text text) {
        const char* at = text.data();
        const char* const end = at + text.size();
        begin_ = behind_ = nullptr;
        std::size_t again = text.size();
        while (at < end) {
            if (*at != '{' && *at != '[') {
                ++at;
                continue;
            }
            suspect_ = nullptr;
            open_.clear();
            if (reader_.read_value(at, end, *this)) continue;
            if (suspect_ && suspect_ < at && static_cast<std::size_t>(at - suspect_) <= again) {
                again -= static_cast<std::size_t>(at - suspect_);
                at = suspect_;
            }
        }
        return begin_ ? found_text(between(begin_, behind_)) : nothing_in(text);
    }

private:
    friend class json::Reader;

    bool begin(json::Kind, const char* at) {
        open_.push_back(at);
        return true;
    }
    bool end(const char* behind) {
        if (behind >= behind_) {
            begin_ = open_.back();
            behind_ = behind;
        }
        open_.pop_back();
        return true;
    }
    bool key(Text inside, bool escaped) { return string(inside, escaped); }
    bool string(Text inside, bool) {
        if (!suspect_ && inside.find_first_of("{[") != Text::npos) suspect_ = inside.data();
        return true;
    }
    static bool literal(json::Kind, Text) { return true; }
    static bool number(const char*& at, const char* end) { return json::Number().read(at, end); }

    json::Reader reader_;
    const char *begin_ = nullptr, *behind_ = nullptr;  // the last complete container
    const char* suspect_ = nullptr;                    // the first string with a bracket in it, in what is being read
    std::vector<const char*> open_;
};

// What is in the last \boxed{…} or \fbox{…}, braces inside included.
class ExtractBoxed {
public:
    Found operator()(Text text) {
        if (text.find("box") == Text::npos) return nothing_in(text);
        open_.clear();
        Found found = nothing_in(text);
        const char* best = nullptr;
        const char* const end = text.data() + text.size();
        const char* box = nullptr;  // where a brace opens a box
        for (const char* at = text.data(); at < end; ++at) {
            switch (*at) {
                case '\\': {
                    const Text rest = between(at + 1, end);
                    const std::size_t name = rest.substr(0, 5) == "boxed" ? 5 : rest.substr(0, 4) == "fbox" ? 4 : 0;
                    if (name == 0) {
                        ++at;  // an escaped brace is a character
                        break;
                    }
                    at += name;
                    box = at + 1;
                    while (box < end && (*box == ' ' || *box == '\n')) ++box;
                    // TeX takes a number without braces too: \boxed 7
                    if (box > at + 1) {
                        const char* behind = box + (box < end && *box == '-');
                        while (behind < end && is_in_number(*behind)) ++behind;
                        while (behind > box && !unicode::is_ascii_digit(static_cast<unsigned char>(behind[-1]))) --behind;
                        if (behind == box) break;
                        best = box;
                        found = found_text(between(box, behind));
                    }
                    break;
                }
                case '{': open_.push_back({at + 1, at == box}); break;
                case '}':
                    if (open_.empty()) break;
                    if (open_.back().is_box && open_.back().begin > best) {
                        best = open_.back().begin;
                        found = found_text(between(best, at));
                    }
                    open_.pop_back();
                    break;
                default: break;
            }
        }
        return found;
    }

private:
    static bool is_in_number(char c) {
        return unicode::is_ascii_digit(static_cast<unsigned char>(c)) || c == '.' || c == ',' || c == '/';
    }
    struct Open {
        const char* begin;
        bool is_box;
    };
    std::vector<Open> open_;
};

// What stands behind the last of the markers: the rest of its line, or of the text where nothing else is in the line.
class ExtractAfter {
public:
    // The markers are lowercase where case does not count.
    ExtractAfter(const std::vector<std::string>& markers, bool case_sensitive)
        : markers_(markers), case_sensitive_(case_sensitive) {}

    Found operator()(Text text) const {
        std::size_t behind = 0;
        for (const std::string& marker : markers_) behind = std::max(behind, find_last(text, marker, behind));
        if (behind == 0) return nothing_in(text);
        const Text rest = text.substr(behind);
        const Text line = without_emphasis(unicode::strip(rest.substr(0, rest.find('\n'))));
        return found_text(line.empty() ? without_emphasis(unicode::strip(rest)) : line);
    }

private:
    // The second half of **Answer:** 42, and of **Answer: 42**.
    static Text without_emphasis(Text text) {
        for (const Text mark : {Text("**"), Text("__")}) {
            std::size_t count = 0;
            for (std::size_t at = text.find(mark); at != Text::npos; at = text.find(mark, at + 2)) ++count;
            if (count % 2 == 0) continue;
            if (text.substr(0, 2) == mark) text.remove_prefix(2);
            else if (text.size() >= 2 && text.substr(text.size() - 2) == mark) text.remove_suffix(2);
        }
        return unicode::strip(text);
    }
    // Where the last marker ends that does not end before `least`, or 0. From the end of the text, where answers are, and
    // from one place to the next that has the byte of the marker that is rarest in texts.
    std::size_t find_last(Text text, Text marker, std::size_t least) const {
        if (text.size() < marker.size()) return 0;
        const std::size_t rare = rarest(marker);
        const char byte = marker[rare],
                   other = !case_sensitive_ && byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 0x20) : byte;
        for (std::size_t end = text.size() - marker.size() + rare + 1;;) {
            const std::size_t at = find_last_if(text.substr(0, end), [&](char c) { return (c == byte) | (c == other); });
            if (at == Text::npos || at < rare || at - rare + marker.size() <= least) return 0;
            const Text here = text.substr(at - rare, marker.size());
            if (case_sensitive_ ? here == marker : starts_with_folded(here, marker)) return at - rare + marker.size();
            end = at;
        }
    }
    static std::size_t rarest(Text marker) {
        // Letters from the rarest to the most frequent; signs are rarer than any, white space is everywhere.
        constexpr Text letters = "zqxjkvbpygfwmucldrhsnioate ";
        std::size_t best = 0, best_place = Text::npos;
        for (std::size_t i = 0; i < marker.size(); ++i) {
            const std::size_t place = letters.find(unicode::ascii_lower(marker[i])) + 1;  // none is 0
            if (place >= best_place) continue;
            best = i;
            best_place = place;
        }
        return best;
    }

    const std::vector<std::string>& markers_;
    bool case_sensitive_;
};

// The last number in a text, as people write them: signs, thousands separators, exponents, percent signs.

class LastNumber {
public:
    // Looks for the last number. It may end in an exponent or a percent sign. A sign counts where no letter or digit stands
    // right before it: "10-20" ends in 20, "x = -20" in -20. A point begins a number where no other stands before it: "so...5"
    // ends in 5. A comma that separates no thousands separates numbers.
    bool read(Text text) {
        const Text window = window_of(text);
        if (window.empty()) return false;
        // What stands before a number is the first character of its match, so there must be one.
        text_.assign(1, ' ');
        text_.append(window);
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

    // The part of a text that its last number is in, nothing where there is none, with what stands right before and behind it:
    // what decides about signs and units.
    static Text window_of(Text text) {
        const char* const begin = text.data();
        const char* const end = begin + text.size();
        const std::size_t last =
            find_last_if(text, [](char c) { return unicode::is_ascii_digit(static_cast<unsigned char>(c)); });
        if (last == Text::npos) return {};
        const char* const digit = begin + last + 1;
        const char* behind = digit;
        for (int i = 0; i < 2 && behind < end; ++i) unicode::next(behind, end);
        const char* start = digit;
        for (std::uint32_t code = 0, after = 0; start > begin; after = code) {
            code = unicode::previous(begin, start);
            if (!(is_part(code) || (after == '%' && unicode::is_space(code)))) break;
        }
        return between(start, behind);
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
    static bool is_part(std::uint32_t code) {
        if (code >= 0x80) return code == 0x2212 || is_currency(code);
        return unicode::is_ascii_digit(static_cast<unsigned char>(code)) ||
               Text(".,eE+-$%").find(static_cast<char>(code)) != Text::npos;
    }
    static bool is_currency(std::uint32_t code) { return code == '$' || code == 0x20AC || code == 0xA3 || code == 0xA5; }
    static bool is_digit(Text text, std::size_t at) {
        return at < text.size() && unicode::is_ascii_digit(static_cast<unsigned char>(text[at]));
    }
    static std::uint32_t code_at(Text text, std::size_t at, std::size_t& behind) {
        const char* here = text.data() + at;
        const std::uint32_t code = at < text.size() ? unicode::next(here, text.data() + text.size()) : 0;
        behind = static_cast<std::size_t>(here - text.data());
        return code;
    }
    static bool is_word(std::uint32_t code) {
        if (code >= 0x80) return unicode::is_kind(code, unicode::kind_word);
        return unicode::is_ascii_alphanumeric(static_cast<unsigned char>(code)) || code == '_';
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
        return is_currency(code_at(text, behind, further)) ? further : behind;
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
        if (at < text.size() && unicode::is_white(code) && behind < text.size() && text[behind] == '%') return behind + 1;
        return at < text.size() && text[at] == '%' ? at + 1 : at;
    }
    // Where a match that begins here ends, or `at` itself.
    static std::size_t match(Text text, std::size_t at) {
        std::size_t behind;
        const std::uint32_t before = code_at(text, at, behind);
        if (!is_word(before)) {
            const auto is_point = [&](std::size_t place) {
                return place < text.size() && text[place] == '.' && is_digit(text, place + 1);
            };
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
        return !text.empty() && unicode::is_white(unicode::previous(text.data(), end))
                   ? Text(text.data(), static_cast<std::size_t>(end - text.data()))
                   : text;
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
        return !unicode::is_ascii_digit(static_cast<unsigned char>(first < 0x80 ? first : 0)) &&
               (second == '-' || second == 0x2212);
    }

    std::string text_, digits_;
    Text body_;
    bool is_percent_ = false, is_list_ = false, is_negative_ = false;
};

}  // namespace pe::clean
