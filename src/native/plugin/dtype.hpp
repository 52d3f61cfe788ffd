// The data types of columns, as the formats of Arrow tell them, and values that are no texts as texts.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "../core/columns.hpp"
#include "../core/portable.hpp"

namespace pe::plugin {

// The data types of columns, as the formats of Arrow tell them.

using Dtype = const ArrowSchema&;

inline Text format_of(Dtype dtype) { return dtype.format; }
inline bool is_null(Dtype dtype) { return format_of(dtype) == "n"; }
inline bool is_plain_text(Dtype dtype) {
    return !dtype.dictionary && (format_of(dtype) == "vu" || format_of(dtype) == "U" || format_of(dtype) == "u");
}
// String, Categorical and Enum.
inline bool is_text(Dtype dtype) { return is_plain_text(dtype.dictionary ? *dtype.dictionary : dtype); }
inline bool is_list(Dtype dtype) {
    return format_of(dtype) == "+L" || format_of(dtype) == "+l" || format_of(dtype).substr(0, 3) == "+w:";
}
inline Dtype inner(Dtype list) { return *list.children[0]; }
inline bool is_text_list(Dtype dtype) { return is_list(dtype) && (is_text(inner(dtype)) || is_null(inner(dtype))); }

inline bool is_one_of(Dtype dtype, const char* formats) {
    return !dtype.dictionary && format_of(dtype).size() == 1 && Text(formats).find(format_of(dtype)[0]) != Text::npos;
}
inline bool is_integer(Dtype dtype) { return is_one_of(dtype, "cCsSiIlL"); }
inline bool is_float(Dtype dtype) { return is_one_of(dtype, "efg"); }
inline bool is_decimal(Dtype dtype) { return format_of(dtype).substr(0, 2) == "d:"; }
inline bool is_numeric(Dtype dtype) { return is_integer(dtype) || is_float(dtype) || is_decimal(dtype); }
inline int scale_of(Dtype decimal) {
    return is_decimal(decimal) ? std::atoi(decimal.format + format_of(decimal).find(',') + 1) : 0;
}

// As Polars calls it.
inline std::string name_of(Dtype dtype) {
    static constexpr struct {
        char format;
        const char* name;
    } plain[] = {{'n', "Null"},    {'b', "Boolean"}, {'c', "Int8"},   {'C', "UInt8"},  {'s', "Int16"},   {'S', "UInt16"},
                 {'i', "Int32"},   {'I', "UInt32"},  {'l', "Int64"},  {'L', "UInt64"}, {'e', "Float16"}, {'f', "Float32"},
                 {'g', "Float64"}, {'z', "Binary"},  {'Z', "Binary"}, {'u', "String"}, {'U', "String"}};
    const Text format = dtype.format;
    if (dtype.dictionary) return "Categorical";
    if (format.size() == 1)
        for (const auto& [letter, name] : plain)
            if (letter == format[0]) return name;
    if (format == "vu") return "String";
    if (format == "vz") return "Binary";
    if (format == "+s") return "Struct";
    if (format.substr(0, 3) == "+w:") return "Array(" + name_of(inner(dtype)) + ", " + std::string(format.substr(3)) + ")";
    if (is_list(dtype)) return "List(" + name_of(inner(dtype)) + ")";
    if (is_decimal(dtype)) return "Decimal";
    if (format.substr(0, 2) == "td") return "Date";
    if (format.substr(0, 2) == "tt") return "Time";
    if (format.substr(0, 2) == "ts") return "Datetime";
    if (format.substr(0, 2) == "tD") return "Duration";
    return std::string(format);
}

// Values of Arrow arrays as texts: numbers and Booleans as Polars writes them, objects as JSON.

// What a column may hold beside texts, to be read as text.
enum class Accepts { texts, numbers, objects };

inline bool is_object(Dtype dtype) { return format_of(dtype) == "+s"; }

// Whether a value can be written as JSON.
inline bool is_writable(Dtype dtype) {
    if (is_text(dtype) || is_null(dtype) || is_numeric(dtype) || is_one_of(dtype, "b")) return true;
    if (is_list(dtype)) return is_writable(inner(dtype));
    if (!is_object(dtype)) return false;
    for (std::int64_t i = 0; i < dtype.n_children; ++i)
        if (!is_writable(*dtype.children[i])) return false;
    return true;
}

inline bool is_written(Dtype dtype, Accepts accepts) {
    if (accepts == Accepts::numbers) return is_numeric(dtype) || is_one_of(dtype, "b");
    return accepts == Accepts::objects && is_object(dtype) && is_writable(dtype);
}

// The fewest digits that give the number back.
template <class Real>
void append_real(Real value, std::string& out) {
    if (value != value) return void(out += "NaN");
    if (std::isinf(value)) return void(out += value < 0 ? "-inf" : "inf");
    char digits[40] = {};  // ends in a zero
    std::size_t size = 0;
#if defined(PE_REAL_CHARS)
    size = static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr -
                                    digits);
#else
    for (int precision = 0; precision < 18; ++precision) {
        size = static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%.*e", precision, static_cast<double>(value)));
        for (std::size_t i = 0; i < size; ++i)
            if (digits[i] == ',') digits[i] = '.';
        if (static_cast<Real>(parse_real({digits, size})) == value) break;
    }
#endif
    const Text written(digits, size);
    const std::size_t mark = written.find('e');
    const int power = std::atoi(digits + mark + 1);
    std::string figures;
    for (const char c : written.substr(0, mark))
        if (c != '-' && c != '.') figures += c;
    if (std::signbit(value)) out += '-';
    if (power < -5 || power > 15) {
        out += figures[0];
        if (figures.size() > 1) out.append(1, '.').append(figures, 1, std::string::npos);
        out.append(power < 0 ? "e-" : "e+").append(std::to_string(std::abs(power)));
    } else if (power < 0) out.append("0.").append(static_cast<std::size_t>(-power - 1), '0').append(figures);
    else {
        const auto whole = static_cast<std::size_t>(power) + 1;
        if (figures.size() < whole) figures.append(whole - figures.size(), '0');
        out.append(figures, 0, whole).append(1, '.').append(figures.size() > whole ? figures.substr(whole) : "0");
    }
}

inline float half(std::uint16_t bits) {
    const int power = bits >> 10 & 31, fraction = bits & 1023;
    const float size = power == 31 ? (fraction ? NAN : INFINITY)
                       : power     ? std::ldexp(static_cast<float>(1024 + fraction), power - 25)
                                   : std::ldexp(static_cast<float>(fraction), -24);
    return bits >> 15 ? -size : size;
}

inline void append_decimal(const void* bytes, int scale, std::string& out) {
    std::uint64_t words[2];
    std::memcpy(words, bytes, 16);
    const bool is_negative = words[1] >> 63;
    if (is_negative) {
        words[0] = ~words[0] + 1;
        words[1] = ~words[1] + (words[0] == 0);
    }
    std::string digits;
    while (words[0] | words[1]) {
        // Four parts of 32 bits, divided by ten.
        std::uint64_t rest = 0;
        for (int i = 3; i >= 0; --i) {
            const int shift = i % 2 * 32;
            std::uint64_t& word = words[i / 2];
            const std::uint64_t part = rest << 32 | (word >> shift & 0xFFFFFFFFu);
            word = (word & ~(std::uint64_t{0xFFFFFFFFu} << shift)) | part / 10 << shift;
            rest = part % 10;
        }
        digits.insert(digits.begin(), static_cast<char>('0' + rest));
    }
    const auto places = static_cast<std::size_t>(scale);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    if (places > 0) digits.insert(digits.size() - places, 1, '.');
    if (is_negative) out += '-';
    out += digits;
}

// Calls `visit(number)` with a number of the type that a format names: integers, and floats but for halves. False for others.
template <class Visit>
bool visit_number(char format, const Visit& visit) {
    switch (format) {
        case 'c': return visit(std::int8_t{}), true;
        case 'C': return visit(std::uint8_t{}), true;
        case 's': return visit(std::int16_t{}), true;
        case 'S': return visit(std::uint16_t{}), true;
        case 'i': return visit(std::int32_t{}), true;
        case 'I': return visit(std::uint32_t{}), true;
        case 'l': return visit(std::int64_t{}), true;
        case 'L': return visit(std::uint64_t{}), true;
        case 'f': return visit(float{}), true;
        case 'g': return visit(double{}), true;
        default: return false;
    }
}

// A number or a Boolean, `row` counted from the array's offset.
inline void append_scalar(const ArrowArray& array, Dtype dtype, std::size_t row, std::string& out) {
    row += static_cast<std::size_t>(array.offset);
    const void* const data = array.buffers[1];
    const bool is_written = visit_number(dtype.format[0], [&](auto kind) {
        using Number = decltype(kind);
        const Number value = static_cast<const Number*>(data)[row];
        if constexpr (std::is_floating_point_v<Number>) append_real(value, out);
        else {
            char digits[24];
            out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
        }
    });
    if (is_written) return;
    if (dtype.format[0] == 'b') out += is_set(data, row) ? "true" : "false";
    else if (dtype.format[0] == 'e') append_real(half(static_cast<const std::uint16_t*>(data)[row]), out);
    else append_decimal(static_cast<const char*>(data) + 16 * row, scale_of(dtype), out);
}

inline void append_json_text(Text text, std::string& out) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out.append(1, '\\').append(1, c);
        else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            out += code;
        } else out += c;
    }
    out += '"';
}

inline bool is_there(const ArrowArray& array, Dtype dtype, std::size_t row) {
    return !is_null(dtype) && is_set(array.buffers[0], static_cast<std::size_t>(array.offset) + row);
}

// Where the values of a list begin; `at` counts from the start of the buffers.
inline std::size_t list_begin(const ArrowArray& array, Dtype dtype, std::size_t at) {
    const Text format = format_of(dtype);
    if (format[1] == 'w') return at * std::strtoull(format.data() + 3, nullptr, 10);
    if (format[1] == 'L') return static_cast<std::size_t>(static_cast<const std::int64_t*>(array.buffers[1])[at]);
    return static_cast<std::size_t>(static_cast<const std::int32_t*>(array.buffers[1])[at]);
}

// The texts of an array of strings or of categories; a null is `no_text`.
class AnyTexts {
public:
    AnyTexts(const ArrowArray& array, Dtype dtype)
        : array_(array),
          code_(dtype.dictionary ? dtype.format[0] : '\0'),
          texts_(code_ ? *array.dictionary : array, code_ ? dtype.dictionary->format : dtype.format) {
        if (code_ && Text("CSI").find(code_) == Text::npos)
            throw std::invalid_argument("categories of the format '" + std::string(dtype.format) + "'");
    }
    Text operator()(std::size_t row) const {
        const Text none(TextArray::no_text, 0);
        if (code_) {
            const std::size_t at = static_cast<std::size_t>(array_.offset) + row;
            if (!is_set(array_.buffers[0], at)) return none;
            const void* const codes = array_.buffers[1];
            row = code_ == 'C'   ? static_cast<const std::uint8_t*>(codes)[at]
                  : code_ == 'S' ? static_cast<const std::uint16_t*>(codes)[at]
                                 : static_cast<const std::uint32_t*>(codes)[at];
        }
        return texts_.is_valid(row) ? texts_[row] : none;
    }

private:
    const ArrowArray& array_;
    char code_;  // the format of the categories' codes; 0: there are none
    TextArray texts_;
};

void append_json(const ArrowArray& array, Dtype dtype, std::size_t row, std::string& out);

inline void append_items(const ArrowArray& values, Dtype dtype, std::size_t begin, std::size_t end, std::string& out) {
    out += '[';
    for (std::size_t i = begin; i < end; ++i) {
        if (i > begin) out += ", ";
        append_json(values, dtype, i, out);
    }
    out += ']';
}

// Any value that `is_writable`, as JSON. A null field of an object is no field: Polars fills in what other rows have.
inline void append_json(const ArrowArray& array, Dtype dtype, std::size_t row, std::string& out) {
    if (!is_there(array, dtype, row)) return void(out += "null");
    const std::size_t at = static_cast<std::size_t>(array.offset) + row;
    if (is_text(dtype)) return append_json_text(AnyTexts(array, dtype)(row), out);
    if (is_object(dtype)) {
        out += '{';
        const std::size_t before = out.size();
        for (std::int64_t i = 0; i < dtype.n_children; ++i) {
            // The children of a struct share its offset.
            if (!is_there(*array.children[i], *dtype.children[i], at)) continue;
            if (out.size() > before) out += ", ";
            append_json_text(dtype.children[i]->name, out);
            out += ": ";
            append_json(*array.children[i], *dtype.children[i], at, out);
        }
        out += '}';
        return;
    }
    if (is_list(dtype))
        return append_items(*array.children[0], inner(dtype), list_begin(array, dtype, at), list_begin(array, dtype, at + 1),
                            out);
    const std::size_t before = out.size();
    append_scalar(array, dtype, row, out);
    // JSON has no words for these.
    if (is_float(dtype) && out.find_first_of("Ni", before) != std::string::npos) out.replace(before, std::string::npos, "null");
}

}  // namespace pe::plugin
