// Chat messages in the shapes in which the SDKs and platforms write them, as one shape.
#pragma once

#include <initializer_list>

#include "path.hpp"

namespace pe::traces {

enum class Role : std::uint8_t { none, system, user, assistant, tool };

struct ToolCall {
    std::string name, arguments;
};

struct Message {
    Role role = Role::none;
    std::string text;       // of all its text parts
    bool has_text = false;  // whether it has any, be it empty
    std::string other;      // its parts that are neither text nor calls, as they are written: images, files
    std::vector<ToolCall> calls;
    std::string finish;
};

inline Role role_named(Text written) {
    std::string name(written.substr(0, 32));
    for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    const auto is_one_of = [&](std::initializer_list<const char*> known) {
        for (const char* one : known)
            if (name == one) return true;
        return false;
    };
    if (is_one_of({"user", "human", "humanmessage", "humanmessagechunk", "user-prompt", "request", "customer"}))
        return Role::user;
    if (is_one_of({"assistant", "ai", "model", "gpt", "bot", "chatbot", "chatgpt", "agent", "aimessage", "aimessagechunk",
                   "response"}))
        return Role::assistant;
    if (is_one_of({"system", "developer", "systemmessage", "system-prompt"})) return Role::system;
    if (is_one_of({"tool", "function", "toolmessage", "functionmessage", "tool_result", "ipython", "observation"}))
        return Role::tool;
    return Role::none;
}

class Chat {
public:
    explicit Chat(Shelf& shelf) : shelf_(shelf) {}

    // The messages that a value holds; none where it is anything but chat.
    const std::vector<Message>& read(Value value) {
        messages_.clear();
        if (!gather(value, 0)) messages_.clear();
        return messages_;
    }

private:
    static constexpr int deepest = 8;

    Value first(Value value, std::initializer_list<const char*> names) {
        for (const char* name : names)
            if (const Value found = lookup(value, name, shelf_); found && found.kind() != Kind::null) return found;
        return {};
    }
    static std::string written(Value value) { return value.is(Kind::string) ? value.text() : std::string(value.raw()); }
    static std::string word(Value value) { return value.is(Kind::string) ? value.text() : std::string(); }

    // A new message. It moves when another one comes, as with the parts of a user's content.
    Message& begin(Role role) {
        Message& message = messages_.emplace_back();
        message.role = role;
        return message;
    }

    bool gather(Value value, int depth) {
        if (!value || depth > deepest) return false;
        switch (value.kind()) {
            case Kind::string: {
                const Value inner = shelf_.opened(value);
                return inner && !inner.is(Kind::string) && gather(inner, depth + 1);
            }
            case Kind::array: return gather_list(value, depth);
            case Kind::object: return gather_object(value, depth);
            default: return false;
        }
    }

    bool gather_list(Value list, int depth) {
        if (list.count() == 0) return false;
        const Value head = list.at(0);
        if (head.is(Kind::array)) {
            if (is_pair(head)) {
                return list.all([&](Value pair) { return is_pair(pair) && add_pair(pair); });
            }
            return list.count() == 1 && gather(head, depth + 1);  // a batch of one
        }
        if (!head.is(Kind::object)) return false;
        if (list.count() == 1 && gather_object(head, depth + 1)) return true;
        if (is_calls(list)) {
            Message& message = begin(Role::assistant);
            list.each([&](Value call) { add_call(call, message); });
            return true;
        }
        if (is_parts(list)) {
            Message& message = begin(Role::assistant);
            read_content(list, message);
            return true;
        }
        const std::size_t before = messages_.size();
        const bool all = list.all([&](Value entry) { return add_message(entry, depth + 1); });
        if (!all) messages_.resize(before);
        return all && messages_.size() > before;
    }
    static bool is_pair(Value value) {
        return value.is(Kind::array) && value.count() == 2 && value.at(0).is(Kind::string) && value.at(1).is(Kind::string) &&
               role_named(value.at(0).text()) != Role::none;
    }
    bool add_pair(Value pair) {
        read_content(pair.at(1), begin(role_named(pair.at(0).text())));
        return true;
    }
    // Calls of tools without the message around them.
    static bool is_calls(Value list) {
        return list.all([](Value call) {
            return call.is(Kind::object) &&
                   ((word(call.member("type")) == "function" && call.member("function").is(Kind::object)) ||
                    (call.member("toolCallId") && call.member("toolName")));  // the second: AI SDK
        });
    }
    // Parts of a content without the message around them: known by their types.
    static bool is_parts(Value list) {
        return list.all([](Value part) {
            const std::string type = part.is(Kind::object) ? word(part.member("type")) : "";
            return (type == "text" || type == "output_text" || type == "tool_use" || type == "thinking" ||
                    type == "reasoning") &&
                   !part.member("role") && (part.member("text") || part.member("content") || type != "text");
        });
    }

    bool gather_object(Value object, int depth) {
        if (add_message(object, depth)) return true;
        if (const Value list = first(object, {"messages", "new_messages"});
            list && (list.is(Kind::array) || list.is(Kind::string))) {
            add_system(object);
            return gather(list, depth + 1);
        }
        if (const Value choice = object.member("choices").at(0)) {
            if (choice.is(Kind::object)) {
                if (add_message(choice, depth + 1)) return true;
                if (const Value text = choice.member("text"); text.is(Kind::string)) return add_said(text, choice);
            }
            return false;
        }
        if (const Value candidate = object.member("candidates").at(0)) {
            if (!candidate.is(Kind::object) || !candidate.member("content").is(Kind::object)) return false;
            return add_said(first(candidate.member("content"), {"parts", "text"}), candidate);
        }
        if (const Value contents = object.member("contents")) {
            add_system(object);
            if (const Value config = object.member("config"); config.is(Kind::object)) add_system(config);  // ADK
            if (contents.is(Kind::string)) return add_user(contents);
            return gather(contents, depth + 1);
        }
        if (Value generation = object.member("generations").at(0)) {
            if (generation.is(Kind::array)) generation = generation.at(-1);
            if (!generation.is(Kind::object)) return false;
            if (const Value message = generation.member("message"); message && add_message(message, depth + 1)) return true;
            if (const Value text = generation.member("text"); text.is(Kind::string)) return add_said(text, generation);
            return false;
        }
        if (const Value output = object.member("output")) {
            if (output.is(Kind::object) && output.member("message") && gather(output.member("message"), depth + 1)) {
                finish_last(word(first(object, {"stopReason", "stop_reason"})), false);
                return true;
            }
            if (output.is(Kind::array) && output.count() && is_item(output.at(-1))) return gather_list(output, depth + 1);
        }
        return gather_prompt(object, depth);
    }
    // What was asked under names of their own: {"system": "...", "prompt": "..."}.
    bool gather_prompt(Value object, int depth) {
        if (!first(object, systems)) return false;
        const Value asked =
            first(object, {"prompt", "user_prompt", "input", "question", "query", "user", "user_input", "user_message"});
        if (!asked) return false;
        add_system(object);
        if (asked.is(Kind::string)) return add_user(asked);
        return gather(asked, depth + 1);
    }
    static constexpr std::initializer_list<const char*> systems = {"system",        "instructions",       "systemInstruction",
                                                                   "system_prompt", "system_instruction", "systemPrompt"};
    // An entry of what OpenAI's Responses API takes and gives.
    static bool is_item(Value item) {
        const std::string type = item.is(Kind::object) ? word(item.member("type")) : "";
        return type == "message" || type == "function_call" || type == "function_call_output" || type == "reasoning";
    }
    void add_system(Value object) {
        const Value system = first(object, systems);
        if (!system) return;
        Message message;
        message.role = Role::system;
        read_content(system.is(Kind::object) ? first(system, {"parts", "text"}) : system, message);
        if (message.has_text && !message.text.empty()) messages_.push_back(std::move(message));
    }
    bool add_user(Value text) {
        read_content(text, begin(Role::user));
        return true;
    }
    bool add_said(Value content, Value choice) {
        Message& message = begin(Role::assistant);
        read_content(content, message);
        message.finish = word(first(choice, {"finish_reason", "finishReason"}));
        return true;
    }

    // Adds an entry that is a message, or that a list of messages may hold; false for anything else.
    bool add_message(Value entry, int depth) {
        if (!entry.is(Kind::object) || depth > deepest) return false;
        const std::string type = word(entry.member("type"));
        if (type == "reasoning" && !entry.member("role")) return true;  // of the Responses API: no message
        if (type == "function_call" || type == "function_call_output") return add_item(entry, type);
        Message message;
        Value body = entry;
        Role role = role_named(word(first(entry, {"role", "message.role", "from"})));
        if (role == Role::none && entry.member("lc") && entry.member("kwargs").is(Kind::object)) {
            const Value id = entry.member("id");
            if (id.is(Kind::array)) role = role_named(word(id.at(-1)));
            body = entry.member("kwargs");
        }
        if (role == Role::none && entry.member("data").is(Kind::object)) {
            role = role_named(type);
            body = entry.member("data");
        }
        if (role == Role::none && (entry.member("content") || entry.member("kwargs"))) role = role_named(type);
        if (role == Role::none && (first(entry, {"message.content", "message.contents"}))) role = Role::assistant;
        if (role == Role::none && entry.member("parts")) role = role_named(word(entry.member("kind")));  // pydantic-ai
        if (const Value content = entry.member("content");
            content.is(Kind::object) && content.member("parts").is(Kind::array)) {
            // What ADK writes of a model's response: {"content": {"parts": [...], "role": "model"}}.
            if (role == Role::none) role = role_named(word(content.member("role")));
            if (role == Role::none) role = Role::assistant;
            body = content;
        }
        if (role == Role::none && is_gemini(entry.member("parts"))) role = Role::assistant;
        if (role == Role::none) {
            // A choice, or an OpenInference entry: {"message": {...}}.
            for (const char* name : {"message", "delta"})
                if (const Value inner = message_in(entry.member(name));
                    inner.is(Kind::object) && add_message(inner, depth + 1)) {
                    finish_last(word(first(entry, {"finish_reason", "finishReason", "stop_reason"})), true);
                    return true;
                }
            return false;
        }
        const Value content = first(body, {"content", "parts", "message.content", "message.contents", "contents", "value"});
        const bool is_bare = !content && !has_calls(body) && !body.member("content") && !body.member("refusal");
        if (is_bare && (role != Role::assistant || !says_nothing_else(body))) return false;
        message.has_text = is_bare;  // what was said was blank, and so left out
        message.role = role;
        read_content(content, message);
        if (!message.has_text) read_content(first(body, {"message.contents", "refusal"}), message);
        read_calls(body, message);
        message.finish = word(first(body, {"finish_reason", "stop_reason", "finishReason", "response_metadata.finish_reason"}));
        if (message.finish.empty())
            if (const Value about = body.member("response_metadata"); about.is(Kind::object))
                message.finish = word(first(about, {"finish_reason", "stop_reason"}));
        // An answer that ended without any part is blank.
        if (role == Role::assistant && content.is(Kind::array) && content.count() == 0 && !message.finish.empty())
            message.has_text = true;
        messages_.push_back(std::move(message));
        return true;
    }
    // Parts as Gemini writes them.
    static bool is_gemini(Value parts) {
        if (!parts.is(Kind::array) || parts.count() == 0) return false;
        return parts.all([](Value part) {
            return part.is(Kind::object) && (part.member("text") || part.member("functionCall") ||
                                             part.member("function_call") || part.member("inlineData"));
        });
    }
    // Why the last message ended, as what is around it says. There is none where only reasoning was there.
    void finish_last(std::string finish, bool wins) {
        if (messages_.empty() || finish.empty()) return;
        if (wins || messages_.back().finish.empty()) messages_.back().finish = std::move(finish);
    }
    static bool says_nothing_else(Value body) {
        return body.all(
            [](Value member) { return member.has_key("role") || member.has_key("finish_reason") || member.has_key("index"); });
    }
    // A message may be written as text: events of OpenTelemetry hold no objects.
    Value message_in(Value value) { return value.is(Kind::string) ? shelf_.opened(value) : value; }
    bool add_item(Value item, const std::string& type) {
        if (type == "function_call") add_call(item, begin(Role::assistant));
        else read_content(item.member("output"), begin(Role::tool));
        return true;
    }

    void read_content(Value content, Message& message) {
        if (!content) return;
        if (content.is(Kind::string)) {
            content.append_text(message.text);
            message.has_text = true;
        } else if (content.is(Kind::array)) {
            content.each([&](Value part) { read_part(part, message); });
        } else if (content.is(Kind::object)) {
            read_part(content, message);
        }
    }
    void read_part(Value part, Message& message) {
        if (part.is(Kind::string)) return read_content(part, message);
        if (!part.is(Kind::object)) return;
        if (const Value inner = part.member("message_content"); inner.is(Kind::object)) return read_part(inner, message);
        const std::string type = word(first(part, {"type", "message_content.type", "part_kind", "kind"}));
        if (const Value thought = part.member("thought"); thought && thought.raw() == "true") return;  // Gemini
        if (type == "tool_call" || type == "tool_use" || type == "tool-call" || type == "function_call" ||
            part.member("functionCall") || part.member("toolUse") || part.member("function_call").is(Kind::object))
            return add_call(part, message);
        if (type == "tool_result" || type == "tool_call_response" || type == "tool-return" || type == "tool-result" ||
            part.member("toolResult") || part.member("functionResponse") || part.member("function_response")) {
            message.other.append(written_or_empty(first(
                part, {"content", "response", "result", "output", "toolResult", "functionResponse", "function_response"})));
            if (message.role == Role::user) message.role = Role::tool;
            return;
        }
        if (type == "system-prompt" && message.role == Role::user) {
            Message system;
            system.role = Role::system;
            read_content(part.member("content"), system);
            messages_.push_back(std::move(system));
            return;
        }
        const bool is_text =
            type.empty() || type == "text" || type == "output_text" || type == "input_text" || type == "user-prompt";
        const Value text = first(part, {"text", "content", "message_content.text"});
        if (is_text && text.is(Kind::string)) {
            text.append_text(message.text);
            message.has_text = true;
        } else if (is_text && text.is(Kind::array)) {
            read_content(text, message);
        } else if (type != "reasoning" && type != "thinking" && type != "redacted_thinking") {
            message.other.append(part.raw());
        }
    }
    static std::string written_or_empty(Value value) { return value ? written(value) : std::string(); }

    bool has_calls(Value body) { return static_cast<bool>(first(body, {"tool_calls", "message.tool_calls", "function_call"})); }
    void read_calls(Value body, Message& message) {
        if (!message.calls.empty()) return;  // LangChain writes Anthropic's calls twice: as parts, and as tool_calls
        Value calls = first(body, {"tool_calls", "message.tool_calls"});
        if (!calls || calls.count() == 0)
            if (const Value more = body.member("additional_kwargs"); more.is(Kind::object)) calls = more.member("tool_calls");
        if (calls.is(Kind::string)) calls = shelf_.opened(calls);
        if (calls.is(Kind::array)) calls.each([&](Value call) { add_call(call, message); });
        else if (const Value call = body.member("function_call"); call.is(Kind::object)) add_call(call, message);
    }
    void add_call(Value call, Message& message) {
        if (!call.is(Kind::object)) return;
        for (const char* wrapper : {"tool_call", "function", "functionCall", "function_call", "toolUse"})
            if (const Value inner = call.member(wrapper); inner.is(Kind::object)) return add_call(inner, message);
        const Value name = first(call, {"name", "tool_name", "toolName", "tool_call.function.name", "function.name"});
        if (!name.is(Kind::string)) {
            if (const Value function = call.member("function"); function.is(Kind::string))  // Inspect
                add_named(function, call, message);
            return;
        }
        add_named(name, call, message);
    }
    void add_named(Value name, Value call, Message& message) {
        const Value arguments =
            first(call, {"arguments", "args", "input", "parameters", "tool_call.function.arguments", "function.arguments"});
        message.calls.push_back({name.text(), arguments ? written(arguments) : "{}"});
    }

    Shelf& shelf_;
    std::vector<Message> messages_;
};

}  // namespace pe::traces
