"""Run every notebook from top to bottom, and store what it shows.

    python notebooks/run.py                     # all of them
    python notebooks/run.py 1-first-steps       # one
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
# Results fit the terminal: what is stored must not depend on whose it was.
os.environ["COLUMNS"] = "100"


def run(path: Path) -> nbformat.NotebookNode:
    """Return the notebook with fresh outputs; an error in a cell is an error here."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, kernel_name="python3", record_timing=False, resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    # What an engine logs is for whoever runs it, and names folders of the machine.
    for cell in notebook.cells:
        if "if find_spec(" in cell.source:
            cell.outputs = [shown for shown in cell.outputs if shown.get("name") != "stderr"]
    # What depends on the machine that ran it.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            nbformat.write(run(path), path)
            print(path.name)
