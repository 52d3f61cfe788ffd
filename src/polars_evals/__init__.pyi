# The public names, each once: type checkers and editors read this file, and so does `_lazy.py`.
# Modules with a star are imported at once, which registers `.evals`; other names when they are first used.
from polars_evals._diff import diff as diff
from polars_evals._version import __version__ as __version__
from polars_evals.clean import *  # noqa: F403
from polars_evals.drift.agreement import Agreement as Agreement
from polars_evals.drift.agreement import agreement as agreement
from polars_evals.drift.baseline import against_baseline as against_baseline
from polars_evals.drift.calibrate import Calibration as Calibration
from polars_evals.drift.calibrate import calibrate as calibrate
from polars_evals.drift.compare import compare as compare
from polars_evals.drift.comparison import Comparison as Comparison
from polars_evals.drift.labels import read_labels as read_labels
from polars_evals.drift.labels import sample_items as sample_items
from polars_evals.drift.plan import SamplePlan as SamplePlan
from polars_evals.drift.plan import plan as plan
from polars_evals.drift.rank import Ranking as Ranking
from polars_evals.drift.rank import rank as rank
from polars_evals.drift.runs import Runs as Runs
from polars_evals.drift.runs import runs as runs
from polars_evals.drift.timeline import Timeline as Timeline
from polars_evals.drift.timeline import timeline as timeline
from polars_evals.metrics.edit import *  # noqa: F403
from polars_evals.metrics.retrieval import *  # noqa: F403
from polars_evals.metrics.structured import *  # noqa: F403
from polars_evals.metrics.texts import *  # noqa: F403
from polars_evals.metrics.tools import *  # noqa: F403
from polars_evals.metrics.vectors import *  # noqa: F403
from polars_evals.metrics.words import *  # noqa: F403
from polars_evals.namespace import *  # noqa: F403
from polars_evals.suite.aggregate import Aggregate as Aggregate
from polars_evals.suite.custom import metric as metric
from polars_evals.suite.measure import Measure as Measure
from polars_evals.suite.metric import Metric as Metric
from polars_evals.suite.signature import signatures as signatures
from polars_evals.suite.suggest import Suggestion as Suggestion
from polars_evals.suite.suggest import suggest as suggest
from polars_evals.suite.suite import Suite as Suite
from polars_evals.traces.dataset import unmatched_items as unmatched_items
from polars_evals.traces.dataset import with_expected as with_expected
from polars_evals.traces.rows import conversations as conversations
from polars_evals.traces.scan import check_traces as check_traces
from polars_evals.traces.scan import detect_traces as detect_traces
from polars_evals.traces.scan import scan_traces as scan_traces
