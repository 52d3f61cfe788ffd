"""Cosines: of vectors that are there, and of embeddings that a model on this machine or a function makes."""

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_evals.expressions import python
from polars_evals.expressions.native import Fields, call, metric
from polars_evals.expressions.options import Fraction, IntoText, Missing, Positive, check_options
from polars_evals.wording import shown

if TYPE_CHECKING:
    import numpy as np

__all__ = ["cosine", "semantic"]

# Texts in; as many vectors out, of one length.
Encode: TypeAlias = Callable[[list[str]], Any]
Encoder: TypeAlias = str | Path | Encode

VECTOR = pl.List(pl.Float32)

# So many vectors are remembered from batch to batch of a stream.
REMEMBERED = 100_000


def cosine(
    output: IntoText,
    expected: IntoText,
    *,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the cosine between two vectors, such as embeddings.

    Parameters
    ----------
    output, expected
        Two columns of List or Array of numbers.
    threshold
        The lowest score that passes.
    missing
        How to score a missing vector: `"fail"` scores 0.0, `"null"` gives null. A vector with a null, a NaN
        or an infinity in it is missing.
    details
        Append `reason`: why the vectors could not be compared.

    Notes
    -----
    A cosine below 0 scores 0.0. Vectors with different numbers of elements score 0.0, and so do empty
    vectors and vectors of zeros, which have no direction. The magnitude of a vector does not matter. Equal
    vectors score exactly 1.0.

    Examples
    --------
    >>> df = pl.DataFrame({"output": [[3.0, 4.0], [4.0, 3.0], None], "expected": [[6.0, 8.0]] * 3})
    >>> df.with_columns(pe.cosine("output", "expected")).unnest("cosine")
    shape: (3, 4)
    ┌────────────┬────────────┬───────┬───────┐
    │ output     ┆ expected   ┆ score ┆ label │
    │ ---        ┆ ---        ┆ ---   ┆ ---   │
    │ list[f64]  ┆ list[f64]  ┆ f64   ┆ enum  │
    ╞════════════╪════════════╪═══════╪═══════╡
    │ [3.0, 4.0] ┆ [6.0, 8.0] ┆ 1.0   ┆ pass  │
    │ [4.0, 3.0] ┆ [6.0, 8.0] ┆ 0.96  ┆ pass  │
    │ null       ┆ [6.0, 8.0] ┆ 0.0   ┆ fail  │
    └────────────┴────────────┴───────┴───────┘
    """
    return metric(cosine, locals())


def semantic(
    output: IntoText,
    expected: IntoText,
    *,
    encoder: Encoder,
    batch_size: Positive = 1024,
    cache: str | Path | None = None,
    vectors: bool = False,
    threshold: Fraction = 0.8,
    missing: Missing = "fail",
    details: bool = False,
) -> pl.Expr:
    """Score the cosine between the embeddings of output and expected.

    Parameters
    ----------
    output, expected
        The text to score, and the text it should mean the same as. Of several references the best counts.
    encoder
        The folder of a model2vec model (`pip install "polars-evals[semantic]"`), or any function from a list
        of texts to a list of vectors. Nothing is downloaded.
    batch_size
        The number of texts in a call of the encoder.
    cache
        A Parquet file that keeps the vectors between runs. Its texts are not encoded again.
    vectors
        Append `output_vector` and `expected_vector` to `details`.
    threshold
        The lowest score that passes.
    missing
        `"fail"`: a missing value scores 0.0. `"null"`: null. `"unlabelled"`: null without expected, else 0.0.
    details
        Append the fields for conversations, and the vectors if `vectors` is true.

    Notes
    -----
    Each distinct text is encoded once. Equal texts score 1.0. A cosine below 0 scores 0.0, and so does a
    text with a vector of zeros.

    Examples
    --------
    >>> def letters(texts):
    ...     return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    >>> df = pl.DataFrame({"output": ["listen", "loud", None], "expected": ["silent", "quiet", "x"]})
    >>> df.with_columns(pe.semantic("output", "expected", encoder=letters)).unnest("semantic")
    shape: (3, 4)
    ┌────────┬──────────┬──────────┬───────┐
    │ output ┆ expected ┆ score    ┆ label │
    │ ---    ┆ ---      ┆ ---      ┆ ---   │
    │ str    ┆ str      ┆ f64      ┆ enum  │
    ╞════════╪══════════╪══════════╪═══════╡
    │ listen ┆ silent   ┆ 1.0      ┆ pass  │
    │ loud   ┆ quiet    ┆ 0.223607 ┆ fail  │
    │ null   ┆ x        ┆ 0.0      ┆ fail  │
    └────────┴──────────┴──────────┴───────┘
    """
    arguments = locals()
    check_options(semantic, arguments)
    embeddings = Embeddings(_read_encoder(encoder), batch_size, None if cache is None else Path(cache))

    def kernel(left: pl.Series, right: pl.Series) -> pl.DataFrame:
        rows = pl.DataFrame({"output": left, "expected": right})
        compared = rows.drop_nulls()
        texts = pl.concat([compared["output"], compared["expected"]]).unique(maintain_order=True)
        known = pl.DataFrame({"text": texts, "vector": embeddings.of(texts.to_list())})
        for side in ("output", "expected"):
            found = known.rename({"text": side, "vector": f"{side}_vector"})
            rows = rows.join(found, on=side, how="left", maintain_order="left")
        vectors = [pl.col(f"{side}_vector") for side in ("output", "expected")]
        cosine = call("cosine", vectors, {"threshold": 0.0, "missing": "fail", "details": False})
        # Null where one of the texts is.
        equal = pl.col("output") == pl.col("expected")
        score = pl.when(equal).then(1.0).when(~equal).then(cosine.struct.field("score"))
        return rows.with_columns(score=score)

    fields: Fields = {"output_vector": VECTOR, "expected_vector": VECTOR} if vectors else {}
    return python.metric(semantic, arguments, kernel, fields=fields)


class Embeddings:
    """The vectors of texts, each encoded once."""

    def __init__(self, encode: Encode, batch_size: Positive, cache: Path | None) -> None:
        self.encode, self.batch_size, self.cache = encode, batch_size, cache
        self.known: OrderedDict[str, np.ndarray[Any, Any]] = OrderedDict()
        self.lock = Lock()

    def __reduce__(self) -> "tuple[type[Embeddings], tuple[Encode, int, Path | None]]":
        """Leave out what a worker makes anew."""
        return Embeddings, (self.encode, self.batch_size, self.cache)

    def of(self, texts: list[str]) -> pl.Series:
        """Give the vectors of different texts."""
        with self.lock:
            if self.cache is not None and self.cache.exists() and not self.known:
                self.known.update(_read_cache(self.cache))
            fresh = dict(self.encoded([text for text in texts if text not in self.known]))
            self.known.update(fresh)
            found = [self.known[text] for text in texts]
            if self.cache is not None and fresh:
                _write_cache(self.cache, self.known)
            while self.cache is None and len(self.known) > REMEMBERED:
                self.known.popitem(last=False)
        if len({len(vector) for vector in found}) > 1:
            raise ValueError("semantic: `encoder` gives vectors of different length")
        return pl.Series("vector", [vector.tolist() for vector in found], dtype=VECTOR)

    def encoded(self, texts: list[str]) -> "Iterator[tuple[str, np.ndarray[Any, Any]]]":
        """Encode texts in batches."""
        import numpy as np

        for at in range(0, len(texts), self.batch_size):
            batch = texts[at : at + self.batch_size]
            try:
                made = np.asarray(self.encode(batch), dtype=np.float32)
            except Exception as error:
                raise ValueError(f"semantic: `encoder` failed: {type(error).__name__}: {error}") from error
            if made.ndim != 2 or len(made) != len(batch):
                raise ValueError(
                    f"semantic: `encoder` must give a vector for each text, got an array of shape "
                    f"{made.shape} for {len(batch)} texts"
                )
            _show_progress(min(at + self.batch_size, len(texts)), len(texts))
            yield from zip(batch, made, strict=True)


def _show_progress(done: int, total: int) -> None:
    """Say on a terminal how far the encoder is, where that takes more than a batch."""
    if sys.stderr.isatty() and (done < total or total > 10_000):
        end = "\n" if done == total else ""
        sys.stderr.write(f"\rsemantic: {done:,} of {total:,} texts encoded{end}")
        sys.stderr.flush()


def _read_cache(path: Path) -> "dict[str, np.ndarray[Any, Any]]":
    import numpy as np

    stored = pl.read_parquet(path, columns=["text", "vector"])
    return {text: np.asarray(vector, dtype=np.float32) for text, vector in stored.rows()}


def _write_cache(path: Path, known: "OrderedDict[str, np.ndarray[Any, Any]]") -> None:
    """Keep the vectors for the next run; the file is replaced in one step."""
    vectors = [vector.tolist() for vector in known.values()]
    beside = path.with_name(path.name + ".new")
    pl.DataFrame({"text": list(known), "vector": pl.Series(vectors, dtype=VECTOR)}).write_parquet(beside)
    beside.replace(path)


def _read_encoder(encoder: object) -> Encode:
    if isinstance(encoder, str | Path):
        return _load_model(str(encoder))
    if callable(encoder):
        return encoder
    raise ValueError(
        f"semantic: `encoder` must be the folder of a model, or a function from texts to vectors, got "
        f"{shown(encoder)}"
    )


@lru_cache(maxsize=4)
def _load_model(folder: str) -> Encode:
    """Load a model2vec model from a folder. Another name would be looked up on the network."""
    if not Path(folder).is_dir():
        raise ValueError(
            f'semantic: there is no folder "{folder}", and nothing is downloaded. Give the folder of a '
            "model2vec model, which is made where there is a network: model2vec.StaticModel.from_pretrained("
            '"minishlab/potion-base-8M").save_pretrained("folder"); or a function from texts to vectors: '
            "encoder=SentenceTransformer(...).encode"
        )
    other = (
        f'semantic: "{folder}" holds no model2vec model. A model of another package is a function from texts '
        f'to vectors, such as encoder=SentenceTransformer("{folder}").encode'
    )
    if not (Path(folder) / "config.json").is_file():
        raise ValueError(other)
    try:
        from model2vec import StaticModel
    except ImportError:
        raise ValueError(
            'semantic: models in folders need the package model2vec: pip install "polars-evals[semantic]"'
        ) from None
    try:
        encode: Encode = StaticModel.from_pretrained(folder).encode
    except Exception as error:
        raise ValueError(f"{other} ({type(error).__name__}: {error})") from error
    return encode


def encoder_name(encoder: Encoder) -> str:
    """Name an encoder so that different ones have different names: by the contents of its folder."""
    if isinstance(encoder, str | Path):
        digest = sha256()
        for file in sorted(Path(encoder).rglob("*")):
            if file.suffix in (".json", ".safetensors"):
                digest.update(file.read_bytes())
        return f"{Path(encoder).name}-sha256-{digest.hexdigest()[:16]}"
    return _function_name(encoder)


def _function_name(function: Callable[..., Any]) -> str:
    """Name a function by its module, its name and its `version`, where it has one."""
    called = getattr(function, "__qualname__", type(function).__name__)
    name = f"{getattr(function, '__module__', '')}.{called}"
    version = getattr(function, "version", None)
    return name if version is None else f"{name}-{version}"
