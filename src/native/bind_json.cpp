// JSON texts: compared with each other, and checked before Python reads them.
#include <cstdint>

#include "batches.hpp"
#include "bind.hpp"
#include "json/document.hpp"
#include "json/equal.hpp"

namespace pe {

using namespace json;

namespace {

struct JsonScratch {
    JsonDocument left, right;
    JsonEquality equal;
};

Result json_match(nb::handle output, nb::handle expected, bool subset, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    Result result(broadcast_size(left.size(), right.size()));
    double* score = result.add_floats("score");
    std::int64_t* left_valid = result.add_integers("output_valid");
    std::int64_t* right_valid = result.add_integers("expected_valid");
    nb::gil_scoped_release released;
    for_each_batch<JsonScratch>(left, right, threads, result, [&](const Batch& batch, JsonScratch& scratch) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const std::size_t row = batch.rows[i];
            left_valid[row] = scratch.left.read(batch.left[i]);
            right_valid[row] = scratch.right.read(batch.right[i]);
            score[row] = left_valid[row] && right_valid[row] && scratch.equal(scratch.left, scratch.right, subset);
        }
    });
    return result;
}

Result json_readable(nb::handle texts, std::size_t max_depth, std::size_t threads) {
    const TextColumn column(read_chunks(texts));
    Result result(column.size());
    std::int64_t* readable = result.add_integers("readable");
    nb::gil_scoped_release released;
    for_each_batch<JsonDocument>(column, column, threads, result, [&](const Batch& batch, JsonDocument& document) {
        for (std::size_t i = 0; i < batch.size(); ++i)
            readable[batch.rows[i]] =
                document.read(batch.left[i]) && document.depth() <= max_depth && !document.has_huge_number();
    });
    return result;
}

}  // namespace

void bind_json(nb::module_& module) {
    module.def("json_match", &json_match, nb::arg("output"), nb::arg("expected"), nb::kw_only(), nb::arg("subset"),
               nb::arg("threads"));
    module.def("json_readable", &json_readable, nb::arg("texts"), nb::kw_only(), nb::arg("max_depth"), nb::arg("threads"));
}

}  // namespace pe
