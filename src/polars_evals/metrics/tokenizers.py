"""What words are: the tokenizers that the word metrics share."""

import re

import polars as pl

from polars_evals.lift import Kernel
from polars_evals.metrics.exact import check_pattern
from polars_evals.wording import did_you_mean, shown

TOKENIZERS = ("auto", "rouge", "whitespace", "unicode", "characters")

# Words that Polars found reach the kernels as one text, joined with a separator that no word contains.
SEPARATED, SEPARATOR = "separated", "\x1f"
ESCAPES = {"\x1e": "\x1e0", SEPARATOR: "\x1e1", "\n": "\x1e2"}


def check_tokenizer(metric: str, tokenizer: object) -> None:
    """Accept the name of a tokenizer, or a regular expression; a word that is not a name is a mistake."""
    if not isinstance(tokenizer, str) or re.fullmatch(r"[\w-]*", tokenizer):
        if tokenizer in TOKENIZERS:
            return
        listed = ", ".join(f'"{name}"' for name in TOKENIZERS)
        raise ValueError(
            f"{metric}: `tokenizer` must be one of {listed} or a regular expression that finds words, "
            f"got {shown(tokenizer)}{did_you_mean(tokenizer, TOKENIZERS)}"
        )
    check_pattern(metric, tokenizer)


def native_name(tokenizer: str) -> str:
    """Name the tokenizer as the kernels know it."""
    return tokenizer if tokenizer in TOKENIZERS else SEPARATED


def tokenized(kernel: Kernel, tokenizer: str, *, fold_case: bool, by_line: bool = False) -> Kernel:
    """Make a kernel find its words with a regular expression first, if the tokenizer is one.

    Polars' regular expressions take linear time. With `by_line` they see one line at a time.
    """
    if tokenizer in TOKENIZERS:
        return kernel

    def with_words_found(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        return kernel(
            *(find_words(side, tokenizer, fold_case=fold_case, by_line=by_line) for side in (left, right))
        )

    return with_words_found


def find_words(texts: pl.Series, pattern: str, *, fold_case: bool, by_line: bool) -> pl.Series:
    """Replace each text by its words, joined. One without words becomes a separator and the text itself."""
    text = pl.lit(texts.str.to_lowercase() if fold_case else texts)
    if by_line:
        words = text.str.split("\n").list.eval(join_words(pl.element(), pattern)).list.join("\n")
    else:
        words = join_words(text, pattern)
    is_empty = words.str.strip_chars("\n") == ""
    return pl.select(pl.when(is_empty).then(SEPARATOR + escape(text)).otherwise(words)).to_series()


def join_words(text: pl.Expr, pattern: str) -> pl.Expr:
    """Find all words and join them; empty matches are none."""
    word = pl.element()
    return text.str.extract_all(pattern).list.eval(escape(word).filter(word != "")).list.join(SEPARATOR)


def escape(text: pl.Expr) -> pl.Expr:
    """Write the separator and the ends of lines in another way, so that different texts stay different."""
    for special, escaped in ESCAPES.items():
        text = text.str.replace_all(special, escaped, literal=True)
    return text
