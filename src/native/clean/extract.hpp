// What an answer holds: the JSON in prose, the last box of LaTeX, what stands behind a marker.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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
    static bool is_in_number(char c) { return unicode::is_ascii_digit(static_cast<unsigned char>(c)) || c == '.' || c == ',' || c == '/'; }
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
        const char byte = marker[rare], other = !case_sensitive_ && byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 0x20) : byte;
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

// The part of a text that its last number is in, nothing where there is none, with what stands right before and behind it: what decides about signs
// and units. The rest is for a regular expression, which need not see the whole text.
class NumberWindow {
public:
    Found operator()(Text text) const {
        const char* const begin = text.data();
        const char* const end = begin + text.size();
        const std::size_t last = find_last_if(text, [](char c) { return unicode::is_ascii_digit(static_cast<unsigned char>(c)); });
        if (last == Text::npos) return {};
        const char* const digit = begin + last + 1;
        const char* behind = digit;
        for (int i = 0; i < 2 && behind < end; ++i) unicode::next(behind, end);
        const char* start = digit;
        std::uint32_t after = 0;
        while (start > begin) {
            const char* at = start;
            const std::uint32_t code = unicode::previous(begin, at);
            start = at;
            if (!(is_part(code) || (after == '%' && unicode::is_space(code)))) break;
            after = code;
        }
        return {between(start, behind), true};
    }

private:
    static bool is_part(std::uint32_t code) {
        if (code < 0x80) return unicode::is_ascii_digit(static_cast<unsigned char>(code)) || Text(".,eE+-$%").find(static_cast<char>(code)) != Text::npos;
        return code == 0x2212 || code == 0x20AC || code == 0xA3 || code == 0xA5;
    }
};

}  // namespace pe::clean
