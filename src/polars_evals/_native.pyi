from polars import Series

class Result:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def levenshtein(
    output: Series,
    expected: Series,
    *,
    fold_case: bool,
    max_chars: int | None,
    decimals: int | None,
    details: bool,
    threads: int,
) -> Result: ...
def levenshtein_distance(
    output: Series, expected: Series, *, weights: tuple[int, int, int], score_cutoff: int | None, threads: int
) -> Result: ...
def levenshtein_lists(
    output: Series, expected: Series, *, weights: tuple[int, int, int], score_cutoff: int | None
) -> Result: ...
def stem(word: str) -> str: ...
def json_match(output: Series, expected: Series, *, subset: bool, threads: int) -> Result: ...
def json_readable(texts: Series, *, max_depth: int, threads: int) -> Result: ...
def similarity(
    output: Series, expected: Series, *, words: bool, n: int, fold_case: bool, threads: int
) -> Result: ...
def rouge(
    output: Series,
    expected: Series,
    *,
    variant: str,
    measure: str,
    tokenizer: str,
    stemmer: bool,
    details: bool,
    threads: int,
) -> Result: ...
def word_sets(
    output: Series,
    expected: Series,
    *,
    metric: str,
    tokenizer: str,
    fold_case: bool,
    details: bool,
    threads: int,
) -> Result: ...
def token_f1(output: Series, expected: Series, *, details: bool, threads: int) -> Result: ...
def bleu(
    output: Series,
    expected: Series,
    *,
    tokenize: str,
    lowercase: bool,
    smooth_method: str,
    smooth_value: float,
    max_ngram_order: int,
    effective_order: bool,
    details: bool,
    threads: int,
) -> Result: ...
def chrf(
    output: Series,
    expected: Series,
    *,
    char_order: int,
    word_order: int,
    beta: float,
    lowercase: bool,
    whitespace: bool,
    eps_smoothing: bool,
    details: bool,
    threads: int,
) -> Result: ...
def response(
    output: Series,
    expected: Series,
    *,
    match_type: str,
    fold_case: bool,
    normalize_whitespace: bool,
    details: bool,
    threads: int,
) -> Result: ...
def cosine(output: Series, expected: Series, *, threads: int) -> Result: ...
