// A function of the plugin: what its result is, told from the types of its columns alone, and the result.
#pragma once

#include <memory>
#include <vector>

#include "inputs.hpp"
#include "options.hpp"
#include "../core/table.hpp"

namespace pe::plugin {

using Dtypes = std::vector<const ArrowSchema*>;

class Function {
public:
    virtual ~Function() = default;
    // The type of the result; columns of a wrong type are `Refused`.
    virtual Field type(const Dtypes& columns) const = 0;
    virtual Column run(const std::vector<Input>& columns) const = 0;
};

// Makes functions of their options, by name.
using Make = std::unique_ptr<Function> (*)(const Value& options);

// How many threads a call may use: those of Polars' own pool. The module sets it; else it is told as Polars tells it.
std::size_t thread_count();

}  // namespace pe::plugin
