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
