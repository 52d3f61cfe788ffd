// The data types of columns, as the formats of Arrow tell them.
#pragma once

#include <cstdlib>
#include <string>

#include "../core/arrow.hpp"
#include "../core/text.hpp"

namespace pe::plugin {

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
    } plain[] = {{'n', "Null"},   {'b', "Boolean"}, {'c', "Int8"},    {'C', "UInt8"},   {'s', "Int16"},
                 {'S', "UInt16"}, {'i', "Int32"},   {'I', "UInt32"},  {'l', "Int64"},   {'L', "UInt64"},
                 {'e', "Float16"}, {'f', "Float32"}, {'g', "Float64"}, {'z', "Binary"},  {'Z', "Binary"},
                 {'u', "String"}, {'U', "String"}};
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

}  // namespace pe::plugin
