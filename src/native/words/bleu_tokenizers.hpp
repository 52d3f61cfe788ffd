// The tokenizers of sacrebleu's BLEU that are no one else's and need no other package: 13a and intl.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../unicode/characters.hpp"
#include "../unicode/decode.hpp"
#include "../unicode/lowercase.hpp"
#include "../unicode/padded.hpp"
#include "runs.hpp"
#include "tokenizers.hpp"

namespace pe::words {

// Bytes as the tokenizer 13a tells them apart.
struct Kinds13a {
    enum Kind : std::uint8_t { word, space, single, point, digit, dash };
    Kind of[256] = {};
    constexpr Kinds13a() {
        for (int c = 0; c < 256; ++c) {
            const auto byte = static_cast<unsigned char>(c);
            if (unicode::is_ascii_space(byte)) of[c] = space;
            else if (unicode::is_ascii_digit(byte)) of[c] = digit;
            else if (c == '.' || c == ',') of[c] = point;
            else if (c == '-') of[c] = dash;
            else if (c != '\'' && unicode::is_ascii_punctuation(byte)) of[c] = single;
        }
    }
};
inline constexpr Kinds13a kinds_13a;

class BleuTokenReader {
public:
    // Whether 13a treats words between white space one by one: not where it joins what stands at the end of lines, also
    // where <skipped>, in whatever case, stands between the hyphen and that end.
    static bool splits_words_alone(Text text) { return text.find("-\n") == Text::npos && text.find("-<") == Text::npos; }

    // Both append the words of a text. They stand in this reader, and at least 16 bytes are readable at each.

    // sacrebleu's four substitutions, in one pass: punctuation stands alone; points and commas do unless they are
    // between digits; a dash does behind a digit. Where points and commas follow each other, the substitutions take
    // them in pairs, so that it depends on their number whether the last one stays with the digit behind it.
    void v13a(Text text, bool fold_case, WordList& words) {
        clean(text, fold_case);
        const char* const bytes = bytes_.data();
        const std::size_t size = bytes_.size();
        const auto kind = [&](std::size_t i) { return kinds_13a.of[static_cast<unsigned char>(bytes[i])]; };
        // Everything but letters, digits and what is beyond ASCII.
        stops_.classify(bytes, size, bytes_.data(), [](std::uint8_t c, std::uint8_t& out) {
            out = c;
            return static_cast<std::uint8_t>(!((static_cast<std::uint8_t>((c | 0x20) - 'a') < 26) |
                                               (static_cast<std::uint8_t>(c - '0') < 10) | (c >= 0x80)));
        });
        std::size_t begin = 0;  // of the word at hand
        std::size_t done = 0;
        const auto flush = [&](std::size_t end) {
            if (end > begin) words.push(bytes + begin, end - begin);
        };
        stops_.for_each_bit([&](std::size_t i) {
            if (i < done) return;
            const bool behind_digit = i > 0 && kind(i - 1) == Kinds13a::digit;
            switch (kind(i)) {
                case Kinds13a::word:
                case Kinds13a::digit: return;
                case Kinds13a::space:
                    flush(i);
                    begin = i + 1;
                    return;
                case Kinds13a::dash:
                    if (!behind_digit) return;
                    [[fallthrough]];
                case Kinds13a::single:
                    flush(i);
                    words.push(bytes + i, 1);
                    begin = i + 1;
                    return;
                case Kinds13a::point: {
                    done = i + 1;
                    while (done < size && kind(done) == Kinds13a::point) ++done;
                    const bool is_odd = (done - i) % 2 == 1;
                    const bool stays = done < size && kind(done) == Kinds13a::digit && behind_digit == is_odd;
                    if (stays && done - i == 1) return;
                    flush(i);
                    begin = stays ? done - 1 : done;
                    for (std::size_t at = i; at < begin; ++at) words.push(bytes + at, 1);
                    return;
                }
            }
        });
        flush(size);
    }

    void intl(Text text, bool fold_case, WordList& words) {
        if (fold_case) {
            unicode::lower_into(text, bytes_);
            text = bytes_.view();
        }
        text = unicode::strip_end(text);
        unicode::decode(text, false, text.size(), codes_);
        const auto is = [](std::uint32_t code, std::uint8_t kind) { return unicode::is_kind(code, kind); };
        // Punctuation behind anything but a number, then before anything but a number; matches do not overlap.
        spaced_.clear();
        for (std::size_t i = 0; i < codes_.size(); ++i) {
            spaced_.push_back(codes_[i]);
            if (i + 1 == codes_.size() || is(codes_[i], unicode::kind_number) || !is(codes_[i + 1], unicode::kind_punctuation)) continue;
            spaced_.insert(spaced_.end(), {' ', codes_[i + 1], ' '});
            ++i;
        }
        codes_.clear();
        for (std::size_t i = 0; i < spaced_.size(); ++i) {
            if (i + 1 == spaced_.size() || !is(spaced_[i], unicode::kind_punctuation) || is(spaced_[i + 1], unicode::kind_number)) {
                codes_.push_back(spaced_[i]);
                continue;
            }
            codes_.insert(codes_.end(), {' ', spaced_[i], ' ', spaced_[i + 1]});
            ++i;
        }
        spread_.clear();
        for (const std::uint32_t code : codes_) {
            const bool symbol = is(code, unicode::kind_symbol);
            if (symbol) spread_.push(' ');
            spread_.push_code_point(code);
            if (symbol) spread_.push(' ');
        }
        reader_.split(spread_.view(), words);
    }

private:
    // What 13a does before it splits: entities, hyphenated line ends and <skipped> marks.
    void clean(Text text, bool fold_case) {
        if (fold_case) unicode::lower_into(unicode::strip_end(text), bytes_);
        else bytes_.assign(unicode::strip_end(text));
        const Text line = bytes_.view();
        if (line.find('&') != Text::npos || line.find("-\n") != Text::npos || line.find("<skipped>") != Text::npos) {
            line_ = line;
            unescape();
            bytes_.assign(line_);
        }
        if (!unicode::is_ascii(bytes_.view())) unicode::blank_wide_spaces(bytes_);
    }
    void unescape() {
        replace_all("<skipped>", "");
        replace_all("-\n", "");
        replace_all("&quot;", "\"");
        replace_all("&amp;", "&");
        replace_all("&lt;", "<");
        replace_all("&gt;", ">");
    }
    void replace_all(Text from, Text to) {
        std::size_t at = line_.find(from);
        if (at == std::string::npos) return;
        std::string out;
        std::size_t done = 0;
        for (; at != std::string::npos; at = line_.find(from, done)) {
            out.append(line_, done, at - done).append(to);
            done = at + from.size();
        }
        line_ = out.append(line_, done, std::string::npos);
    }

    TokenReader reader_;
    unicode::PaddedText bytes_, spread_;
    Runs stops_;
    std::string line_;
    std::vector<std::uint32_t> codes_, spaced_;
};

}  // namespace pe::words
