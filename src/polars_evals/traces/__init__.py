"""From the traces that platforms export to a frame that can be scored."""

from polars_evals.traces.conversations import conversations
from polars_evals.traces.dataset import unmatched_items, with_expected
from polars_evals.traces.detect import Detection
from polars_evals.traces.scan import check_traces, detect_traces, scan_traces, trace_files

__all__ = [
    "Detection",
    "check_traces",
    "conversations",
    "detect_traces",
    "scan_traces",
    "trace_files",
    "unmatched_items",
    "with_expected",
]
