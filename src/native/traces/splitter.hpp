// Cuts JSON that comes in pieces into records: the values of a document's main list, or the documents themselves.
#pragma once

#include "../json/reader.hpp"

namespace pe::traces {

class Splitter {
public:
    struct Record {
        bool is_document;  // not an entry of a list, but a whole document (without the entries of such a list)
        std::string text;
    };

    // `lists` are the keys that lead to lists of records: {"results", "results"}. A list at the top always is one.
    explicit Splitter(std::vector<std::vector<std::string>> lists) : lists_(std::move(lists)) {}

    // Reads on; the records that are complete by now.
    std::vector<Record> feed(Text piece) {
        std::vector<Record> records;
        for (const char c : piece) take(c, records);
        return records;
    }
    // The bytes of the record that has not ended yet.
    std::size_t pending() const { return in_record_ ? record_.size() : document_.size(); }
    // What the document that is being read holds outside its list, closed so that it can be read.
    std::string around() const {
        std::string closed = document_;
        for (auto level = levels_.rbegin() + (in_record_ ? static_cast<std::ptrdiff_t>(levels_.size() - record_depth_) : 0);
             level != levels_.rend(); ++level)
            closed.push_back(level->is_object ? '}' : ']');
        return closed;
    }
    // Whether a value has begun that did not end.
    bool is_open() const { return in_record_ || !is_blank(document_); }

private:
    struct Level {
        bool is_object, is_list;  // is_list: its entries are records
        std::string key;          // the one that is being read, or was last
        bool expects_key;
    };

    static bool is_blank(Text text) { return std::all_of(text.begin(), text.end(), json::is_space); }
    std::string& target() { return in_record_ ? record_ : document_; }

    void take(char c, std::vector<Record>& records) {
        if (in_string_) {
            target().push_back(c);
            if (is_key_ && !(c == '"' && !escaped_)) levels_.back().key.push_back(c);
            if (escaped_) escaped_ = false;
            else if (c == '\\') escaped_ = true;
            else if (c == '"') {
                in_string_ = false;
                if (is_key_) levels_.back().expects_key = false;
                is_key_ = false;
            }
            return;
        }
        if (json::is_space(c)) {
            if (levels_.empty()) end_scalar(records);
            if (!target().empty()) target().push_back(c);
            return;
        }
        const bool at_entry = !in_record_ && !levels_.empty() && levels_.back().is_list;
        if (at_entry && c != ',' && c != ']') {
            in_record_ = true;
            record_depth_ = levels_.size();
            record_.clear();
        }
        switch (c) {
            case '{':
            case '[':
                if (levels_.empty()) end_scalar(records);
                target().push_back(c);
                levels_.push_back({c == '{', c == '[' && !in_record_ && is_wanted(), {}, c == '{'});
                return;
            case '}':
            case ']':
                if (in_record_ && levels_.size() == record_depth_) end_record(records);
                target().push_back(c);
                if (!levels_.empty()) levels_.pop_back();
                if (in_record_ && levels_.size() == record_depth_) end_record(records);
                else if (levels_.empty()) end_document(records);
                return;
            case ',':
                if (in_record_ && levels_.size() == record_depth_) end_record(records);
                if (!in_record_ && !levels_.empty() && levels_.back().is_list) return;
                target().push_back(c);
                if (!levels_.empty()) levels_.back().expects_key = levels_.back().is_object;
                return;
            case '"':
                target().push_back(c);
                in_string_ = true;
                is_key_ = !levels_.empty() && levels_.back().expects_key;
                if (is_key_) levels_.back().key.clear();
                return;
            default: target().push_back(c);
        }
    }
    bool is_wanted() const {
        if (levels_.empty()) return true;
        for (const Level& level : levels_)
            if (!level.is_object) return false;
        for (const auto& list : lists_) {
            if (list.size() != levels_.size()) continue;
            bool same = true;
            for (std::size_t i = 0; i < list.size(); ++i) same = same && list[i] == levels_[i].key;
            if (same) return true;
        }
        return false;
    }
    void end_record(std::vector<Record>& records) {
        in_record_ = false;
        if (!is_blank(record_)) records.push_back({false, std::move(record_)});
        record_.clear();
    }
    // A value at the top that is neither an object nor a list.
    void end_scalar(std::vector<Record>& records) {
        if (!is_blank(document_) && document_ != "\xEF\xBB\xBF") records.push_back({true, document_});
        document_.clear();
    }
    void end_document(std::vector<Record>& records) {
        records.push_back({true, std::move(document_)});
        document_.clear();
    }

    std::vector<std::vector<std::string>> lists_;
    std::vector<Level> levels_;
    std::string document_, record_;
    std::size_t record_depth_ = 0;
    bool in_record_ = false, in_string_ = false, is_key_ = false, escaped_ = false;
};

}  // namespace pe::traces
