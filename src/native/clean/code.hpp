// Code in Markdown: fences, and code between backticks within a line.
#pragma once

#include <unordered_map>

#include "../unicode/padded.hpp"
#include "found.hpp"

namespace pe::clean {

struct Fence {
    std::size_t begin = 0, end = 0;                  // with its two lines
    std::size_t content_begin = 0, content_end = 0;  // between them
    std::size_t indent = 0;
    bool closed = false;
};

class Fences {
public:
    // All fences of a text. A fence inside a fence that names its language is part of it, unless the outer one would
    // then have no end.
    const std::vector<Fence>& find(Text text) {
        if (!find(text, true)) find(text, false);
        return fences_;
    }

private:
    struct Line {
        std::size_t indent = 0, run = 0;
        char mark = 0;
        bool has_info = false;
        std::size_t behind = 0;  // where the line goes on behind the run
    };

    // False if a fence inside a fence leaves the outer one open.
    bool find(Text text, bool nested) {
        fences_.clear();
        std::vector<std::size_t> open;  // how long the runs of the open fences are
        char mark = 0;
        bool holds_others = false;
        for (std::size_t begin = 0; begin < text.size();) {
            std::size_t end = text.find('\n', begin);
            const std::size_t next = end == Text::npos ? text.size() : end + 1;
            end = std::min(end, text.size());
            const Line line = read_line(text, begin, end);
            if (line.run >= 3) {
                if (open.empty()) {
                    const std::size_t inline_end = line.has_info ? closing_in_line(text, line, end) : Text::npos;
                    if (inline_end != Text::npos) fences_.push_back({begin, next, line.behind, inline_end, 0, true});
                    else if (!line.has_info || text.substr(line.behind, end - line.behind).find('`') == Text::npos) {
                        fences_.push_back({begin, text.size(), next, text.size(), line.indent, false});
                        open.push_back(line.run);
                        mark = line.mark;
                        holds_others = false;
                    }
                } else if (line.mark == mark && line.run >= open.back() && !line.has_info) {
                    open.pop_back();
                    if (open.empty()) {
                        fences_.back().content_end = begin;
                        fences_.back().end = next;
                        fences_.back().closed = true;
                    }
                } else if (nested && line.mark == mark && line.has_info) {
                    open.push_back(line.run);
                    holds_others = true;
                }
            }
            begin = next;
        }
        return open.empty() || !holds_others;
    }

    static Line read_line(Text text, std::size_t begin, std::size_t end) {
        Line line;
        std::size_t at = begin;
        while (at < end && (text[at] == ' ' || text[at] == '\t')) ++at;
        // In a quotation or a list item.
        line.indent = at - begin;
        if (at == end || (text[at] != '`' && text[at] != '~')) return line;
        line.mark = text[at];
        const std::size_t start = at;
        while (at < end && text[at] == line.mark) ++at;
        line.run = at - start;
        line.behind = at;
        while (at < end && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
        line.has_info = at < end;
        return line;
    }
    // Where a fence ends that begins in the same line: ```42```
    static std::size_t closing_in_line(Text text, const Line& line, std::size_t end) {
        while (end > line.behind && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r')) --end;
        std::size_t at = end;
        while (at > line.behind && text[at - 1] == line.mark) --at;
        return end - at == line.run && at > line.behind ? at : Text::npos;
    }

    std::vector<Fence> fences_;
};

struct Region {
    std::size_t begin, end;
};

// The parts of a text that are code: fences that are closed, and what stands between equally long runs of backticks in
// one line.
class CodeRegions {
public:
    const std::vector<Region>& find(Text text) {
        regions_.clear();
        if (text.find('`') == Text::npos && text.find("~~~") == Text::npos) return regions_;
        std::size_t from = 0;
        for (const Fence& fence : fences_.find(text)) {
            if (!fence.closed) continue;
            find_inline(text, from, fence.begin);
            regions_.push_back({fence.begin, fence.end});
            from = fence.end;
        }
        find_inline(text, from, text.size());
        return regions_;
    }

private:
    struct Run {
        std::size_t begin, end, next;
    };
    void find_inline(Text text, std::size_t from, std::size_t to) {
        for (std::size_t begin = from; begin < to;) {
            const std::size_t end = std::min(text.find('\n', begin), to);
            find_in_line(text, begin, end);
            begin = end + 1;
        }
    }
    void find_in_line(Text text, std::size_t begin, std::size_t end) {
        runs_.clear();
        for (std::size_t at = begin; at < end;) {
            at = text.find('`', at);
            if (at >= end) break;
            const std::size_t start = at;
            while (at < end && text[at] == '`') ++at;
            runs_.push_back({start, at, 0});
        }
        if (runs_.size() < 2) return;
        // For each run, the next one of its length.
        last_.clear();
        for (std::size_t i = runs_.size(); i-- > 0;) {
            auto [last, is_new] = last_.try_emplace(runs_[i].end - runs_[i].begin, i);
            runs_[i].next = is_new ? 0 : last->second;
            last->second = i;
        }
        for (std::size_t i = 0; i < runs_.size();) {
            if (runs_[i].next == 0) {
                ++i;
                continue;
            }
            regions_.push_back({runs_[i].begin, runs_[runs_[i].next].end});
            i = runs_[i].next + 1;
        }
    }

    Fences fences_;
    std::vector<Region> regions_;
    std::vector<Run> runs_;
    std::unordered_map<std::size_t, std::size_t> last_;
};

// The content of a code fence: of the only one, else of the last.
class Unfence {
public:
    Found operator()(Text text) {
        if (text.find("```") == Text::npos && text.find("~~~") == Text::npos) return nothing_in(text);
        const std::vector<Fence>& fences = fences_.find(text);
        for (std::size_t i = fences.size(); i-- > 0;) {
            const Text content = text.substr(fences[i].content_begin, fences[i].content_end - fences[i].content_begin);
            // A lone mark at the end opens nothing.
            if (!fences[i].closed && i > 0 && unicode::strip(content).empty()) continue;
            if (content.find('\n') == Text::npos) return found_text(without_language(content));
            return found_text(fences[i].indent == 0 ? content : dedented(content, fences[i].indent));
        }
        return nothing_in(text);
    }

private:
    // A fence in one line may begin with what it holds: ```json {"a": 1}```.
    static Text without_language(Text content) {
        constexpr Text json = "json";
        const Text text = unicode::strip(content);
        if (!starts_with_folded(text, json)) return content;
        const Text rest = unicode::strip(text.substr(json.size()));
        return !rest.empty() && (rest.front() == '{' || rest.front() == '[') ? rest : content;
    }
    Text dedented(Text content, std::size_t indent) {
        lines_.clear();
        for (std::size_t begin = 0; begin < content.size();) {
            const std::size_t end = std::min(content.find('\n', begin), content.size() - 1) + 1;
            std::size_t at = begin;
            while (at < end && at - begin < indent && (content[at] == ' ' || content[at] == '\t')) ++at;
            lines_.append(content.data() + at, end - at);
            begin = end;
        }
        return lines_.view();
    }
    Fences fences_;
    unicode::PaddedText lines_;
};

}  // namespace pe::clean
