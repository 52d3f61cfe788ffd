"""Phoenix and OpenInference: spans as a table or as JSON, and experiments."""

from polars_evals.traces.platforms.base import Platform, ScoreTable, marks

PHOENIX = Platform(
    "phoenix",
    "Phoenix spans or experiments",
    marks(
        "context.span_id context.trace_id, attributes.openinference.span.kind, example_id reference_output, "
        "dataset_example_id output, span_kind parent_id trace_id attributes, example_id reference_output "
        "trace_id"
    ),
    """
    item_id: example_id dataset_example_id  trace_id: context.trace_id trace_id
    span_id: context.span_id span_id id  parent_id:  session_id: attributes.session.id
    ts: start_time  end: end_time  latency_ms:
    model: attributes.llm.model_name attributes.llm.invocation_parameters.model attributes.input.value.model
    version: attributes.llm.prompt_template.version experiment_id
    question: attributes.llm.input_messages|item attributes.input.value|item input|item
    input: attributes.llm.input_messages attributes.input.value input
    output: attributes.llm.output_messages|answer attributes.output.value|answer output
    expected: reference_output.answer reference_output.output reference_output attributes.metadata.expected
    kind: attributes.openinference.span.kind span_kind  status: status_code status.status_code
    status_message: status_message status.description events[name=exception].attributes.exception.message
    error:  finish_reason: attributes.output.value|finish attributes.llm.finish_reason
    input_tokens: attributes.llm.token_count.prompt prompt_tokens
    output_tokens: attributes.llm.token_count.completion completion_tokens
    cost: attributes.llm.cost.total total_cost  tool_calls: attributes.llm.output_messages
    contexts: attributes.retrieval.documents|contexts  scores: annotations
    """,
    spans=True,
    lists=(("data",), ("experiment_runs",)),
    score_table=ScoreTable(
        marks("annotation_name span_id, name result span_id"),
        "span_id: name: annotation_name name value: result.score score label: result.label label",
    ),
)
