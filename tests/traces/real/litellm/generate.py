"""LiteLLM's own log of each call, through its callback; the answers are mocked by LiteLLM itself."""

import json
import os
import sys
import time
from pathlib import Path

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}

import litellm
from litellm.integrations.custom_logger import CustomLogger
from real.scenario import ANSWERS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
litellm.suppress_debug_info = True
payloads = []


class Keep(CustomLogger):
    def log_success_event(self, kwargs, response_obj, start_time, end_time):
        payloads.append(kwargs["standard_logging_object"])

    def log_failure_event(self, kwargs, response_obj, start_time, end_time):
        payloads.append(kwargs["standard_logging_object"])


litellm.callbacks = [Keep()]
ASKED = [question for question in QUESTIONS if question not in ("alarm", "weather", "blank")]
asked = [answer for answer in ANSWERS if answer.question in ASKED]
for place, answer in enumerate(asked, 1):
    said = RuntimeError(answer.error) if answer.error else answer.output
    try:
        litellm.completion(
            model=f"openai/{answer.model}",
            messages=[dict(message) for message in QUESTIONS[answer.question].messages],
            mock_response=said,
            api_key="none",
            max_retries=0,
            metadata={"question": answer.question},
        )
    except Exception:
        if answer.error is None:
            raise
    # Its threads log: one call after another keeps their order.
    for _ in range(200):
        if len(payloads) >= place:
            break
        time.sleep(0.05)
assert len(payloads) == len(asked), (len(payloads), len(asked))
DROPPED = ("model_map_information", "hidden_params", "user_agent", "requester_ip_address")
rows = [{key: value for key, value in payload.items() if key not in DROPPED} for payload in payloads]
lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
(folder / "standard_logging.jsonl").write_text("".join(lines))

entries = []
for answer, payload in zip(asked, payloads, strict=True):
    usage = {"input_tokens": None, "output_tokens": None}
    if answer.error is None:
        usage = {"input_tokens": payload["prompt_tokens"], "output_tokens": payload["completion_tokens"]}
    entry = logged([answer], expected=None, scores={}, cost=None, contexts=[], finish_reason="stop")[0]
    entries.append(entry | usage | ({"finish_reason": None} if answer.error else {}))
FIELDS = ["model", "input", "output", "error", "finish_reason", "latency_ms", "input_tokens", "output_tokens"]
write_truth(
    folder,
    "litellm 1.90.0 with mocked responses; its StandardLoggingPayload, which counts tokens itself",
    [export("standard_logging.jsonl", FIELDS, questions=ASKED)],
    entries,
)
