// Cosines: of vectors, and of the n-gram counts of texts.
#include <cstdint>

#include "batches.hpp"
#include "bind.hpp"
#include "vectors.hpp"
#include "words/ngram_cosine.hpp"

namespace pe {

using namespace words;

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

// A row without a comparison has a score of 0, not null: the caller knows which of them are missing values.
Result cosine_of_vectors(nb::handle output, nb::handle expected, std::size_t threads) {
    const VectorColumn left(read_chunks(output)), right(read_chunks(expected));
    Result result(broadcast_size(left.size(), right.size()));
    double* score = result.add_floats("score");
    std::int64_t* comparison = result.add_integers("comparison");
    std::int64_t* left_size = result.add_integers("output_size");
    std::int64_t* right_size = result.add_integers("expected_size");
    nb::gil_scoped_release released;
    for_each_cosine(left, right, threads, [&](std::size_t row, const Cosine& cosine, std::size_t a, std::size_t b) {
        score[row] = cosine.score;
        comparison[row] = static_cast<std::int64_t>(cosine.comparison);
        left_size[row] = static_cast<std::int64_t>(a);
        right_size[row] = static_cast<std::int64_t>(b);
    });
    return result;
}

}  // namespace

void bind_similarity(nb::module_& module) {
    module.def("similarity", &similarity, nb::arg("output"), nb::arg("expected"), nb::kw_only(), nb::arg("words"),
               nb::arg("n"), nb::arg("fold_case"), nb::arg("threads"));
    module.def("cosine", &cosine_of_vectors, nb::arg("output"), nb::arg("expected"), nb::kw_only(), nb::arg("threads"));
}

}  // namespace pe
