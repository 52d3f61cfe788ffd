"""Run the generators of the real exports, each in an environment of its own under `build/fixtures`.

`make fixtures` runs them all, `make fixtures TOOLS="mlflow otel"` some. They need a package
index, and npm for promptfoo.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TEXTS = {".csv", ".json", ".jsonl", ".yaml"}

# What must not bring what it asks for: packages that no longer build, and that are not needed here.
ALONE = {"openai_evals": "evals"}
# The packages of each tool, for each version of which there is an export.
PYTHON_TOOLS: dict[str, dict[str, tuple[str, ...]]] = {
    "mlflow": {
        "2.22.5": (
            "mlflow==2.22.5",
            "openai==1.109.1",
            "opentelemetry-sdk==1.34.1",
            "setuptools<81",
            "sqlalchemy<2.1",
        ),
        "3.17.2": ("mlflow==3.17.2", "openai==2.54.0"),
    },
    "inspect": {"0.3.285": ("inspect-ai==0.3.285", "pandas", "pyarrow")},
    "otel": {
        "1.34.1": (
            "opentelemetry-sdk==1.34.1",
            "opentelemetry-exporter-otlp-proto-common==1.34.1",
            "opentelemetry-instrumentation-openai==0.40.14",
            "opentelemetry-instrumentation-openai-v2==2.1b0",
            "opentelemetry-semantic-conventions-ai==0.4.9",
            "openai==1.99.9",
            "polars==1.35.2",
        ),
        "1.45.2": (
            "opentelemetry-sdk==1.45.2",
            "opentelemetry-exporter-otlp-proto-common==1.45.2",
            "opentelemetry-instrumentation-openai==0.62.4",
            "opentelemetry-instrumentation-openai-v2==2.4b0",
            "opentelemetry-util-genai==0.4b0",
            "openinference-instrumentation-openai==0.1.66",
            "openai==2.54.0",
            "polars==1.35.2",
        ),
    },
    "phoenix": {
        "20.26.1": (
            "arize-phoenix==20.26.1",
            "openinference-instrumentation-openai==0.1.66",
            "openai==3.49.0",
        )
    },
    "langfuse": {
        "3.15.0": ("langfuse==3.15.0", "polars==1.35.2"),
        "5.0.4": ("langfuse==5.0.4", "polars==1.35.2"),
    },
    "langsmith": {
        "0.14.17": ("langsmith==0.14.17", "langgraph==1.2.20", "langchain-core==1.6.13", "polars==1.35.2")
    },
    "lm_eval": {"0.4.13": ("lm-eval==0.4.13",)},
    "braintrust": {"0.46.0": ("braintrust==0.46.0", "pytest")},
    "openai": {"3.49.0": ("openai==3.49.0",)},
    "anthropic": {"2.8.0": ("anthropic==2.8.0",)},
    "litellm": {"1.90.0": ("litellm==1.90.0",)},
    "pydantic_ai": {"2.60.0": ("pydantic-ai-slim==2.60.0", "logfire==4.41.0")},
    "ragas": {"0.4.3": ("ragas==0.4.3", "langchain-community<0.4")},
    "deepeval": {"4.3.1": ("deepeval==4.3.1",)},
    "helm": {"0.5.16": ("crfm-helm==0.5.16",)},
    "weave": {
        "0.52.10": ("weave==0.52.10", "openai==1.109.1", "ddtrace", "emoji", "litellm", "numpy", "sqlparse")
    },
    "openai_evals": {
        "3.0.1.post1": (
            *("backoff", "blobfile", "lz4", "numpy", "openai==3.49.0", "pandas", "pydantic", "pyyaml"),
            *("requests", "snowflake-connector-python", "tiktoken", "tqdm", "zstandard"),
        )
    },
    "openai_agents": {"0.24.0": ("openai-agents==0.24.0", "openai==3.51.0")},
    "openlit": {"1.45.0": ("openlit==1.45.0", "openai==2.54.0")},
    "pydantic_evals": {"2.62.0": ("pydantic-evals==2.62.0",)},
    "dspy": {"3.4.1": ("dspy==3.4.1",)},
    "trulens": {"2.16.0": ("trulens-core==2.16.0", "pandas", "pyarrow")},
    "ragas_experiment": {"0.4.3": ("ragas==0.4.3", "langchain-community<0.4")},
    "conversations": {"1.0": ("polars==1.35.2",)},
}
NODE_TOOLS: dict[str, dict[str, tuple[str, ...]]] = {
    # With the Node.js that it asks for.
    "promptfoo": {"0.123.1": ("promptfoo@0.123.1", "node@24.21.0")}
}


def environment(tool: str, version: str) -> Path:
    """Make the tool's environment, unless it is there, and return its interpreter."""
    folder = ROOT / "build" / "fixtures" / f"{tool}-{version}"
    done = folder / "installed"
    if tool in NODE_TOOLS:
        interpreter = Path(sys.executable)
        command = ["npm", "install", "--silent", "--prefix", str(folder), *NODE_TOOLS[tool][version]]
    else:
        interpreter = folder / "bin" / "python"
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--system-certs"]
        command += ["--python", str(interpreter), *PYTHON_TOOLS[tool][version]]
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if tool not in NODE_TOOLS:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(command, check=True)
        if tool in ALONE:
            alone = [*command[: -len(PYTHON_TOOLS[tool][version])], "--no-deps", f"{ALONE[tool]}=={version}"]
            subprocess.run(alone, check=True)
        done.touch()
    return interpreter


def generate(tool: str, version: str) -> None:
    """Write the tool's exports and their truth."""
    interpreter = environment(tool, version)
    folder = HERE / tool / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A copy in a place of its own: tools write down where a program stands, and in which repository.
    scratch = Path(tempfile.gettempdir()) / "polars-evals-fixtures" / tool
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(HERE, scratch / "real", ignore=shutil.ignore_patterns("[0-9]*", "__pycache__"))
    shutil.copy(HERE / tool / "generate.py", scratch)
    settings = {
        **os.environ,
        "PYTHONPATH": str(scratch),
        "FIXTURES_ENVIRONMENT": str(ROOT / "build" / "fixtures" / f"{tool}-{version}"),
    }
    command = [str(interpreter), "generate.py", str(folder), version]
    subprocess.run(command, check=True, env=settings, cwd=scratch)
    shutil.rmtree(scratch)
    for file in folder.rglob("*"):
        # Commands and tracebacks in an export name folders of the machine it was made on.
        if file.suffix in TEXTS and str(ROOT).encode() in (text := file.read_bytes()):
            file.write_bytes(text.replace(str(ROOT).encode(), b"/polars-evals"))


def tools() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return all tools, with their versions and what these need."""
    return PYTHON_TOOLS | NODE_TOOLS


def main(names: list[str]) -> None:
    """Generate the exports of the tools that are named, or of all."""
    for tool in names or tools():
        for version in tools()[tool]:
            print(tool, version, flush=True)
            generate(tool, version)


if __name__ == "__main__":
    main(sys.argv[1:])
