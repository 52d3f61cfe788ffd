"""Keep one comment on a pull request up to date: the Markdown of a run, and a link to its report."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

# GitHub refuses longer comments.
LONGEST = 60_000


def main(markdown: str) -> None:
    """Write the comment, or say why it is not written: the step summary has the same text."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    repository, pull = os.environ["GITHUB_REPOSITORY"], event["pull_request"]
    # The repository of a fork may be gone.
    if ((pull["head"].get("repo") or {}).get("full_name")) != repository:
        print("::notice::The pull request is from a fork, whose token may not comment: see the step summary.")
        return
    mark = f"<!-- polars-evals: {os.environ['JOB'].replace('--', '- -')} -->"
    text = Path(markdown).read_text("utf-8")
    if len(text) > LONGEST:
        text = text[:LONGEST] + "\n\n… the step summary has the rest"
    link = f"\n\n[Report]({os.environ['REPORT']})" if os.environ.get("REPORT") else ""
    comments = f"/repos/{repository}/issues/{pull['number']}/comments"
    try:
        known = find(comments, mark)
        path, method = (
            (comments, "POST")
            if known is None
            else (
                f"/repos/{repository}/issues/comments/{known}",
                "PATCH",
            )
        )
        ask(path, method, {"body": f"{mark}\n{text}{link}"})
    except urllib.error.HTTPError as error:
        print(f"::notice::The comment was not written, GitHub answers {error.code}: see the step summary.")


def find(comments: str, mark: str) -> int | None:
    """Find the comment of an earlier run."""
    for page in range(1, 100):
        found = ask(f"{comments}?per_page=100&page={page}", "GET")
        for comment in found:
            if (comment.get("body") or "").startswith(mark):
                return int(comment["id"])
        if len(found) < 100:
            break
    return None


def ask(path: str, method: str, body: Any = None) -> Any:
    """Ask GitHub's API."""
    request = urllib.request.Request(
        os.environ["GITHUB_API_URL"] + path,
        None if body is None else json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {os.environ['TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main(sys.argv[1])
