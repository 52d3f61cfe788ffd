// The reader of traces on random, foreign and broken records, against slow and obvious readings.
// Usage: traces_test ROWS SEED. Texts have their exact size, so that a sanitizer sees every step outside.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "json/document.hpp"
#include "support.hpp"
#include "traces/reading.hpp"
#include "traces/splitter.hpp"
#include "traces/text_columns.hpp"
#include "unicode/utf8.hpp"

namespace {

using Random = std::mt19937_64;
using Strings = std::vector<std::string>;

void check(bool holds, const char* what, const std::string& text = {}) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n%s\n", what, text.c_str());
    std::exit(1);
}

// A text in memory of its exact size.
class Exact {
public:
    explicit Exact(const std::string& text) : bytes_(text.data(), text.size()), size_(text.size()) {}
    pe::Text view() { return {bytes_.data(), size_}; }

private:
    test::ExactBytes bytes_;
    std::size_t size_;
};

const std::string& one_of(const Strings& texts, Random& random) { return texts[random() % texts.size()]; }

// By the definition: the shortest form of every code point that is no surrogate.
bool reference_utf8(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto lead = static_cast<unsigned char>(text[at]);
        const std::size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
        if (size == 0 || at + size > text.size()) return false;
        std::uint32_t code = size == 1 ? lead : lead & (0x7Fu >> size);
        for (std::size_t i = 1; i < size; ++i) {
            const auto byte = static_cast<unsigned char>(text[at + i]);
            if (byte >> 6 != 2) return false;
            code = code << 6 | (byte & 0x3Fu);
        }
        if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || test::encode({code}).size() != size) return false;
        at += size;
    }
    return true;
}

void test_utf8(std::size_t rows, Random& random) {
    for (std::size_t row = 0; row < rows; ++row) {
        std::string text;
        for (std::size_t count = random() % 12; count > 0; --count) {
            switch (random() % 4) {
                case 0: text += test::encode({static_cast<std::uint32_t>(random() % 0x110000)}); break;
                case 1: text += static_cast<char>(random()); break;
                case 2: text += static_cast<char>(0xE0 + random() % 32); break;
                default: text += "eight bytes";
            }
        }
        check(pe::unicode::is_utf8(Exact(text).view()) == reference_utf8(text), "UTF-8", text);
    }
}

// A value as a tree, for what the tape is compared with.
struct Tree {
    std::string written;  // as JSON
    std::string text;     // of a string
    std::vector<std::pair<std::string, Tree>> members;
    pe::json::Kind kind = pe::json::Kind::null;
};

// A string and how JSON may write it.
std::pair<std::string, std::string> random_string(Random& random) {
    static const std::pair<const char*, const char*> parts[] = {
        {"a", "a"}, {"role", "role"}, {"\n", "\\n"}, {"\"", "\\\""}, {"\\", "\\\\"}, {"/", "\\/"}, {"é", "\\u00e9"}, {"é", "é"}, {"🙂", "\\ud83d\\uDE42"},
        {"\xEF\xBF\xBD", "\\ud83d"}, {"\xEF\xBF\xBD", "\\udc00"}, {"\x01", "\\u0001"}, {"\b\f\r\t", "\\b\\f\\r\\t"}, {"twelve bytes", "twelve bytes"}, {"中", "中"}};
    std::string text, written;
    for (std::size_t count = random() % 4; count > 0; --count) {
        const auto& [part, escaped] = parts[random() % std::size(parts)];
        text += part;
        // Behind the half of a pair, a letter: another half would complete it.
        written += std::string(escaped) + (std::string(escaped).compare(0, 3, "\\ud") == 0 ? "x" : "");
        if (std::string(escaped).compare(0, 3, "\\ud") == 0) text += "x";
    }
    return {text, written};
}

std::string space(Random& random) { return random() % 8 ? "" : random() % 2 ? " " : "\n\t\r "; }

Tree random_tree(Random& random, int depth) {
    static const std::pair<const char*, pe::json::Kind> scalars[] = {
        {"null", pe::json::Kind::null}, {"true", pe::json::Kind::boolean}, {"false", pe::json::Kind::boolean}, {"-0.5e+10", pe::json::Kind::number},
        {"18446744073709551617", pe::json::Kind::number}, {"NaN", pe::json::Kind::null}, {"-Infinity", pe::json::Kind::number}};
    Tree tree;
    if (depth == 0 || random() % 3 == 0) {
        if (random() % 2) {
            const auto [text, written] = random_string(random);
            tree.kind = pe::json::Kind::string;
            tree.text = text;
            tree.written = "\"" + written + "\"";
        } else {
            const auto& [written, kind] = scalars[random() % std::size(scalars)];
            tree.kind = kind;
            tree.written = written;
        }
        return tree;
    }
    const bool is_object = random() % 2;
    tree.kind = is_object ? pe::json::Kind::object : pe::json::Kind::array;
    tree.written = is_object ? "{" : "[";
    for (std::size_t count = random() % 4; count > 0; --count) {
        tree.written += (tree.members.empty() ? "" : ",") + space(random);
        std::string key;
        if (is_object) {
            const auto [text, written] = random_string(random);
            key = text;
            tree.written += "\"" + written + "\"" + space(random) + ":" + space(random);
        }
        tree.members.emplace_back(key, random_tree(random, depth - 1));
        tree.written += tree.members.back().second.written + space(random);
    }
    tree.written += is_object ? "}" : "]";
    return tree;
}

void check_same(pe::json::Value value, const Tree& tree, const std::string& text) {
    check(value.kind() == tree.kind, "kind", text);
    check(value.raw() == pe::Text(tree.written), "raw", text);
    check(value.count() == tree.members.size(), "count", text);
    if (tree.kind == pe::json::Kind::string) check(value.text() == tree.text, "text", text);
    std::size_t at = 0;
    value.each([&](pe::json::Value child) {
        const auto& [key, member] = tree.members[at++];
        if (tree.kind == pe::json::Kind::object) check(child.has_key(key), "key", text);
        check_same(child, member, text);
    });
    check(at == tree.members.size(), "every member", text);
    for (std::size_t i = 0; i < tree.members.size() && tree.kind == pe::json::Kind::array; ++i) {
        check_same(value.at(static_cast<std::int64_t>(i)), tree.members[i].second, text);
        check_same(value.at(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(tree.members.size())), tree.members[i].second, text);
    }
    check(!value.at(static_cast<std::int64_t>(tree.members.size())), "no entry behind the last", text);
}

// Bytes replaced, dropped and doubled.
std::string broken(std::string text, Random& random) {
    for (std::size_t edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        switch (random() % 5) {
            case 0: text[at] = static_cast<char>(random()); break;
            case 1: text.erase(at, 1 + random() % 3); break;
            case 2: text.insert(at, text.substr(at, random() % 8)); break;
            case 3: text.resize(at); break;
            default: text[at] = "{}[]\",:\\u0e-+."[random() % 14];
        }
    }
    return text;
}

void test_tape(std::size_t rows, Random& random) {
    pe::json::Tape tape;
    pe::json::JsonDocument document;
    for (std::size_t row = 0; row < rows; ++row) {
        const Tree tree = random_tree(random, 4);
        Exact text(space(random) + tree.written + space(random));
        check(tape.read(text.view()), "a value is JSON", tree.written);
        check_same({&tape, 0}, tree, tree.written);
        const std::string damaged = broken(tree.written, random);
        Exact other(damaged);
        const bool is_json = tape.read(other.view());
        // What another reader takes, strictly by the standard, this one takes too.
        if (document.read(other.view())) check(is_json, "JSON by the standard", damaged);
    }
    const std::string deep(512, '['), too_deep(513, '[');
    check(tape.read(deep + std::string(512, ']')) && !tape.read(too_deep + std::string(513, ']')), "512 levels");
    check(!tape.read(std::string(1'000'000, '[')) && !tape.read(""), "no JSON");
}

// A document cut anywhere gives the same records; those of its main list are the list's entries.
void test_splitter(std::size_t rows, Random& random) {
    for (std::size_t row = 0; row < rows; ++row) {
        Strings entries;
        std::string list = "[";
        for (std::size_t count = random() % 5; count > 0; --count) {
            entries.push_back(random_tree(random, 3).written);
            list += (list.size() > 1 ? "," : "") + space(random) + entries.back() + space(random);
        }
        list += "]";
        const bool at_top = random() % 2;
        const std::string document = at_top ? list : "{\"about\": {\"rows\": [1]}, \"rows\": " + list + ", \"more\": 1}";
        const auto split = [&](const std::string& text, bool in_pieces) {
            pe::traces::Splitter splitter({{"rows"}, {"results", "results"}});
            std::vector<pe::traces::Splitter::Record> records;
            for (std::size_t at = 0; at < text.size();) {
                const std::size_t size = in_pieces ? 1 + random() % 9 : text.size();
                Exact piece(text.substr(at, size));
                for (pe::traces::Splitter::Record& record : splitter.feed(piece.view())) records.push_back(std::move(record));
                splitter.pending(), splitter.is_open(), splitter.around();
                at += size;
            }
            return records;
        };
        const auto check_pieces = [&](const std::string& text) {
            const auto whole = split(text, false), pieces = split(text, true);
            check(whole.size() == pieces.size(), "as many records in pieces", text);
            for (std::size_t i = 0; i < whole.size(); ++i)
                check(whole[i].text == pieces[i].text && whole[i].is_document == pieces[i].is_document, "the same records in pieces", text);
            return whole;
        };
        const auto records = check_pieces(document);
        check(records.size() == entries.size() + 1, "the entries and the document", document);
        for (std::size_t i = 0; i < entries.size(); ++i)
            check(!records[i].is_document && pe::Text(records[i].text).substr(0, entries[i].size()) == entries[i] &&
                      pe::traces::is_blank(pe::Text(records[i].text).substr(entries[i].size())),
                  "an entry", document);
        check(records.back().is_document, "the document last", document);
        check_pieces(broken(document, random));
        check_pieces(document + "\n" + list + " 1 2 \"x\" " + document);
    }
}

// Records made of the names that platforms use, in shapes that they may or may not have.
std::string random_record(Random& random, int depth) {
    static const Strings names = {
        "role", "content", "type", "text", "messages", "message", "choices", "candidates", "contents", "parts", "generations", "output", "input",
        "instructions", "tool_calls", "function", "name", "arguments", "args", "kwargs", "data", "lc", "id", "delta", "finish_reason", "stopReason", "system",
        "key", "value", "stringValue", "arrayValue", "values", "prompt.0.role", "prompt.0.content", "prompt.9999.x", "message.content", "message.role",
        "documents", "page_content", "document", "functionCall", "toolUse", "toolResult", "message_content", "response_metadata", "additional_kwargs",
        "refusal", "question", "model", "kind", "from", "function_call", "retrieval.documents", "a\\\"b", "spans", "attributes"};
    static const Strings texts = {"user", "assistant", "ai", "system", "tool", "human", "text", "reasoning", "function_call", "function_call_output", "function",
                                  "message", "thinking", "tool_use", "tool_result", "system-prompt", "AIMessage", "stop", "", " ", "hello", "é\\n\\\"x\\\"", "null",
                                  "{}", "[]", "constructor"};
    if (depth == 0 || random() % 5 == 0) {
        if (random() % 6 == 0) return one_of({"null", "1", "true", "[]", "{}", "-1.5", "NaN"}, random);
        if (random() % 6 == 0) {
            // JSON within a text.
            std::string quoted;
            pe::traces::append_quoted(random_record(random, depth > 0 ? depth - 1 : 0), quoted);
            return quoted;
        }
        return "\"" + one_of(texts, random) + "\"";
    }
    const bool is_object = random() % 3;
    std::string text = is_object ? "{" : "[";
    const std::size_t count = 1 + random() % 3;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) text += ",";
        if (is_object) text += "\"" + one_of(names, random) + "\":";
        text += random_record(random, depth - 1);
    }
    return text + (is_object ? "}" : "]");
}

bool read(pe::traces::FieldReader& reader, const pe::traces::Path& path, const std::string& name, std::string& out) {
    const pe::json::Value value = reader.find(path);
    return value && reader.read(value, pe::traces::FieldReader::named(name), out);
}

void test_reader(std::size_t rows, Random& random) {
    static const Strings functions = {"text", "word", "json", "answer", "stated", "chat", "decoded", "parsed", "opened", "reference", "target", "asked", "item",
                                      "hash", "calls", "contexts", "finish"};
    std::vector<pe::traces::Path> paths;
    for (const char* path : {"$", "messages", "output", "input", "spans[0].attributes.message.content", "choices[-1].message", "messages[*].content", "parts[type=text].text",
                             "['message.content']", "attributes.prompt", "prompt", "kwargs.messages", "documents", "[", "['", "a..b", "[x", ""})
        paths.emplace_back(path);
    pe::traces::FieldReader used;
    pe::json::Tape tape;
    for (std::size_t row = 0; row < rows; ++row) {
        std::string record = random_record(random, 5);
        if (record.front() != '{') record = "{\"" + one_of({"messages", "output", "input", "prompt"}, random) + "\":" + record + "}";
        if (random() % 4 == 0) record = broken(record, random);
        Exact text(record);
        if (!used.open(text.view())) continue;
        const bool is_utf8 = pe::unicode::is_utf8(record);
        pe::traces::TextColumns columns({"a"});
        for (const pe::traces::Path& path : paths)
            for (const std::string& name : functions) {
                std::string& out = columns.text(0);
                const std::size_t before = out.size();
                const bool found = read(used, path, name, out);
                const std::string said = out.substr(before);
                columns.drop(0);
                if (!found) continue;
                if (is_utf8) check(pe::unicode::is_utf8(said), "what is read is text", record);
                if (name == "calls" || name == "contexts" || name == "json" || name == "opened") check(tape.read(said), "what is read is JSON", record);
                // Nothing of earlier records is left behind.
                pe::traces::FieldReader fresh;
                std::string again;
                check(fresh.open(text.view()) && read(fresh, path, name, again) && again == said, "a new reader", record);
            }
    }
}

// Shapes that once led outside of what is there.
void test_odd_shapes() {
    pe::traces::FieldReader reader;
    for (const std::string record : {R"({"input": {"args": {"a": 1}, "kwargs": {}}})", R"({"input": {"args": {}, "kwargs": {}}})",
                                     R"({"output": {"output": {"message": {"type": "reasoning"}}, "stopReason": "end"}})",
                                     R"({"output": {"choices": [{"message": {"type": "reasoning"}, "finish_reason": "stop"}]}})",
                                     R"({"output": {"message": {"type": "reasoning"}, "finish_reason": "stop"}})"}) {
        check(reader.open(record), "a record", record);
        for (const char* path : {"input", "output"})
            for (const char* name : {"asked", "item", "answer", "chat", "finish", "calls", "reference"}) {
                std::string out;
                read(reader, pe::traces::Path(path), name, out);
            }
    }
}

void test_hashes() {
    // RFC 7693, and Python's hashlib.
    check(pe::traces::Blake2b::hex("abc", 64) ==
              "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
          "BLAKE2b of abc");
    check(pe::traces::Blake2b::hex("") == "cae66941d9efbd404e4d88758ea67670", "BLAKE2b of nothing");
    check(pe::traces::Blake2b::hex(std::string(128, 'x')) == "874acca82a22239ec64a3e70c3ae494e", "BLAKE2b of a whole block");
    check(pe::traces::Blake2b::hex(std::string(1000, 'x')) == "c9b2bd4ff487864c29fb41fab3e8187e", "BLAKE2b of several blocks");
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    test_hashes();
    test_odd_shapes();
    test_utf8(rows, random);
    test_tape(rows, random);
    test_splitter(rows / 4, random);
    test_reader(rows / 8, random);
    std::printf("traces: %zu texts, %zu documents, %zu records\n", 2 * rows, rows / 4, rows / 8);
}
