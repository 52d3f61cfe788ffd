// Cosine of n-gram counts over columns of texts.
#include "batches.hpp"
#include "bind.hpp"
#include "ngram_cosine.hpp"

namespace pe {
namespace {

Result similarity(nb::handle output, nb::handle expected, bool words, std::size_t n, bool fold_case, std::size_t threads) {
    const TextColumn left(read_chunks(output)), right(read_chunks(expected));
    const NgramOptions options{words, fold_case, n};
    Result result(broadcast_size(left.size(), right.size()));
    double* score = result.add_floats("score");
    nb::gil_scoped_release released;
    for_each_batch<NgramCosine>(left, right, threads, result, [&](const Batch& batch, NgramCosine& cosine) {
        for (std::size_t i = 0; i < batch.size(); ++i)
            score[batch.rows[i]] = cosine(batch.left[i], batch.right[i], options);
    });
    return result;
}

}  // namespace

void bind_similarity(nb::module_& module) {
    module.def("similarity", &similarity, nb::arg("output"), nb::arg("expected"), nb::kw_only(), nb::arg("words"),
               nb::arg("n"), nb::arg("fold_case"), nb::arg("threads"));
}

}  // namespace pe
