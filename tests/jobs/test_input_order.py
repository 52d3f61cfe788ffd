"""The table does not depend on how its inputs were divided into runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_evals.jobs import ingest, run
from tests.jobs.support import deliver, make_job, table, traces


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_any_division_into_runs_gives_the_same_table(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Files with overlapping keys, delivered in any order, over any number of runs, with any batch size."""
    spans = data.draw(
        st.lists(st.tuples(st.integers(0, 12), st.integers(1, 8), st.integers(1, 3)), min_size=1, max_size=5)
    )
    files = [
        (f"traces/{n}.parquet", traces(range(begin, begin + length), note=[str(n)] * length), time)
        for n, (begin, length, time) in enumerate(spans)
    ]
    order = data.draw(st.permutations(range(len(files))))
    cuts = data.draw(st.sets(st.integers(1, len(files))))
    once, often = (tmp_path_factory.mktemp(name) for name in ("once", "often"))
    for folder in (once, often):
        make_job(folder)
    for name, frame, time in files:
        deliver(frame, once / name, time)
    run(once / "job.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "SMALL_BATCH", (data.draw(st.integers(1, 3)), 16 << 20))
        for place, index in enumerate(order):
            name, frame, time = files[index]
            deliver(frame, often / name, time)
            if place in cuts:
                run(often / "job.toml")
        run(often / "job.toml")
    assert_frame_equal(table(often), table(once))
    newest = max(files, key=lambda file: (file[2], file[0]))
    assert set(newest[1]["trace_id"]) <= set(table(once).filter(source_file=newest[0])["trace_id"])
