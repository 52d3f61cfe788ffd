// What a record says: its question, its answer, its calls of tools, each as one text.
#pragma once

#include <stdexcept>

#include "chat.hpp"

namespace pe::traces {

// BLAKE2b (RFC 7693) without a key, as hexadecimal digits.

class Blake2b {
public:
    static std::string hex(Text text, std::size_t bytes = 16) {
        Blake2b hash(bytes);
        while (text.size() > 128) {
            hash.compress(text.data(), 128, false);
            text.remove_prefix(128);
        }
        char last[128] = {};
        std::memcpy(last, text.data(), text.size());
        hash.compress(last, text.size(), true);
        std::string out;
        for (std::size_t i = 0; i < bytes; ++i) {
            const auto byte = static_cast<unsigned>(hash.state_[i / 8] >> (8 * (i % 8)) & 0xFF);
            out.push_back("0123456789abcdef"[byte >> 4]);
            out.push_back("0123456789abcdef"[byte & 15]);
        }
        return out;
    }

private:
    static constexpr std::array<std::uint64_t, 8> start = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu,
                                                           0xa54ff53a5f1d36f1u, 0x510e527fade682d1u, 0x9b05688c2b3e6c1fu,
                                                           0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

    explicit Blake2b(std::size_t bytes) : state_(start) { state_[0] ^= 0x01010000u ^ bytes; }

    void compress(const char* block, std::size_t size, bool is_last) {
        static constexpr std::uint8_t order[10][16] = {
            {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
            {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
            {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
            {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
            {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
        read_ += size;
        std::uint64_t words[16], v[16];
        for (int i = 0; i < 16; ++i) {
            words[i] = 0;
            for (int byte = 7; byte >= 0; --byte) words[i] = words[i] << 8 | static_cast<unsigned char>(block[8 * i + byte]);
        }
        for (int i = 0; i < 8; ++i) {
            v[i] = state_[static_cast<std::size_t>(i)];
            v[i + 8] = start[static_cast<std::size_t>(i)];
        }
        v[12] ^= read_;
        if (is_last) v[14] = ~v[14];
        const auto turned = [](std::uint64_t x, int by) { return x >> by | x << (64 - by); };
        const auto mix = [&](int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
            v[a] += v[b] + x;
            v[d] = turned(v[d] ^ v[a], 32);
            v[c] += v[d];
            v[b] = turned(v[b] ^ v[c], 24);
            v[a] += v[b] + y;
            v[d] = turned(v[d] ^ v[a], 16);
            v[c] += v[d];
            v[b] = turned(v[b] ^ v[c], 63);
        };
        for (int round = 0; round < 12; ++round) {
            const std::uint8_t (&s)[16] = order[round % 10];
            mix(0, 4, 8, 12, words[s[0]], words[s[1]]);
            mix(1, 5, 9, 13, words[s[2]], words[s[3]]);
            mix(2, 6, 10, 14, words[s[4]], words[s[5]]);
            mix(3, 7, 11, 15, words[s[6]], words[s[7]]);
            mix(0, 5, 10, 15, words[s[8]], words[s[9]]);
            mix(1, 6, 11, 12, words[s[10]], words[s[11]]);
            mix(2, 7, 8, 13, words[s[12]], words[s[13]]);
            mix(3, 4, 9, 14, words[s[14]], words[s[15]]);
        }
        for (int i = 0; i < 8; ++i) state_[static_cast<std::size_t>(i)] ^= v[i] ^ v[i + 8];
    }

    std::array<std::uint64_t, 8> state_;
    std::uint64_t read_ = 0;
};

inline bool is_blank(Text text) { return text.find_first_not_of(" \t\r\n\v\f") == Text::npos; }

// Appends a text as a JSON string.
inline void append_quoted(Text text, std::string& out) {
    out.push_back('"');
    for (const char c : text) {
        if (c == '"' || c == '\\') out.append(1, '\\').push_back(c);
        else if (c == '\n') out.append("\\n");
        else if (static_cast<unsigned char>(c) < 0x20) {
            constexpr char digits[] = "0123456789abcdef";
            out.append("\\u00").append(1, digits[c >> 4 & 15]).append(1, digits[c & 15]);
        } else out.push_back(c);
    }
    out.push_back('"');
}

class FieldReader {
public:
    using Function = bool (FieldReader::*)(Value, std::string&);

    static Function named(const std::string& name) {
        static constexpr std::pair<Text, Function> known[] = {
            {"text", &FieldReader::text},     {"word", &FieldReader::word},           {"json", &FieldReader::json},
            {"answer", &FieldReader::answer}, {"said", &FieldReader::said},           {"stated", &FieldReader::stated},
            {"chat", &FieldReader::chat},     {"decoded", &FieldReader::decoded},     {"parsed", &FieldReader::parsed},
            {"opened", &FieldReader::opened}, {"reference", &FieldReader::reference}, {"references", &FieldReader::references},
            {"target", &FieldReader::target}, {"asked", &FieldReader::asked},         {"item", &FieldReader::item},
            {"hash", &FieldReader::hash},     {"calls", &FieldReader::calls},         {"contexts", &FieldReader::contexts},
            {"finish", &FieldReader::finish},
        };
        for (const auto& [known_name, function] : known)
            if (known_name == name) return function;
        throw std::invalid_argument("no reading is called '" + name + "'");
    }

    // Opens a record; whether it is a JSON object.
    bool open(Text record) {
        shelf_.clear();
        return tape_.read(record) && tape_[0].kind == Kind::object;
    }
    bool is_too_deep() const { return tape_.is_too_deep(); }
    Value record() const { return {&tape_, 0}; }
    Value find(const Path& path) { return path.find(record(), shelf_); }
    bool read(Value value, Function function, std::string& out) { return (this->*function)(value, out); }

private:
    // A string's content; anything else as it is written.
    bool text(Value value, std::string& out) {
        if (value.is(Kind::null)) return false;
        if (value.is(Kind::string)) value.append_text(out);
        else out.append(value.raw());
        return true;
    }
    // A name, a number or a short text; the ways to write that there is none are none.
    bool word(Value value, std::string& out) {
        const std::size_t before = out.size();
        if (!text(value, out)) return false;
        const Text said = Text(out).substr(before);
        return !is_blank(said) && said != "null" && said != "{}" && said != "[]";
    }
    bool json(Value value, std::string& out) {
        out.append(value.raw());
        return true;
    }
    // The text of the last message, where the value is chat that ends with the assistant; else the value's text.
    bool answer(Value value, std::string& out) {
        const std::vector<Message>& messages = chat_.read(value);
        if (messages.empty()) return !is_empty(value) && text(value, out);
        return messages.back().role == Role::assistant && append_said(messages.back(), out);
    }
    // The last thing that the assistant said, whoever has the last word.
    bool said(Value value, std::string& out) {
        const std::vector<Message>& messages = chat_.read(value);
        for (auto message = messages.rbegin(); message != messages.rend(); ++message)
            if (message->role == Role::assistant) return append_said(*message, out);
        return false;
    }
    static bool append_said(const Message& message, std::string& out) {
        if (!message.has_text || (message.text.empty() && !message.calls.empty())) return false;
        out.append(message.text);
        return true;
    }
    // An object or a list that holds nothing says nothing.
    static bool is_empty(Value value) {
        if (!value.is(Kind::object) && !value.is(Kind::array)) return false;
        return value.all([](Value member) { return member.is(Kind::null); });
    }
    // The same where the platform writes the text "null" for none.
    bool stated(Value value, std::string& out) { return value.raw() != "\"null\"" && answer(value, out); }
    // The same, and nothing where the value is no chat.
    bool chat(Value value, std::string& out) { return !chat_.read(value).empty() && answer(value, out); }
    // The answer in a text that is JSON by its platform's rules, and so a string has quotes around it.
    bool decoded(Value value, std::string& out) {
        if (!value.is(Kind::string)) return answer(value, out);
        const Value inner = shelf_.read(value.text());
        return inner ? answer(inner, out) : text(value, out);
    }
    // The same where a text that is no JSON is broken, and so no answer.
    bool parsed(Value value, std::string& out) {
        const Value inner = value.is(Kind::string) ? shelf_.read(value.text()) : value;
        return inner && answer(inner, out);
    }
    // The JSON that a text holds, as it is written there.
    bool opened(Value value, std::string& out) {
        const Value inner = value.is(Kind::string) ? shelf_.read(value.text()) : value;
        return inner && json(inner, out);
    }
    // A text as it is; of a list of texts the only one, or all as JSON behind a mark, which tells them from text that is JSON.
    bool references(Value value, std::string& out) {
        if (!is_texts(value)) return !is_empty(value) && text(value, out);
        if (value.count() == 1) return text(value.at(0), out);
        out.append("\x1e").append(value.raw());
        return true;
    }
    static bool is_texts(Value value) {
        return value.is(Kind::array) && value.count() > 0 && value.all([](Value entry) { return entry.is(Kind::string); });
    }
    bool reference(Value value, std::string& out) {
        if (const Value inner = value.is(Kind::string) ? shelf_.opened(value) : value; inner && is_empty(inner)) return false;
        return is_texts(value) ? references(value, out) : answer(value, out);
    }
    // The same where a blank text stands for none.
    bool target(Value value, std::string& out) {
        const std::size_t before = out.size();
        return reference(value, out) && !is_blank(Text(out).substr(before));
    }

    // What was asked: the last thing that the user said, or the one text that the input is about.
    bool asked(Value value, std::string& out) {
        value = unwrapped(value);
        const std::vector<Message>& messages = chat_.read(value);
        if (messages.empty()) return text(value, out);
        const Message* found = nullptr;
        for (const Message& message : messages)
            if (message.role == Role::user || !found) found = &message;
        out.append(found->has_text ? found->text : found->other);
        return true;
    }
    // The identity of what was asked, the same for every model and SDK; a blank question has none.
    bool item(Value value, std::string& out) {
        std::string question;
        write_question(value, question);
        if (is_blank(question)) return false;
        out.append(Blake2b::hex(question));
        return true;
    }
    bool hash(Value value, std::string& out) {
        std::string held;
        if (!text(value, held)) return false;
        out.append(Blake2b::hex(held));
        return true;
    }
    void write_question(Value value, std::string& out) {
        value = unwrapped(value);
        const std::vector<Message>& messages = chat_.read(value);
        if (messages.empty()) {
            const Value inner = shelf_.opened(value);
            if (inner && !inner.is(Kind::string)) write_canonical(inner, out, true);
            else text(value, out);
            return;
        }
        // What comes behind the last thing that the user said, answers and the work of tools, is none of the question.
        std::size_t end = messages.size();
        for (std::size_t i = messages.size(); i > 0; --i)
            if (messages[i - 1].role == Role::user) {
                end = i;
                break;
            }
        if (end == 1 && messages[0].calls.empty() && messages[0].other.empty()) {
            out.append(messages[0].text);
            return;
        }
        for (std::size_t i = 0; i < end; ++i) {
            const Message& message = messages[i];
            out.append(1, "?suat"[static_cast<std::size_t>(message.role)]).append(":").append(message.text);
            for (const ToolCall& call : message.calls) {
                out.append("\x1f").append(call.name).append("\x1f");
                const Value arguments = shelf_.read(call.arguments);
                if (arguments) write_canonical(arguments, out, false);
                else out.append(call.arguments);
            }
            if (!message.other.empty()) out.append("\x1f").append(message.other);
            out.append("\x1e");
        }
    }

    // The one value that an input holds beside settings and ids: {"question": "...", "model": "..."}.
    Value unwrapped(Value value) {
        for (int depth = 0; depth < 4; ++depth) {
            const Value inner = shelf_.opened(value);
            const Value object = inner ? inner : value;
            if (!object.is(Kind::object)) {
                const bool is_one = object.is(Kind::array) && object.count() == 1 && object.at(0).is(Kind::string);
                return is_one ? object.at(0) : value;
            }
            if (!chat_.read(object).empty()) return object;
            if (const Value arguments = object.member("args"), named = object.member("kwargs");
                arguments && named && object.count() == 2) {
                if (arguments.is(Kind::array) && arguments.count() == 1 && named.count() == 0) value = arguments.at(0);
                else if (arguments.count() == 0 && named.is(Kind::object)) value = named;
                else return value;
                continue;
            }
            Value only;
            std::size_t count = 0;
            object.each([&](Value member) {
                if (is_setting(member)) return;
                ++count;
                only = member;
            });
            if (count != 1 || !is_one_of(only, questions)) return value;
            value = only;
        }
        return value;
    }
    // The names that a question has.
    // clang-format off
    static constexpr const char* questions[] = {
        "question", "input", "query", "prompt", "prompts", "text", "user_input", "message", "content", "messages", "request",
        "user_message", "instruction", "inputs", "q", "kwargs", "task", "user_prompt", "user_query", "problem"};
    // What tells nothing about the question: the model, its parameters, ids and times.
    static constexpr const char* settings[] = {
        "model", "model_name", "model_id", "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens",
        "max_output_tokens", "stream", "stream_options", "seed", "timeout", "session_id", "thread_id", "run_id", "request_id",
        "trace_id", "span_id", "conversation_id", "user_id", "timestamp", "id", "_id", "uuid", "item_id", "example_id",
        "created_at", "extra_headers", "extra_body", "presence_penalty", "frequency_penalty", "stop_sequences",
        "invocation_params"};
    // clang-format on
    template <std::size_t count>
    static bool is_one_of(Value member, const char* const (&names)[count]) {
        return std::any_of(names, names + count, [&](const char* name) { return member.has_key(name); });
    }
    static bool is_setting(Value member) { return member.is(Kind::null) || is_one_of(member, settings); }
    // JSON in one spelling: keys in order, no spaces, settings left out at the top.
    static void write_canonical(Value value, std::string& out, bool is_top) {
        switch (value.kind()) {
            case Kind::string: append_quoted(value.text(), out); return;
            case Kind::array: {
                out.push_back('[');
                bool later = false;
                value.each([&](Value entry) {
                    if (std::exchange(later, true)) out.push_back(',');
                    write_canonical(entry, out, false);
                });
                out.push_back(']');
                return;
            }
            case Kind::object: {
                std::vector<std::pair<std::string, Value>> members;
                each_member(value, [&](std::string name, Value member) {
                    if (!is_top || !is_setting(member)) members.emplace_back(std::move(name), member);
                });
                if (members.empty() && is_top && value.count()) return write_canonical(value, out, false);
                std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
                out.push_back('{');
                for (std::size_t i = 0; i < members.size(); ++i) {
                    if (i) out.push_back(',');
                    append_quoted(members[i].first, out);
                    out.push_back(':');
                    write_canonical(members[i].second, out, false);
                }
                out.push_back('}');
                return;
            }
            default: out.append(value.raw());
        }
    }

    bool calls(Value value, std::string& out) {
        const std::size_t before = out.size();
        for (const Message& message : chat_.read(value))
            for (const ToolCall& call : message.calls) {
                out.append(out.size() == before ? "[{\"name\":" : ",{\"name\":");
                append_quoted(call.name, out);
                out.append(",\"arguments\":");
                append_quoted(call.arguments, out);
                out.push_back('}');
            }
        if (out.size() == before) return false;
        out.push_back(']');
        return true;
    }
    bool finish(Value value, std::string& out) {
        const std::vector<Message>& messages = chat_.read(value);
        for (auto message = messages.rbegin(); message != messages.rend(); ++message)
            if (!message->finish.empty()) {
                out.append(message->finish);
                return true;
            }
        return false;
    }
    // What was retrieved, as a JSON list of texts, or of ids where there are no texts.
    bool contexts(Value value, std::string& out) {
        if (const Value inner = shelf_.opened(value)) value = inner;
        if (value.is(Kind::object))
            for (const char* name : {"documents", "contexts", "output", "results", "source_documents", "retrieval.documents"})
                if (const Value inner = lookup(value, name, shelf_); inner.is(Kind::array)) {
                    value = inner;
                    break;
                }
        if (!value.is(Kind::array) || value.count() == 0) return false;
        std::string list;
        const bool all = value.all([&](Value entry) {
            std::string context;
            if (!context_of(entry, context)) return false;
            list.append(list.empty() ? "[" : ",");
            append_quoted(context, list);
            return true;
        });
        if (!all) return false;
        out.append(list).push_back(']');
        return true;
    }
    bool context_of(Value entry, std::string& out) {
        if (entry.is(Kind::string)) return text(entry, out);
        if (!entry.is(Kind::object)) return false;
        for (const char* name : {"document", "kwargs"})
            if (const Value inner = entry.member(name); inner.is(Kind::object)) return context_of(inner, out);
        for (const char* name :
             {"page_content", "content", "text", "document.content", "chunk", "document", "document.id", "id", "doc_id"})
            if (const Value found = entry.member(name); found && !found.is(Kind::null)) return text(found, out);
        return false;
    }

    json::Tape tape_;
    Shelf shelf_;
    Chat chat_{shelf_};
};

}  // namespace pe::traces
