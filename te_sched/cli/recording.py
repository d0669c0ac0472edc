"""Records of the schedules of a program: each as it was lowered or built last.

Must not know how programs are run.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from te_sched import config
from te_sched.codegen.target import Target
from te_sched.config import Lowering
from te_sched.errors import LoweringError, SourceLocation
from te_sched.ir.stmt import AttrStmt, For, IRModule, PrimFunc, Stmt
from te_sched.lower.pipeline import check_name
from te_sched.lower.statements import statements
from te_sched.schedule.bindings import has_threads
from te_sched.schedule.schedule import Schedule
from te_sched.trace.observing import Observer
from te_sched.views.loop_tree import default_args


@dataclass(eq=False)
class Found:
    """A schedule, or a function of loops, and its last use by the program.

    `args` are None as long as it was not lowered or built; `simple` is the simple_mode it was
    lowered with, None where it was built alone.
    """

    inputs: Schedule | PrimFunc
    place: SourceLocation
    number: int = 0
    function: str = "main"
    args: list[Any] | None = None
    binds: Any = None
    simple: bool | None = None
    target: Target | None = None
    verify: bool = True
    choices: Lowering = field(default_factory=Lowering)

    @property
    def name(self) -> str:
        """Its name: that of the function, if it was given one, or those of its outputs."""
        if self.function not in ("main", "default_function") or isinstance(self.inputs, PrimFunc):
            return self.function
        return ",".join(op.name for op in self.inputs.outputs)

    @property
    def title(self) -> str:
        """Its number, name and the line that made it."""
        return f"schedule {self.number}: {self.name} ({short(self.place)})"

    @property
    def arguments(self) -> list[Any] | None:
        """The arguments it was lowered with, or else its placeholders and outputs."""
        if self.args is not None or isinstance(self.inputs, PrimFunc):
            return self.args
        return list(default_args(self.inputs))

    @property
    def parameters(self) -> list[Any]:
        """Tensors, buffers and scalars, in the order of the function's parameters."""
        if isinstance(self.inputs, PrimFunc):
            func = self.inputs
            return [func.buffer_map.get(param, param) for param in func.params]
        return list(self.arguments or ())

    def target_of(self, asked: Target | None = None) -> Target:
        """The requested target, or the one it was built for, or the one that its threads
        require."""
        if asked is not None:
            return asked
        if self.target is not None:
            return self.target
        inputs = self.inputs
        if isinstance(inputs, Schedule):
            is_bound = has_threads(inputs)
        else:
            is_bound = _has_thread_loops(inputs.body)
        return Target("cuda" if is_bound else "llvm")


class ScheduleRecorder(Observer):
    """Records the uses of each schedule of a program."""

    def __init__(self) -> None:
        self.schedules: dict[Any, Found] = {}
        self.functions: list[Found] = []
        self._made_of: dict[PrimFunc, Found] = {}

    @property
    def found(self) -> list[Found]:
        """The schedules; if there are none, functions that were built or defined without one."""
        return list(self.schedules.values()) or self.functions

    def created(self, schedule: Any, place: SourceLocation) -> None:
        self.schedules[schedule] = Found(schedule, place)

    def lowering(self, inputs: Any, **options: Any) -> None:
        found = self._of(inputs)
        found.function, found.binds = options["name"], options["binds"]
        found.args, found.choices = list(options["args"]), options["choices"]
        if options["stop_after"] is None:
            found.simple = options["simple_mode"]

    def lowered(self, inputs: Any, module: Any) -> None:
        for func in module.functions.values():
            self._made_of[func] = self._of(inputs)

    def building(self, inputs: Any, place: SourceLocation, **options: Any) -> None:
        target, verify = options["target"], options["verify"]
        if isinstance(inputs, Schedule):
            found = self._of(inputs)
            found.target, found.verify = target, verify
            with suppress(LoweringError):  # which the build will raise
                check_name(options["name"])
                found.function = options["name"]
            found.binds, found.choices = options["binds"], config.current().lowering
            if options["args"] is not None:
                found.args = list(options["args"])
            return
        for name, func in _functions(inputs, options["name"]):
            found = self._made_of.get(func) or self._function(func, name, place)
            found.target, found.verify = target, verify

    def defined(self, names: Mapping[str, Any], path: str) -> None:
        """Record the functions among the names of a program that builds none."""
        if self.found:
            return
        for name, value in names.items():
            for known, func in _functions(value, name):
                if func not in self._made_of:
                    self._function(func, known, _place_of(name, path))

    def _of(self, schedule: Any) -> Found:
        if schedule not in self.schedules:  # made by other means than create_schedule
            self.created(schedule, SourceLocation())
        return self.schedules[schedule]

    def _function(self, func: PrimFunc, name: str, place: SourceLocation) -> Found:
        found = Found(func, place, function=name)
        self._made_of[func] = found
        self.functions.append(found)
        return found


def _place_of(name: str, path: str) -> SourceLocation:
    """The line of a program that gives a name at the top level its value."""
    pattern = re.compile(rf"(def|class) {re.escape(name)}\b|{re.escape(name)}\s*[:=]")
    for number, line in enumerate(linecache.getlines(path), 1):
        if pattern.match(line):
            return SourceLocation(path, number)
    return SourceLocation()


def _has_thread_loops(body: Stmt) -> bool:
    """Whether a program has loops over threads or blocks of a GPU."""
    bound = [one.thread_binding for one in statements(body) if type(one) is For]
    launched = [
        one.node for one in statements(body) if type(one) is AttrStmt and one.key == "thread_extent"
    ]
    return any(axis is not None and "Idx" in axis.thread_tag for axis in (*bound, *launched))


def _functions(inputs: Any, name: str) -> Iterator[tuple[str, PrimFunc]]:
    """The functions in the inputs of `build`."""
    if isinstance(inputs, PrimFunc):
        yield str(inputs.attrs.get("global_symbol", name)), inputs
    elif isinstance(inputs, IRModule):
        yield from inputs.functions.items()
    elif isinstance(inputs, dict):
        for part in inputs.values():
            yield from _functions(part, name)


def short(place: SourceLocation) -> str:
    """A line of the program, without folders."""
    return f"{os.path.basename(place.file)}:{place.line}" if place.file else "place unknown"
