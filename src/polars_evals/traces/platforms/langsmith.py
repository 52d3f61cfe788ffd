"""LangSmith: runs, as the bulk export, the SDK and the API write them."""

from polars_evals.traces.platforms.base import Platform, ScoreTable, marks

LANGSMITH = Platform(
    "langsmith",
    "LangSmith runs",
    marks("inputs outputs run_type, inputs outputs dotted_order, inputs outputs extra trace_id"),
    """
    item_id: reference_example_id  trace_id: trace_id id  span_id: id  parent_id: parent_run_id
    session_id: extra.metadata.session_id extra.metadata.thread_id extra.metadata.conversation_id thread_id
    ts: start_time  end: end_time  latency_s: latency
    model: extra.metadata.ls_model_name extra.metadata.model extra.invocation_params.model
        outputs.llm_output.model_name extra.invocation_params.model_name outputs.model inputs.model
    version: extra.metadata.revision_id
    input: inputs
    output: outputs.output|answer outputs.answer|answer outputs.result|answer outputs.content|answer
        outputs.text|answer outputs|parsed
    expected: reference_outputs.output reference_outputs.answer reference_outputs
    kind: run_type  error:
    input_tokens: prompt_tokens outputs.usage_metadata.input_tokens outputs.usage.prompt_tokens
        outputs.llm_output.token_usage.prompt_tokens
        outputs.generations[0][0].message.kwargs.usage_metadata.input_tokens
    output_tokens: completion_tokens outputs.usage_metadata.output_tokens outputs.usage.completion_tokens
        outputs.llm_output.token_usage.completion_tokens
        outputs.generations[0][0].message.kwargs.usage_metadata.output_tokens
    cost: total_cost  contexts: outputs.output|contexts outputs.documents|contexts
    scores: feedback_stats feedback
    """,
    spans=True,
    json=("inputs", "outputs", "extra"),
    score_table=ScoreTable(marks("run_id key score"), "span_id: run_id name: key value: score label: value"),
    folder=r"/runs/",
)
