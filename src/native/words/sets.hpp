// Word sets, for Jaccard and recall, and SQuAD's F1.
#pragma once

#include <cstddef>

#include "workspace.hpp"

namespace pe {

struct SetOptions {
    Tokenizer tokenizer = Tokenizer::whitespace;
    bool fold_case = true;
};

// Without any word on either side both are 1.
inline double jaccard_of(const SetSizes& sizes) {
    return sizes.all() == 0 ? 1.0 : static_cast<double>(sizes.overlap) / static_cast<double>(sizes.all());
}
inline double recall_of(const SetSizes& sizes) {
    if (sizes.expected == 0) return sizes.output == 0 ? 1.0 : 0.0;
    return static_cast<double>(sizes.overlap) / static_cast<double>(sizes.expected);
}

inline void sets_many(const Text* outputs, const Text* expected, std::size_t count, const SetOptions& options,
                      SetSizes* results, WordsWorkspace& workspace) {
    for (std::size_t i = 0; i < count; ++i) {
        workspace.vocabulary.start_pair(false);
        workspace.read(outputs[i], options.tokenizer, options.fold_case, workspace.output);
        workspace.read(expected[i], options.tokenizer, options.fold_case, workspace.expected);
        results[i] = workspace.sets.compare(workspace.expected, workspace.output, workspace.vocabulary.size());
    }
}

}  // namespace pe
