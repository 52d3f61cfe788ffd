"""HELM's scenario_state.json, written by its own classes and serializer."""

import sys
from pathlib import Path

from helm.benchmark.adaptation.adapter_spec import AdapterSpec
from helm.benchmark.adaptation.request_state import RequestState
from helm.benchmark.adaptation.scenario_state import ScenarioState
from helm.benchmark.scenarios.scenario import CORRECT_TAG, TEST_SPLIT, Input, Instance, Output, Reference
from helm.common.codec import to_json
from helm.common.request import GeneratedOutput, Request, RequestResult
from real.scenario import ANSWERS, MODELS, QUESTIONS, export, logged, write_truth

folder = Path(sys.argv[1])
ASKED = [question for question in QUESTIONS if question != "alarm"]


def state(answer):
    question = QUESTIONS[answer.question]
    right = Reference(Output(text=question.expected), tags=[CORRECT_TAG])
    instance = Instance(Input(text=question.text), references=[right], split=TEST_SPLIT, id=question.id)
    request = Request(
        model=f"acme/{answer.model}", model_deployment=f"acme/{answer.model}", prompt=question.text
    )
    if answer.error:
        result = RequestResult(
            success=False, embedding=[], completions=[], cached=False, error=answer.error, request_time=0.25
        )
    else:
        said = GeneratedOutput(
            text=answer.output, logprob=0.0, tokens=[], finish_reason={"reason": answer.finish_reason}
        )
        result = RequestResult(
            success=True,
            embedding=[],
            completions=[said],
            cached=False,
            request_time=0.25,
            request_datetime=1_790_000_000,
        )
    return RequestState(
        instance=instance,
        reference_index=None,
        request_mode=None,
        train_trial_index=0,
        output_mapping=None,
        request=request,
        result=result,
        num_train_instances=0,
        prompt_truncated=False,
    )


for version, model in MODELS.items():
    states = [state(a) for a in ANSWERS if a.version == version and a.question in ASKED]
    adapter = AdapterSpec(method="generation", model=f"acme/{model}", model_deployment=f"acme/{model}")
    place = folder / "runs" / f"fixtures-model=acme_{model}"
    place.mkdir(parents=True)
    (place / "scenario_state.json").write_text(to_json(ScenarioState(adapter, states)))

FIELDS = ["model", "input", "output", "expected", "error", "finish_reason", "latency_ms"]
write_truth(
    folder,
    "crfm-helm 0.5.16: its classes and its serializer",
    [export("runs", FIELDS, questions=ASKED, item="id")],
    [
        entry | {"id": entry["question"], "model": f"acme/{entry['model']}"}
        for entry in logged(
            scores={}, cost=None, contexts=[], tool_calls=[], input_tokens=None, output_tokens=None
        )
    ],
)
