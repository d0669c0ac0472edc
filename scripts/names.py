"""Write docs/reference/names.md: the names that dir and completion show, and what they are.

python -m scripts.names            write the page
python -m scripts.names --check    fail if it is out of date

The namespaces are those that dir leads to from te_sched; what a name is, is the first sentence of
its docstring. Must not know single names.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import te_sched  # noqa: E402
from te_sched import nd, relax, runtime, te, tir  # noqa: E402
from te_sched.arith import Analyzer  # noqa: E402
from te_sched.ir.stmt import PrimFunc  # noqa: E402
from te_sched.public_members import public_members  # noqa: E402
from te_sched.target import Target  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "names.md"
# Classes of which users hold objects, by their public names.
CLASSES: dict[str, type] = {
    "te.Schedule": te.Schedule,
    "te.Stage": te.Stage,
    "te.Tensor": te.Tensor,
    "tir.Schedule": tir.Schedule,
    "tir.schedule.Trace": tir.schedule.Trace,
    "tir.Buffer": tir.Buffer,
    "tir.PrimFunc": PrimFunc,
    "IRModule": te_sched.IRModule,
    "arith.Analyzer": Analyzer,
    "target.Target": Target,
    "nd.NDArray": nd.NDArray,
    "runtime.Device": runtime.Device,
    "runtime.Module": runtime.Module,
    "runtime.Function": runtime.Function,
    "relax.BlockBuilder": relax.BlockBuilder,
    "relax.VirtualMachine": relax.VirtualMachine,
    "relax.Executable": relax.Executable,
    "transform.PassContext": te_sched.transform.PassContext,
}
_HEAD = """\
# All names

`dir` and completion show these names of te_sched's modules and main classes, and no others. Made by
`python -m scripts.names` from the first sentences of docstrings.
"""


def namespaces() -> dict[str, types.ModuleType]:
    """The public modules by the names that lead to them, the shortest one of each."""
    found = {"te_sched": te_sched}
    waiting: list[tuple[str, Any]] = [("te_sched", te_sched)]
    for name, module in waiting:
        for part in public(module):
            value = getattr(module, part)
            is_ours = isinstance(value, types.ModuleType) and value.__name__.startswith("te_sched")
            if is_ours and value not in found.values():
                found[f"{name}.{part}"] = value
                waiting.append((f"{name}.{part}", value))
    return found


def public(owner: Any) -> list[str]:
    """The names that completion shows."""
    return [name for name in dir(owner) if name[0] != "_"]


def summary(value: Any) -> str:
    """The first sentence of a docstring; of a value without one its type."""
    is_documented = callable(value) or isinstance(value, types.ModuleType | property)
    text = (inspect.getdoc(value) or "") if is_documented else f"of type `{type(value).__name__}`"
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = re.sub(r"Must not know\b.*", "", paragraph)  # it is for contributors
    sentence = re.split(r"(?<=[a-z)`\"][.;]) |:$", sentence)[0]
    return sentence.replace("|", "\\|").strip()


def _members(kind: type) -> Iterator[tuple[str, str]]:
    for name in public_members(kind):
        value = inspect.getattr_static(kind, name)
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        is_method = callable(value) or isinstance(value, property)
        yield name, summary(value) if is_method else "an attribute"


def page() -> str:
    """The text of the page."""
    lines = [_HEAD]
    for name, module in namespaces().items():
        lines += [f"## {name}\n", f"{summary(module)}\n", "| name | what it is |", "| --- | --- |"]
        lines += [f"| `{one}` | {summary(getattr(module, one))} |" for one in public(module)]
        lines.append("")
    for name, kind in CLASSES.items():
        lines += [f"## class {name}\n", f"{summary(kind)}\n", "| name | what it is |"]
        lines += ["| --- | --- |", *(f"| `{one}` | {text} |" for one, text in _members(kind)), ""]
    return "\n".join(lines)


def main() -> None:
    """Write the page, or compare it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing")
    if arguments.parse_args().check:
        if PAGE.read_text() != page():
            sys.exit("out of date: docs/reference/names.md; run python -m scripts.names")
        return
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
