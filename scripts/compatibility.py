"""Write docs/compatibility.md: each public name of TVM 0.19 that TE programs use.

    python scripts/compatibility.py             write the page
    python scripts/compatibility.py --collect   list TVM's names again (needs TVM 0.19 as `tvm`)

Whether a name works is read from te_sched; the reasons for absent names are in
te_sched.compat.absent, differences in the table below and in the parameters of functions. How many
of TVM's own tests pass is counted by hand (unmet_tests.json).
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import te_sched
from te_sched import compat
from te_sched.compat.absent import advice

ROOT = Path(__file__).resolve().parent.parent
NAMES = Path(__file__).with_name("tvm_names.json")
UNMET = Path(__file__).with_name("unmet_tests.json")
PAGE = ROOT / "docs" / "compatibility.md"

# Sections of the page: modules, and classes whose members are listed.
SECTIONS = {
    "tvm": "building programs and finding devices",
    "te": "declaring and scheduling",
    "te.Tensor": "members",
    "te.Schedule": "members",
    "te.Stage": "members",
    "tir": "expressions, statements, functions",
    "tir.Buffer": "members",
    "tir.PrimFunc": "members",
    "tir.transform": "passes",
    "tir.stmt_functor": "walking programs",
    "IRModule": "members",
    "ir": "modules and intrinsics",
    "transform": "how programs are lowered",
    "arith": "simplifying and proving",
    "arith.Analyzer": "members",
    "nd": "arrays",
    "nd.NDArray": "members",
    "runtime": "compiled modules",
    "runtime.Module": "members",
    "runtime.Device": "members",
    "target": "targets",
    "target.Target": "members",
    "testing": "tests",
    "contrib": "additional libraries",
    "topi": "operators",
    "topi.nn": "operators of networks",
    "topi.utils": "helpers of operators",
    "relax": "graphs of functions",
    "relax.op": "operators of graphs",
    "relax.op.nn": "operators of networks",
    "relax.transform": "passes of graphs",
    "relax.analysis": "analyses of graphs",
    "relax.dpl": "patterns of graphs",
    "relax.frontend.nn": "modules of networks",
    "meta_schedule": "searching for schedules",
    "autotvm": "searching with templates",
    "dlight": "default schedules",
    "dlight.gpu": "default schedules for GPUs",
}
# Differences from TVM's names.
NOTES = {
    "build": "refuses a schedule that would race or computes nothing (pass `verify=False` to build "
    "anyway); compiles for processors and CUDA only",
    "lower": "`stop_after=` shows a pass's result",
    "TVMError": "is TeSchedError, the base of all errors, each with fault, where, why and help",
    "cuda": "emulated by the processor if TE_SCHED_EMULATE=1",
    "gpu": "as `cuda`",
    "opencl": "for programs that query it: `exist` is False",
    "cl": "as `opencl`",
    "rocm": "as `opencl`",
    "metal": "as `opencl`",
    "mtl": "as `opencl`",
    "vulkan": "as `opencl`",
    "te.hybrid": "a script cannot write its inputs; a `HybridModule` loads plain scripts only",
    "te.compute": "the axes are also sympy integers; a condition has no truth value",
    "te.var": "an expression without a truth value: `if n == 1` raises an error with help",
    "tir.const": "without a dtype a Python float is float32",
    "tir.For": "`kind` is a string; the members of ForKind equal it",
    "tir.Call": "`op` is a string; in rules of intrinsics it also has `name`",
    "tir.transform.StorageFlatten": "its parameters are ignored",
    "tir.transform.NarrowDataType": "32 bits only",
    "ir.register_op_attr": "only `TCallEffectKind` and `FLowerIntrinsic` have an effect",
    "ir.Array": "is tuple",
    "ir.Map": "is dict",
    "ir.GlobalVar": "is str",
    "nd.array": "a Python list of floats becomes float32",
    "nd.NDArray.numpy": "a copy; `numpy.from_dlpack(array)` shares memory",
    "runtime.String": "is str",
    "runtime.ShapeTuple": "is tuple",
    "runtime.convert": "lists become tuples",
    "runtime.Module.get_source": "LLVM IR, or assembly with `asm`",
    "target.Target": "keeps its text unchanged; options are checked",
    "target.Target.mattr": "is the text of the option",
    "testing.parameters": "needs pytest; invalid combinations are skipped",
    "testing.known_failing_targets": "omits the targets",
    "testing.requires_rpc": "always skips",
    "testing.requires_tensorcore": "always skips",
    "transform.PassContext": "honors tir.disable_vectorize, tir.UnrollLoop, tir.add_lower_pass, "
    "tir.disable_storage_rewrite, tir.disable_cse_tir and disabled_pass; warns once of others",
    "arith.Analyzer": "`te_sched.arith.Analyzer` has `const_bounds`; under the `tvm` alias it has "
    "TVM's objects too",
    "contrib.cblas": "computed by numpy's BLAS",
    "contrib.nvcc": "for programs that import it; te_sched does not call it",
    **dict.fromkeys(
        ("tir.PrimFunc.script", "tir.PrimFunc.show", "IRModule.script", "IRModule.show"),
        "without the parameters for formatting",
    ),
    "relay": "only `relay.build_config`",
    "auto_scheduler": "only functions that register workloads; `te_sched.tune` searches",
    "driver": "only `build`, `lower` and their options; no `tvmc`",
    "rpc": "only `LocalSession`, in this process",
}
# Parameters that te_sched omits, because nothing depends on them.
_IGNORED = {"span", "self", "kwargs", "args"}
# Functions whose parameters control the formatting of a text.
_PRINTING = {"script", "show", "astext"}
# Internal names of TVM: C++ objects, hooks for debuggers.
_INTERNAL = {"handle", "legacy_repr", "register_ffi", "tvm_wrap_excepthook", "tvm"}
# Packages in which only names defined there are listed.
_CLOSED = {"topi", "testing", "contrib", "relax", "meta_schedule", "autotvm", "dlight"}


def collect() -> dict[str, dict[str, Any]]:
    """The public names of TVM, with the parameters of functions."""
    tvm = importlib.import_module("tvm")
    libraries = ("contrib.cblas", "contrib.clang", "contrib.nvcc", "contrib.utils")
    for name in ("testing", *libraries, "relax.frontend.nn", "autotvm", "dlight.gpu"):
        importlib.import_module(f"tvm.{name}")
    return {section: dict(sorted(_members(tvm, section))) for section in SECTIONS}


def _members(tvm: Any, section: str) -> Iterator[tuple[str, Any]]:
    place = _find(tvm, section)
    own = section if section.partition(".")[0] in _CLOSED else ""
    for name in dir(place):
        value = getattr(place, name, None)
        is_public = not name.startswith("_") and name not in _INTERNAL
        if is_public and _belongs_to_tvm(value, inspect.isclass(place), section, own):
            yield name, _parameters(value)


def _find(tvm: Any, section: str) -> Any:
    place = tvm
    for name in section.split(".") if section != "tvm" else ():
        place = getattr(place, name)
    return place


def _belongs_to_tvm(value: Any, is_member: bool, section: str, own: str) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("tvm." if section == "tvm" else f"tvm.{section}.")
    if is_member or isinstance(value, int | float | str):
        return is_member
    return str(getattr(value, "__module__", "")).startswith(f"tvm.{own}")


def _parameters(value: Any) -> Any:
    """The names of a function's parameters; None for other objects."""
    if inspect.isclass(value) or not callable(value):
        return None
    try:
        return [name for name in inspect.signature(value).parameters if name not in _IGNORED]
    except (TypeError, ValueError):
        return None


def _unmet() -> list[str]:
    """TVM's own tests: how many pass, and why the others do not."""
    found = json.loads(UNMET.read_text())
    return [
        "## TVM's own tests",
        "",
        "Those of TVM 0.19 that pass with TVM itself on a processor and are about what users see, "
        "not about its parts in C++,",
        "other devices, or passes that are off by default. `import tvm` is te_sched there.",
        "",
        "| folder of `tests/python` | passed | of |",
        "| --- | --- | --- |",
        *[f"| {folder} | {passed:,} | {total:,} |" for folder, passed, total in found["figures"]],
        "",
        "What is not met:",
        "",
        "| file | tests | reason |",
        "| --- | --- | --- |",
        *[f"| {file} | {tests} | {reason} |" for file, tests, reason in found["unmet"]],
        "",
    ]


def page(names: dict[str, dict[str, Any]]) -> str:
    """The text of the page."""
    was_installed = compat.is_installed()
    compat.install()
    try:
        tvm = importlib.import_module("tvm")
        rows = {section: list(_rows(tvm, section, names[section])) for section in SECTIONS}
    finally:
        if not was_installed:
            compat.uninstall()
    return "\n".join(
        [*_head(rows), *(line for section in SECTIONS for line in _table(section, rows)), *_unmet()]
    )


def _sample(tvm: Any, section: str) -> Any:
    """A module, or an object of a class, since only objects have some of the names."""
    te = tvm.te
    tensor = te.compute((4,), lambda i: te.placeholder((4,), name="A")[i] + 1.0, name="B")
    schedule = te.create_schedule(tensor.op)
    arguments = [*tensor.op.input_tensors, tensor]
    objects: dict[str, Callable[[], Any]] = {
        "te.Tensor": lambda: tensor,
        "te.Schedule": lambda: schedule,
        "te.Stage": lambda: schedule[tensor],
        "tir.Buffer": lambda: tvm.tir.decl_buffer((4,)),
        "tir.PrimFunc": lambda: tvm.lower(schedule, arguments)["main"],
        "IRModule": lambda: tvm.lower(schedule, arguments),
        "arith.Analyzer": lambda: tvm.arith.Analyzer(),
        "nd.NDArray": lambda: tvm.nd.empty((4,)),
        "runtime.Module": lambda: tvm.build(schedule, arguments),
        "runtime.Device": lambda: tvm.cpu(0),
        "target.Target": lambda: tvm.target.Target("llvm"),
    }
    return objects[section]() if section in objects else _find(tvm, section)


def _rows(tvm: Any, section: str, members: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, state and remark of each name of a section; a name that works in programs that
    `import tvm`, and that te_sched itself does not have, has the state "installed".
    """
    place, own = _sample(tvm, section), _sample(te_sched, section)
    for name, parameters in members.items():
        full = name if section == "tvm" else f"{section}.{name}"
        if not hasattr(place, name):
            yield name, "absent", advice(full)
            continue
        remarks = [NOTES[full]] if full in NOTES else []
        if name in _PRINTING:
            parameters = []
        missing = _missing_parameters(place, name, parameters)
        if missing:
            remarks.append(f"without {', '.join(f'`{one}`' for one in missing)}")
        works = "works" if hasattr(own, name) else "installed"
        yield name, "differs" if remarks else works, "; ".join(remarks)


def _missing_parameters(place: Any, name: str, parameters: list[str] | None) -> list[str]:
    """The parameters of TVM's function that te_sched's does not have, by position or name."""
    try:
        own = list(inspect.signature(getattr(place, name)).parameters.values())
    except (TypeError, ValueError):
        return []
    if parameters is None or any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in own):
        return []
    positional = [one for one in own if one.name not in _IGNORED]
    known = {one.name for one in own}
    return [
        one
        for position, one in enumerate(parameters)
        if one not in known and position >= len(positional)
    ]


def _head(rows: dict[str, list[tuple[str, str, str]]]) -> list[str]:
    count = {
        state: sum(row[1] == state for section in rows.values() for row in section)
        for state in ("works", "installed", "differs", "absent")
    }
    return [
        "# Compatibility with TVM 0.19",
        "",
        "Generated by `python scripts/compatibility.py`; a test checks that it is up to date.",
        "",
        "Programs of three generations run unchanged: `python -m te_sched run PROGRAM.py`, or",
        "`te_sched.compat.install()` before `import tvm`. Names that TVM had until 0.6",
        "(`tvm.placeholder`, `tvm.create_schedule`, `tvm.context`, `tvm.build_config`,",
        "`tvm.ir_pass`, ...) work there too. An absent name raises an error that names the",
        "alternative.",
        "",
        f"Of {sum(count.values())} public names of the modules below "
        f"{count['works'] + count['installed']} work as in TVM, {count['differs']} differ, "
        f"{count['absent']} are absent.",
        f"Of those that work, {count['installed']} are given to programs that `import tvm` alone; "
        "with `import te_sched as tvm`",
        "an error leads to them.",
        "",
    ]


def _table(section: str, rows: dict[str, list[tuple[str, str, str]]]) -> list[str]:
    works, installed = (
        [name for name, state, _ in rows[section] if state == one] for one in ("works", "installed")
    )
    others = [row for row in rows[section] if row[1] in ("differs", "absent")]
    title = section if section in ("tvm",) else f"tvm.{section}"
    lines = [f"## {title}: {SECTIONS[section]}", ""]
    if works:
        lines += ["Works: " + ", ".join(f"`{name}`" for name in works) + ".", ""]
    if installed:
        names = ", ".join(f"`{name}`" for name in installed)
        lines += [f"Works in programs that `import tvm`: {names}.", ""]
    if others:
        lines += ["| name | state | difference or alternative |", "| --- | --- | --- |"]
        lines += [f"| `{name}` | {state} | {remark} |" for name, state, remark in _joined(others)]
        lines.append("")
    return lines


def _joined(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Rows with the same state and remark, joined."""
    together: dict[tuple[str, str], list[str]] = {}
    for name, state, remark in rows:
        together.setdefault((state, remark), []).append(name)
    return [("`, `".join(names), state, remark) for (state, remark), names in together.items()]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collect", action="store_true", help="refresh the list of TVM's names")
    if parser.parse_args().collect:
        NAMES.write_text(json.dumps(collect(), indent=1) + "\n")
    PAGE.write_text(page(json.loads(NAMES.read_text())))


if __name__ == "__main__":
    main()
