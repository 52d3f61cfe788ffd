// Texts made comparable and then a word metric: judge-llm's Response Evaluator.
#pragma once

#include <cstddef>

#include "rouge.hpp"
#include "word_sets.hpp"

namespace pe::words {

enum class ResponseMatch { exact, rouge, recall, jaccard };

struct ResponseOptions {
    ResponseMatch match = ResponseMatch::rouge;
    bool fold_case = true;
    bool normalize_whitespace = true;
    Tokenizer tokenizer = Tokenizer::automatic;  // of rouge, recall and jaccard
};

struct ResponseResult {
    double score = 0;
    RougeResult rouge;  // of ResponseMatch::rouge
    SetSizes words;     // of ResponseMatch::recall and jaccard
};

class Response {
public:
    Response(const ResponseOptions& options, Needs& needs) : options_(options) {
        const Normalization normalization{options.fold_case, options.normalize_whitespace};
        switch (options.match) {
            case ResponseMatch::exact:
                texts_ = needs.add_texts(normalization);
                if (options.normalize_whitespace) words_ = needs.add_words(texts_, {Tokenizer::whitespace, false, false});
                break;
            case ResponseMatch::rouge:
                rouge_.emplace(RougeOptions{RougeKind::ngrams, 1, options.tokenizer, true}, needs, normalization);
                break;
            case ResponseMatch::recall:
            case ResponseMatch::jaccard: sets_.emplace(options.tokenizer, false, needs, normalization);
        }
    }

    ResponseResult score(Prepared& pair) const {
        ResponseResult result;
        const bool no_output = unicode::strip(pair.texts().output).empty(), no_expected = unicode::strip(pair.texts().expected).empty();
        if (no_output || no_expected) {
            result.score = no_output && no_expected ? 1.0 : 0.0;
            return result;
        }
        switch (options_.match) {
            case ResponseMatch::exact: result.score = are_equal(pair) ? 1.0 : 0.0; break;
            case ResponseMatch::rouge:
                result.rouge = rouge_->score(pair);
                result.score = result.rouge.f1;
                break;
            case ResponseMatch::recall:
            case ResponseMatch::jaccard:
                result.words = sets_->score(pair);
                result.score = options_.match == ResponseMatch::recall ? recall_of(result.words) : jaccard_of(result.words);
        }
        return result;
    }

private:
    bool are_equal(Prepared& pair) const {
        if (options_.normalize_whitespace) return pair.words(words_).output.words == pair.words(words_).expected.words;
        return unicode::strip(pair.texts(texts_).output) == unicode::strip(pair.texts(texts_).expected);
    }

    ResponseOptions options_;
    std::size_t texts_ = 0, words_ = 0;
    std::optional<Rouge> rouge_;
    std::optional<WordSets> sets_;
};

}  // namespace pe::words
