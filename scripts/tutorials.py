"""Execute the tutorials and store their outputs: tutorials/NN_name.ipynb.

    python -m scripts.tutorials              execute all, and store the outputs
    python -m scripts.tutorials 00 04        those whose names begin with these
    python -m scripts.tutorials --check      change nothing; fail if an output differs

A notebook is the only source of a tutorial. Edit it in Jupyter, or as text:

    jupytext --to py:percent --output /tmp/00.py tutorials/00_first_schedule.ipynb
    jupytext --to ipynb --output tutorials/00_first_schedule.ipynb /tmp/00.py

Tags of cells: `measured` (its text varies between runs and is not compared),
`raises-exception` (it ends with an expected error). Each notebook runs in a new kernel of this
interpreter, in the folder of the tutorials.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from benchmarks import peer_environment

FOLDER = Path(__file__).resolve().parent.parent / "tutorials"
MEASURED = "measured"
LARGEST_OUTPUT = 40_000  # characters of a rich output; larger ones are omitted
SECONDS = 300  # time limit of a cell
NEEDED = {"16_pytorch_model": "torch"}  # optional packages
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LEFT_OUT = ("text/html", "image/svg+xml")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def notebooks(beginnings: Sequence[str] = ()) -> list[Path]:
    """The tutorials whose names have one of the prefixes, or all, by number."""
    paths = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
    return [path for path in paths if not beginnings or path.name.startswith(tuple(beginnings))]


def missing(path: Path) -> str:
    """The package that a tutorial needs and that is not installed, or ""."""
    package = NEEDED.get(path.stem, "")
    return package if package and find_spec(package) is None else ""


def read(path: Path) -> NotebookNode:
    """A stored notebook."""
    return nbformat.read(path, as_version=4)


def rewrite(path: Path) -> None:
    """Execute a tutorial and store its new outputs."""
    executed = execute(read(path))
    nbformat.validate(executed)
    nbformat.write(executed, path)


def check(path: Path) -> str:
    """The diff of a tutorial's stored and new outputs; "" if they are equal."""
    stored = read(path)
    return difference(stored, execute(stored), path.name)


class _OwnKernel(AsyncKernelManager):
    """A kernel of this interpreter, which the user's "python3" may not be."""

    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)


def execute(notebook: NotebookNode) -> NotebookNode:
    """A tidy copy of a notebook with the outputs of a new kernel.

    Raises `nbclient.exceptions.CellExecutionError` if a cell fails that is not tagged for it.
    """
    fresh = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory(prefix="tutorial-") as folder:
        # Exclude the user's history and startup files of IPython.
        private = {"IPYTHONDIR": folder, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        private["TE_SCHED_PROGRESS"] = "0"  # outputs would contain the bars
        client = NotebookClient(
            fresh,
            kernel_manager_class=_OwnKernel,
            extra_arguments=["--log-level=ERROR"],
            timeout=SECONDS,
            record_timing=False,
            resources={"metadata": {"path": str(FOLDER)}},
        )
        client.execute(env={**peer_environment.as_users_run(os.environ), **private})
    return tidy(fresh)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """The stored form of a notebook: sources and outputs only."""
    tidied = nbformat.from_dict(notebook)
    tidied.metadata = nbformat.from_dict(
        {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    )
    tidied.nbformat, tidied.nbformat_minor = 4, 5
    seen: dict[str, int] = {}
    for cell in tidied.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({"tags": sorted(tags)} if tags else {})
        cell.id = _identity(cell.source, seen)
        if cell.cell_type == "code":
            cell.outputs = [_tidy_output(output) for output in _joined(cell.outputs)]
    return tidied


def _identity(source: str, seen: dict[str, int]) -> str:
    """A cell's id, a hash of its content."""
    name = hashlib.sha256(source.encode()).hexdigest()[:8]
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"


def _joined(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The outputs without progress bars, with the text of each stream joined."""
    joined: list[NotebookNode] = []
    for output in outputs:
        if _is_progress(output):
            continue
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _is_progress(output: NotebookNode) -> bool:
    """Whether an output is a progress bar, which occurs only if the work is slow."""
    if output.output_type == "stream":
        return output.name == "stderr" and "\r" in output.text
    return _WIDGET in output.get("data", {})


def _tidy_output(output: NotebookNode) -> NotebookNode:
    if output.output_type == "error":  # without the library's frames
        output.traceback = [f"{output.ename}: {_COLOR.sub('', output.evalue)}"]
    elif output.output_type != "stream":
        output.metadata = nbformat.from_dict({})
        for kind in _LEFT_OUT:
            if len(output.data.get(kind, "")) > LARGEST_OUTPUT:
                del output.data[kind]
    return output


def difference(stored: NotebookNode, executed: NotebookNode, name: str) -> str:
    """The unified diff of the outputs of two runs; "" if they are equal."""
    lines = [list(_compared(notebook)) for notebook in (stored, executed)]
    titles = f"{name}, stored", f"{name}, executed"
    return "\n".join(difflib.unified_diff(*lines, *titles, lineterm=""))


def _compared(notebook: NotebookNode) -> Iterator[str]:
    """The parts of outputs that all runs have in common: texts, and kinds of rich outputs."""
    for number, cell in enumerate(notebook.cells):
        is_measured = MEASURED in cell.metadata.get("tags", [])
        for output in cell.get("outputs", []):
            kinds = " ".join(sorted(output.get("data", {})))
            yield f"[cell {number}] {output.output_type} {kinds}"
            if not is_measured:
                lines = _ADDRESS.sub("0x...", _text(output)).splitlines()
                # The marked part of a line in a traceback depends on the version of Python.
                yield from (line for line in lines if not line or line.strip(" ~^"))


def _text(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return str(output.data.get("text/plain", ""))


def main(arguments: Sequence[str]) -> int:
    """Execute tutorials; returns 1 if one fails or differs."""
    parser = argparse.ArgumentParser(prog="python -m scripts.tutorials", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", help="the beginnings of their names")
    parser.add_argument("--check", action="store_true", help="compare, and change nothing")
    options = parser.parse_args(arguments)
    paths = notebooks(options.names)
    if not paths:
        print(f"no tutorial begins with {' or '.join(options.names)}", file=sys.stderr)
    different = [path for path in paths if _is_different(path, options.check)]
    return 1 if different or not paths else 0


def _is_different(path: Path, only_check: bool) -> bool:
    if package := missing(path):
        print(f"{path.name}: skipped, it needs {package}", flush=True)
        return False
    start = time.perf_counter()
    problem = check(path) if only_check else rewrite(path)
    verdict = "differs" if problem else "ok"
    print(f"{path.name}: {verdict}, {time.perf_counter() - start:.1f} s", flush=True)
    if problem:
        print(problem)
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
