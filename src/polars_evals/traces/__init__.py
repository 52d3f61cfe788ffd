"""From the traces that platforms export to a frame that can be scored."""

from polars_evals.traces.dataset import unmatched_items, with_expected
from polars_evals.traces.detect import Detection
from polars_evals.traces.rows import conversations
from polars_evals.traces.scan import TraceCheck, check_traces, detect_traces, scan_traces

__all__ = [
    "Detection",
    "TraceCheck",
    "check_traces",
    "conversations",
    "detect_traces",
    "scan_traces",
    "unmatched_items",
    "with_expected",
]
