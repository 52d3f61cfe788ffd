"""Records of a TruLens app, as its frame writes them: JSON lines and Parquet."""

import sys
import tempfile
from pathlib import Path

from real.scenario import QUESTIONS, export, find, logged, write_truth
from trulens.apps.app import TruApp
from trulens.core import TruSession
from trulens.core.otel.instrument import instrument
from trulens.otel.semconv.trace import SpanAttributes

folder, version = Path(sys.argv[1]), sys.argv[2]
# A failed run is stored as one with a blank answer.
ASKED = [question for question in QUESTIONS if question not in ("alarm", "failed", "turns")]
ROOT, FOUND = SpanAttributes.RECORD_ROOT, SpanAttributes.RETRIEVAL


class Assistant:
    def __init__(self, name):
        self.name = name

    @instrument(
        span_type=SpanAttributes.SpanType.RETRIEVAL,
        attributes={FOUND.QUERY_TEXT: "text", FOUND.RETRIEVED_CONTEXTS: "return"},
    )
    def retrieve(self, text):
        return [
            context
            for question in QUESTIONS.values()
            if question.text == text
            for context in question.contexts
        ]

    @instrument(attributes={ROOT.INPUT: "text", ROOT.OUTPUT: "return"})
    def ask(self, text):
        self.retrieve(text)
        [question] = [question.id for question in QUESTIONS.values() if question.text == text]
        return find(question, self.name).output


session = TruSession(database_url=f"sqlite:///{tempfile.mkdtemp()}/records.sqlite")
session.reset_database()
for name in ("v1", "v2"):
    app = Assistant(name)
    recorder = TruApp(app, app_name="assistant", app_version=name, main_method=app.ask)
    for question in ASKED:
        with recorder:
            app.ask(QUESTIONS[question].text)
session.force_flush()
records, _ = session.get_records_and_feedback()
records.to_json(folder / "records.jsonl", orient="records", lines=True)
json_columns = [name for name in records if name.endswith("_json")]
records.drop(columns=json_columns).to_parquet(folder / "records.parquet")

FIELDS = ["input", "output", "error", "latency_ms"]
write_truth(
    folder,
    f"trulens-core {version} with TruApp",
    [export(name, FIELDS, questions=ASKED) for name in ("records.jsonl", "records.parquet")],
    logged(expected=None, scores={}, cost=None, contexts=[], finish_reason=None, tool_calls=[]),
)
