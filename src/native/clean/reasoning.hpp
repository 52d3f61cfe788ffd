// Reasoning that models write before they answer: between tags or marks, or in the analysis channel of Harmony messages.
#pragma once

#include "code.hpp"

namespace pe::clean {

class StripReasoning {
public:
    Found operator()(Text text) {
        if (text.find('<') == Text::npos && !has_other_marks(text)) return strip_unmarked(text);
        pieces_.clear();
        bool found = false;
        if (text.find(channel_mark) != Text::npos || text.find(start_mark) != Text::npos) {
            text = read_messages(text, found);
            if (found) {
                // Tags may stand in the final message too.
                messages_.assign(text);
                text = messages_.view();
            }
        }
        find_tags(text);
        if (tags_.empty() || !keep_outside(text)) return found ? found_text(text) : strip_unmarked(text);
        return found_text(unwrapped(pieces_.view()));
    }

private:
    struct Tag {
        std::size_t begin, end, name;
        bool closes;
    };
    struct Pair {
        Text open, close;
    };
    static constexpr Text names[] = {"think", "thinking", "reasoning", "thought", "scratchpad", "seed:think"};
    // Tokens of models that write no tags: Magistral, Kimi, Command, OpenThinker. Upper and lower case are theirs.
    static constexpr Pair marks[] = {{"[THINK]", "[/THINK]"},
                                     {"\xe2\x97\x81"
                                      "think\xe2\x96\xb7",
                                      "\xe2\x97\x81/think\xe2\x96\xb7"},
                                     {"<|START_THINKING|>", "<|END_THINKING|>"},
                                     {"<|begin_of_thought|>", "<|end_of_thought|>"}};
    // What the last two put around their answer.
    static constexpr Pair wrappers[] = {{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
                                        {"<|begin_of_solution|>", "<|end_of_solution|>"}};
    static constexpr Text start_mark = "<|start|>", channel_mark = "<|channel|>", message_mark = "<|message|>";
    static constexpr Text end_marks[] = {"<|end|>", "<|return|>", "<|call|>", start_mark, channel_mark};
    static constexpr std::size_t longest_attributes = 200, longest_header = 200, most_looks = 32;

    void find_tags(Text text) {
        tags_.clear();
        const auto read_from = [&](Text lead) {
            for (std::size_t at = text.find(lead); at != Text::npos; at = text.find(lead, at + 1)) {
                Tag tag;
                if (!read_tag(text, at, tag) && !read_mark(text, at, tag)) continue;
                tags_.push_back(tag);
                at = tag.end - 1;
            }
        };
        read_from("<");
        if (has_other_marks(text)) {
            read_from("[");
            read_from("\xe2\x97\x81");
            std::sort(tags_.begin(), tags_.end(), [](const Tag& a, const Tag& b) { return a.begin < b.begin; });
        }
    }
    // Whether there are marks that begin with no "<".
    static bool has_other_marks(Text text) {
        for (std::size_t at = text.find('['); at != Text::npos; at = text.find('[', at + 1)) {
            const Text rest = text.substr(at);
            for (const Text mark : {marks[0].open, marks[0].close})
                if (rest.substr(0, mark.size()) == mark) return true;
        }
        return text.find("\xe2\x97\x81") != Text::npos;
    }
    static bool read_mark(Text text, std::size_t at, Tag& tag) {
        for (std::size_t i = 0; i < std::size(marks); ++i) {
            for (const Text mark : {marks[i].open, marks[i].close}) {
                if (text.substr(at, mark.size()) != mark) continue;
                tag = {at, at + mark.size(), std::size(names) + i, mark == marks[i].close};
                return true;
            }
        }
        return false;
    }
    static bool read_tag(Text text, std::size_t at, Tag& tag) {
        if (text[at] != '<') return false;
        tag.begin = at++;
        tag.closes = at < text.size() && text[at] == '/';
        at += tag.closes;
        const Text rest = text.substr(at);
        std::size_t name = std::size(names);
        for (std::size_t i = 0; i < std::size(names); ++i)
            if (starts_with_folded(rest, names[i]) && (name == std::size(names) || names[i].size() > names[name].size()))
                name = i;
        if (name == std::size(names)) return false;
        std::size_t end = names[name].size();
        if (end < rest.size() && rest[end] != '>') {
            if (!unicode::is_ascii_space(static_cast<unsigned char>(rest[end]))) return false;
            const Text attributes = rest.substr(end, longest_attributes);
            end += std::min(attributes.find_first_of("<>"), attributes.size());
        }
        if (end >= rest.size() || rest[end] != '>') return false;
        tag.end = at + end + 1;
        tag.name = name;
        return true;
    }

    // A closing tag without its opening ends reasoning that began with the text; an opening one without its end begins
    // reasoning up to the end of the text. A tag in code is a word, but once reasoning has begun the first closing tag ends
    // it, wherever it stands: what is code behind it does not depend on fences inside. False if all tags are words.
    bool keep_outside(Text text) {
        pieces_.clear();
        std::size_t from = 0, looks = 0;
        const Tag* open = nullptr;
        bool found = false;
        regions_ = code_.find(text);
        region_ = 0;
        for (const Tag& tag : tags_) {
            if (tag.begin < from) continue;
            if (open) {
                if (!tag.closes || tag.name != open->name) continue;
                open = nullptr;
            } else if (is_code(tag.begin)) {
                continue;
            } else if (tag.closes) {
                pieces_.clear();
            } else {
                keep(text.substr(from, tag.begin - from));
                open = &tag;
                found = true;
                continue;
            }
            found = true;
            from = tag.end;
            // Looked for again where code that began in the reasoning goes on behind it; not without limit.
            if (is_code(from - 1) && looks++ < most_looks) find_code_from(text, from);
        }
        if (!open && found) keep(text.substr(from));
        return found;
    }
    bool is_code(std::size_t at) {
        while (region_ < regions_.size() && regions_[region_].end <= at) ++region_;
        return region_ < regions_.size() && regions_[region_].begin <= at;
    }
    void find_code_from(Text text, std::size_t from) {
        regions_ = code_.find(text.substr(from));
        for (Region& region : regions_) region = {region.begin + from, region.end + from};
        region_ = 0;
    }
    // Pieces that were apart stay apart.
    void keep(Text piece) {
        if (piece.empty()) return;
        const bool joined = pieces_.size() > 0 && !unicode::is_ascii_space(static_cast<unsigned char>(pieces_.view().back())) &&
                            !unicode::is_ascii_space(static_cast<unsigned char>(piece.front()));
        if (joined) pieces_.push(' ');
        pieces_.append(piece.data(), piece.size());
    }

    // What the messages of Harmony say outside of the analysis channel, without their marks.
    Text read_messages(Text text, bool& found) {
        for (std::size_t at = 0; at <= text.size();) {
            std::size_t message = 0;
            const std::size_t header = find_header(text, at, message);
            if (header == Text::npos) {
                keep(found ? without_end(text.substr(at)) : text.substr(at));
                break;
            }
            found = true;
            keep(without_end(text.substr(at, header - at)));
            const Text head = text.substr(header, message - header);
            const std::size_t channel = head.find(channel_mark);
            const bool analysis =
                channel != Text::npos && starts_with_folded(head.substr(channel + channel_mark.size()), "analysis");
            at = message + message_mark.size();
            const Text content = without_end(text.substr(at));
            if (!analysis) keep(content);
            at += content.size();
            const Text mark = end_mark(text.substr(at));
            if (mark != start_mark && mark != channel_mark) at += mark.size();
            if (at == text.size()) break;
        }
        return found ? pieces_.view() : text;
    }
    // Where the next message begins, and where the mark in front of its text stands.
    static std::size_t find_header(Text text, std::size_t from, std::size_t& message) {
        for (std::size_t at = text.find("<|", from); at != Text::npos; at = text.find("<|", at + 2)) {
            const Text mark = end_mark(text.substr(at));
            if (mark != start_mark && mark != channel_mark) continue;
            const std::size_t behind = text.substr(at, longest_header).find(message_mark);
            if (behind == Text::npos) continue;
            message = at + behind;
            return at;
        }
        return Text::npos;
    }
    static Text end_mark(Text text) {
        for (const Text mark : end_marks)
            if (text.substr(0, mark.size()) == mark) return mark;
        return {};
    }
    static Text without_end(Text text) {
        for (std::size_t at = text.find("<|"); at != Text::npos; at = text.find("<|", at + 2))
            if (!end_mark(text.substr(at)).empty()) return text.substr(0, at);
        return text;
    }

    static Text unwrapped(Text text) {
        text = unicode::strip(text);
        for (const Pair& wrapper : wrappers) {
            if (text.substr(0, wrapper.open.size()) == wrapper.open) text.remove_prefix(wrapper.open.size());
            const std::size_t size = wrapper.close.size();
            if (text.size() >= size && text.substr(text.size() - size) == wrapper.close) text.remove_suffix(size);
        }
        return text;
    }

    // Harmony messages whose marks were dropped when the tokens became text, and Granite, which says it in words.
    static Found strip_unmarked(Text text) {
        constexpr Text analysis = "analysis", final_message = "assistantfinal";
        if (text.substr(0, analysis.size()) == analysis) {
            const std::size_t at = text.rfind(final_message);
            return at == Text::npos ? nothing_in(text) : found_text(text.substr(at + final_message.size()));
        }
        constexpr Pair phrases[] = {{"Here is my thought process:", "Here is my response:"},
                                    {"Here's my thought process:", "Here's my response:"}};
        for (const Pair& phrase : phrases) {
            if (unicode::strip(text).substr(0, phrase.open.size()) != phrase.open) continue;
            const std::size_t at = text.find(phrase.close);
            return found_text(at == Text::npos ? Text() : text.substr(at + phrase.close.size()));
        }
        return nothing_in(text);
    }

    CodeRegions code_;
    std::vector<Region> regions_;  // of code in the text at hand, and the first one that is not passed
    std::size_t region_ = 0;
    std::vector<Tag> tags_;
    unicode::PaddedText pieces_, messages_;
};

}  // namespace pe::clean
