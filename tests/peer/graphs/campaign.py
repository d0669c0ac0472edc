"""Compares te_sched with TVM on random graphs: texts, verdicts, passes one by one and in sequence,
and results.

Each program runs in a process of its own, which says what it does before it asks TVM: where TVM
ends the process, or does not return, the program is done again without that step.
"""

from __future__ import annotations

import collections
import io
import os
import pickle
import random
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import tvm
import tvm.script
from tvm import relax as their_relax
from tvm.script import ir as their_ir
from tvm.script import relax as their_words
from tvm.script import tir as their_tir

import te_sched
from te_sched import ir, relax, script
from te_sched.errors import TeSchedError
from tests.peer.graphs.modules import PACKED, program
from tests.peer.graphs.passes import ALL, GRAPH, chain
from tests.peer.graphs.sources import Program

_SECONDS = 100
_STORES = re.compile(r"(?: +H\[T\.int64\(\d+\)\] = .*\n){2,}")  # TVM's order is that of hashes
_LITERAL = re.compile(r"T\.(float\d+)\(([-+.\dEe]+)\)")


def plain(text: str) -> str:
    """A text without the spelling of floating-point literals, and sizes stored in order."""
    text = _STORES.sub(lambda found: "".join(sorted(found[0].splitlines(True))), text + "\n")
    return _LITERAL.sub(lambda found: f"T.{found[1]}({float(found[2])!r})", text.strip())


def is_well_formed(graphs: Any, module: Any) -> bool:
    """The verdict of a library."""
    return bool(graphs.analysis.well_formed(module))


@dataclass
class Comparison:
    """What was compared of a program: pairs of a kind and whether it is the same, and details."""

    seed: int
    skipped: set[str] = field(default_factory=set)
    announce: Callable[[str], None] = lambda step: None
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    differences: list[tuple[str, str]] = field(default_factory=list)
    excused: list[tuple[str, str]] = field(default_factory=list)

    def run(self) -> None:
        """Compare everything."""
        made = program(self.seed)
        ours = self.ours(lambda: read(made))
        theirs = self.theirs("read", lambda: their_module(made))
        if not self.same("text", ours, theirs):
            return
        self.verdicts(ours, theirs)
        self.metadata(ours, theirs)
        for name in GRAPH:
            self.after(name, ours, theirs, "alone: ")
        self.sequence(made, ours, theirs)
        self.results(made, ours, theirs)

    def note(self, what: str, is_same: bool, detail: str = "") -> bool:
        """Count a comparison."""
        self.counts[what] += 1
        self.counts[f"{what}, the same"] += is_same
        if not is_same:
            self.differences.append((what, detail))
        return is_same

    def ours(self, action: Callable[[], Any]) -> Any:
        """A result of te_sched, or its error as text."""
        try:
            return action()
        except TeSchedError as error:
            return f"refused: {error}"
        except Exception:
            return f"CRASHED: {traceback.format_exc()}"

    def theirs(self, step: str, action: Callable[[], Any]) -> Any:
        """A result of TVM, or its error as text."""
        if step in self.skipped:
            return "ended TVM"
        self.announce(step)
        try:
            return action()
        except Exception as error:
            lines = [one for one in str(error).splitlines() if "Error" in one or "Check" in one]
            return f"refused: {' | '.join(lines[-3:])}"
        finally:
            self.announce("")

    def same(self, what: str, ours: Any, theirs: Any) -> bool:
        """Compare two modules, or refusals."""
        if isinstance(ours, str) and isinstance(theirs, str):
            self.note(f"{what}, refused by both", not ours.startswith("CRASH"), ours)
            return False
        if isinstance(theirs, str):
            kind = "ended TVM" if theirs == "ended TVM" else "refused by TVM"
            self.excuse(f"{what}, {kind}", theirs)
            return False
        text = plain(theirs.script())
        if isinstance(ours, str):
            return self.note(what, False, f"{ours}\n--- TVM\n{text}")
        mine = plain(ours.script())
        if mine == text:
            return self.note(what, True)
        detail = f"{mine}\n--- TVM\n{text}"
        if not is_well_formed(their_relax, theirs) and is_well_formed(relax, ours):
            return self.excuse(f"{what}, TVM's fault", detail)
        copy = self.copy_of(theirs, what)
        if not isinstance(copy, str) and ir.structural_equal(copy, ours):
            return self.excuse(f"{what}, other names", detail)
        return self.note(what, False, detail)

    def excuse(self, what: str, detail: str) -> bool:
        """Count a difference that is not te_sched's."""
        self.counts[what] += 1
        self.excused.append((what, detail))
        return False

    def copy_of(self, theirs: Any, where: str) -> Any:
        """A module of TVM's as te_sched's, or why there is none."""
        saved = self.theirs(f"JSON, {where}", lambda: tvm.ir.save_json(theirs))
        return self.ours(lambda: ir.load_json(saved)) if saved.startswith("{") else saved

    def verdicts(self, ours: Any, theirs: Any) -> None:
        """Whether a module is well formed; passes of TVM may leave one that is not."""
        found, want = is_well_formed(relax, ours), is_well_formed(their_relax, theirs)
        if found and not want:
            self.excuse("well formed, TVM's fault", theirs.script())
        else:
            self.note("well formed", found == want, f"{found} for {want}")

    def metadata(self, ours: Any, theirs: Any) -> None:
        """Whether te_sched reads the text with all constants, that of TVM, too."""
        text = theirs.script(show_meta=True)
        for words, one in (("read again", ours.script(show_meta=True)), ("TVM's text", text)):
            found = self.ours(lambda one=one: script.from_source(one))  # type: ignore[misc]
            why = found if isinstance(found, str) else ""
            is_same = not why and ir.structural_equal(found, ours)
            self.note(f"metadata, {words}", is_same, why)

    def after(self, name: str, ours: Any, theirs: Any, where: str) -> tuple[Any, Any]:
        """The modules after a pass, compared."""
        mine = self.ours(partial(ALL[name](relax), ours))
        other = self.theirs(f"{where}{name}", lambda: ALL[name](their_relax)(theirs))
        self.same(f"{where}{name}", mine, other)
        return mine, other

    def sequence(self, made: Program, ours: Any, theirs: Any) -> None:
        """A sequence of passes. Where texts differ, the comparison goes on with TVM's module; what
        te_sched makes alone is executed.
        """
        early, late = chain(random.Random(self.seed))
        mine = ours
        for place, name in enumerate([*early, *late]):
            if place == len(early):
                self.verdicts(ours, theirs)
                self.runs(f"results after {'+'.join(early)}", made, mine, "default_build")
            found, other = self.after(name, ours, theirs, "in sequence: ")
            mine = found if mine is ours else self.ours(partial(ALL[name](relax), mine))
            if isinstance(other, str):
                return
            if isinstance(found, str) or plain(found.script()) != plain(other.script()):
                found = self.copy_of(other, f"{place} {name}")
            if isinstance(found, str) or isinstance(mine, str):
                self.note("sequence", False, str(found))
                return
            ours, theirs = found, other
        self.runs("results of the lowered module", made, mine, None)

    def results(self, made: Program, ours: Any, theirs: Any) -> None:
        """What both compute, beside numpy."""
        self.runs("results", made, ours, "default_build")
        found = self.theirs("build", lambda: run(tvm, their_relax, theirs, made, "default_build"))
        why = found if isinstance(found, str) else difference(found, made.expected)
        self.counts["TVM's results"] += 1
        self.counts["TVM's results, the same"] += not why
        if why:
            self.excused.append(("TVM's results", why))

    def runs(self, what: str, made: Program, module: Any, pipeline: Any) -> None:
        """What te_sched computes."""
        kind = what.split(" after ")[0] + (" after passes" if " after " in what else "")
        if isinstance(module, str):
            return
        found = self.ours(lambda: run(te_sched, relax, module, made, pipeline))
        why = found if isinstance(found, str) else difference(found, made.expected)
        self.note(kind, not why, f"{what}: {why}\n{module.script()}")


def read(made: Program) -> Any:
    """The module of a program."""
    constants = {name: relax.const(one, str(one.dtype)) for name, one in made.constants.items()}
    return script.from_source(made.text, constants)


def their_module(made: Program) -> Any:
    """The module of a program in TVM."""
    words = {"I": their_ir, "R": their_words, "T": their_tir}
    constants = {
        name: their_relax.const(one, str(one.dtype)) for name, one in made.constants.items()
    }
    return tvm.script.from_source(made.text, {**words, **constants})


def run(library: Any, graphs: Any, module: Any, made: Program, pipeline: Any) -> Any:
    """The results of "main" as arrays."""
    for name, function in PACKED.items():
        library.register_func(name, function, override=True)
    if pipeline:
        module = graphs.transform.LambdaLift()(module)
        module = graphs.transform.DecomposeOpsForInference()(module)
    executable = graphs.build(module, "llvm", pipeline=pipeline)
    machine = graphs.VirtualMachine(executable, library.cpu())
    given = [library.nd.array(one) for one in made.given]
    return arrays(machine["main"](*given))


def arrays(value: Any) -> Any:
    """A result as arrays."""
    return value.numpy() if hasattr(value, "numpy") else [arrays(one) for one in value]


def difference(found: Any, expected: Any) -> str:
    """Why results differ; "" if they do not."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, list) or len(found) != len(expected):
            return "another number of results"
        reasons = [difference(one, other) for one, other in zip(found, expected, strict=True)]
        return "; ".join(f"[{k}] {why}" for k, why in enumerate(reasons) if why)
    expected = np.asarray(expected)
    if isinstance(found, list) or found.shape != expected.shape or found.dtype != expected.dtype:
        kinds = [getattr(one, "shape", one) for one in (found, expected)]
        return f"{kinds[0]} {getattr(found, 'dtype', '')}, expected {kinds[1]} {expected.dtype}"
    if expected.dtype.kind != "f":
        wrong = int((found != expected).sum())
        return f"{wrong} of {expected.size} elements differ" if wrong else ""
    tolerance = {2: 3e-2, 4: 1e-3, 8: 1e-3}[expected.dtype.itemsize]
    one, other = found.astype("float64"), expected.astype("float64")
    defined = np.isfinite(other)
    scale = max(1.0, float(np.abs(other[defined]).max(initial=0)))
    wrong = defined & ~(np.abs(one - other) <= tolerance * (np.abs(other) + 0.05 * scale))
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        return f"{int(wrong.sum())} of {wrong.size}, at {at} {one[at]}, expected {other[at]}"
    return ""


def compare(seed: int) -> Comparison:
    """Compare a program in a process of its own."""
    skipped: set[str] = set()
    while True:
        found, step = _in_child(seed, skipped)
        if found is not None:
            return found
        if not step or step in skipped:
            lost = Comparison(seed)
            lost.note("process", False, f"ended, or took too long in te_sched; {step}")
            return lost
        skipped.add(step)


def _in_child(seed: int, skipped: set[str]) -> tuple[Comparison | None, str]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as stream:
            silence()

            def announce(step: str) -> None:
                pickle.dump(step, stream)
                stream.flush()

            made = Comparison(seed, set(skipped), announce)
            try:
                made.run()
            except Exception:
                made.note("generator", False, traceback.format_exc())
            made.announce = lambda step: None
            pickle.dump((made.counts, made.differences, made.excused), stream)
            stream.flush()
        os._exit(0)
    os.close(writer)
    end, data = time.monotonic() + _SECONDS, b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(0, end - time.monotonic()))
        part = os.read(reader, 1 << 20) if ready else b""
        if not part:
            break
        data += part
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    stream, step = io.BytesIO(data), ""
    while stream.tell() < len(data):
        try:
            item = pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):
            break
        if isinstance(item, str):
            step = item
        else:
            found = Comparison(seed, skipped)
            found.counts, found.differences, found.excused = item
            return found, ""
    return None, step


def silence() -> None:
    """TVM's warnings are not shown."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    sys.setrecursionlimit(10000)
