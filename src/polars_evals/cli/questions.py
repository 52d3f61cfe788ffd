"""The commands that answer other questions: which version is best, how many items, how stable, who agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polars_evals.cli import options
from polars_evals.cli.comparing import named_aggregates, named_measures
from polars_evals.cli.console import deliver, explained, show_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_evals.drift.result import Result

Item = Annotated[str, typer.Option(help="Column of test cases.")]
Html = Annotated[str | None, typer.Option(help="Write a page.")]


def add_to(app: typer.Typer) -> None:
    """Add these commands to the others."""
    examples: dict[Callable[..., None], str] = {
        rank: "rank scored.parquet --version model --item item_id",
        plan: "plan --spread 0.3 --min-effect 0.02",
        runs: "runs scored.parquet --version model --item item_id --k 1 --k 4",
        agreement: "agreement labels.parquet --rater human --rater judge",
    }
    for command, example in examples.items():
        app.command(epilog=f"Example: `polars-evals {example}`")(command)


def rank(
    scored: options.Scored,
    *,
    version: options.Version,
    item: Item,
    metrics: options.Metrics = None,
    cluster: options.Cluster = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare every version with this one. [default: all pairs]")
    ] = None,
    measures: options.Measures = None,
    aggregates: options.Aggregates = None,
    unanswered: options.Unanswered = "auto",
    alpha: options.Alpha = 0.05,
    html: Html = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
) -> None:
    """Rank versions: a leaderboard with intervals for means, ranks and differences."""
    with explained():
        from polars_evals.drift import rank as ranked
        from polars_evals.jobs.scoring import scan_scored

        result = ranked(
            scan_scored(scored), version=version, item=item, metrics=metrics or None, cluster=cluster,
            measures=named_measures(measures), aggregates=named_aggregates(aggregates),
            baseline=baseline, alpha=alpha, unanswered=unanswered,  # type: ignore[arg-type]
        )  # fmt: skip
        answer(result, html, markdown, as_json=as_json, everything=everything)


def plan(
    pilot: Annotated[
        list[str] | None,
        typer.Argument(help="Scored files of two versions, to estimate the spread from; or give --spread."),
    ] = None,
    *,
    spread: Annotated[
        float | None, typer.Option(help="Standard deviation of the paired differences.")
    ] = None,
    min_effect: Annotated[float, typer.Option(help="The difference to detect.")] = 0.02,
    alpha: options.Alpha = 0.05,
    power: Annotated[float, typer.Option(help="Probability of detecting it.")] = 0.8,
    cluster_size: Annotated[float | None, typer.Option(help="Number of items in a cluster.")] = None,
    icc: Annotated[float | None, typer.Option(help="Correlation within a cluster.")] = None,
    runs: Annotated[int, typer.Option(help="How often each version answers each item.")] = 1,
    run_share: Annotated[
        float | None, typer.Option(help="Share of the variance between runs of an item.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="The pilot's column of versions.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="The version that the others are compared with, where there are several."),
    ] = None,
    item: Annotated[str | None, typer.Option(help="The pilot's column of test cases.")] = None,
    cluster: options.Cluster = None,
    metrics: options.Metrics = None,
    html: Html = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
) -> None:
    """Find how many items two versions must answer to detect a change."""
    with explained():
        from polars_evals.drift import plan as planned
        from polars_evals.jobs.scoring import scan_scored

        result = planned(
            scan_scored(pilot) if pilot else None, spread=spread, min_effect=min_effect, alpha=alpha,
            power=power, cluster_size=cluster_size, icc=icc, runs=runs, run_share=run_share, version=version,
            baseline=baseline, item=item, cluster=cluster, metrics=metrics or None,
        )  # fmt: skip
        answer(result, html, markdown, as_json=as_json, everything=everything)


def runs(
    scored: options.Scored,
    *,
    version: options.Version,
    item: Item,
    k: Annotated[
        list[int] | None, typer.Option(help="Number of runs; repeat for several. [default: 1, 2, 4]")
    ] = None,
    metrics: options.Metrics = None,
    cluster: options.Cluster = None,
    alpha: options.Alpha = 0.05,
    html: Html = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
) -> None:
    """Judge versions that answered each item several times: pass@k, pass^k and flaky items."""
    with explained():
        from polars_evals.drift import runs as judged
        from polars_evals.jobs.scoring import scan_scored

        result = judged(
            scan_scored(scored), version=version, item=item, k=k or (1, 2, 4), metrics=metrics or None,
            cluster=cluster, alpha=alpha,
        )  # fmt: skip
        answer(result, html, markdown, as_json=as_json, everything=everything)


def agreement(
    ratings: Annotated[list[str], typer.Argument(help="Parquet files with a row for each item.")],
    *,
    raters: Annotated[
        list[str], typer.Option("--rater", help="Column of ratings; repeat for each rater, people first.")
    ],
    level: Annotated[str, typer.Option(help="`nominal`, `ordinal` or `interval`.")] = "nominal",
    alpha: options.Alpha = 0.05,
    html: Html = None,
    markdown: options.Markdown = None,
    everything: options.All = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how well raters agree: kappas, Krippendorff's alpha, and a judge against people."""
    with explained():
        from polars_evals.drift import agreement as measured
        from polars_evals.jobs.scoring import scan_scored

        result = measured(scan_scored(ratings), raters=raters, level=level, alpha=alpha)
        answer(result, html, markdown, as_json=as_json, everything=everything)


def answer(
    result: Result, html: str | None, markdown: str | None, *, as_json: bool, everything: bool
) -> None:
    """Write what was asked for, and show the result."""
    paths = deliver(result, {"html": html, "markdown": markdown})
    show_result(result, paths, as_json=as_json, everything=everything)
