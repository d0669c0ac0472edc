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
from te_sched.errors import LoweringError, SourceLocation, TeSchedError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.inline_calls import inline_calls
from te_sched.lowering.pipeline import check_name
from te_sched.lowering.statements import binds_threads
from te_sched.schedule.bindings import has_threads
from te_sched.schedule.schedule import Schedule
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.observing import Observer
from te_sched.views.loop_tree import default_args


@dataclass(eq=False)
class Found:
    """A schedule, or a function of loops, and its last use by the program.

    `args` are those that a schedule of tensors was lowered or built with; `simple` is the
    simple_mode it was lowered with, None where it was built alone.
    """

    inputs: Schedule | BlockSchedule | PrimFunc
    place: SourceLocation
    number: int = 0
    function: str = "main"
    args: list[Any] | None = None
    binds: Any = None
    is_lowered: bool = False
    simple: bool | None = None
    target: Target | None = None
    verify: bool = True
    choices: Lowering = field(default_factory=Lowering)

    @property
    def name(self) -> str:
        """Its name: that of the function, if it was given one, or those of its outputs."""
        inputs = self.inputs
        if self.function in ("main", "default_function") and isinstance(inputs, Schedule):
            return ",".join(op.name for op in inputs.outputs)
        if isinstance(inputs, BlockSchedule):
            return str(inputs.functions[self.function].attrs.get("global_symbol", self.function))
        return self.function

    @property
    def title(self) -> str:
        """Its number, name and the line that made it."""
        return f"schedule {self.number}: {self.name} ({short(self.place)})"

    @property
    def program(self) -> Schedule | PrimFunc | IRModule:
        """What `lower`, `build` and `check` take: of a schedule of blocks, its module."""
        return self.inputs.mod if isinstance(self.inputs, BlockSchedule) else self.inputs

    @property
    def func(self) -> PrimFunc | None:
        """The function; none of a schedule of tensors."""
        if isinstance(self.inputs, BlockSchedule):
            return self.inputs.functions[self.function]
        return self.inputs if isinstance(self.inputs, PrimFunc) else None

    @property
    def is_used(self) -> bool:
        """Whether the program lowers or builds it."""
        return self.is_lowered or self.target is not None

    @property
    def arguments(self) -> list[Any] | None:
        """The arguments it was lowered with, or else its placeholders and outputs."""
        if self.args is not None or not isinstance(self.inputs, Schedule):
            return self.args
        return list(default_args(self.inputs))

    @property
    def parameters(self) -> list[Any]:
        """Tensors, buffers and scalars, in the order of the function's parameters."""
        func = self.func
        if func is not None:
            return [func.buffer_map.get(param, param) for param in func.params]
        return list(self.arguments or ())

    def target_of(self, asked: Target | None = None) -> Target:
        """The requested target, or the one it was built for, or the one that its threads
        require."""
        if asked is not None:
            return asked
        if self.target is not None:
            return self.target
        inputs, func = self.inputs, self.func
        if isinstance(inputs, Schedule):
            is_bound = has_threads(inputs)
        else:
            is_bound = func is not None and binds_threads(func.body)
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

    def created(self, schedule: Any, location: SourceLocation) -> None:
        self.schedules[schedule] = record = Found(schedule, location)
        if isinstance(schedule, BlockSchedule):
            record.function = schedule.func_working_on or next(iter(schedule.functions), "main")

    def lowering(self, inputs: Any, **options: Any) -> None:
        if isinstance(inputs, IRModule):
            schedules = [
                origin for func in inputs.functions.values() if (origin := self._made(func))
            ]
        else:
            schedules = [self._of(inputs)]
            schedules[0].function, schedules[0].binds = options["name"], options["binds"]
            schedules[0].args = list(options["args"])
        for record in schedules:
            record.choices, record.is_lowered = options["choices"], True
            if options["stop_after"] is None:
                record.simple = options["simple_mode"]

    def lowered(self, inputs: Any, module: Any) -> None:
        for name, func in module.functions.items():
            is_module = isinstance(inputs, IRModule)
            record = self._made(inputs[name]) if is_module else self._of(inputs)
            if record is not None:
                self._made_of[func] = record

    def building(self, inputs: Any, location: SourceLocation, **options: Any) -> None:
        target, verify = options["target"], options["verify"]
        if isinstance(inputs, Schedule):
            record = self._of(inputs)
            record.target, record.verify = target, verify
            with suppress(LoweringError):  # which the build will raise
                check_name(options["name"])
                record.function = options["name"]
            record.binds, record.choices = options["binds"], config.current().lowering
            if options["args"] is not None:
                record.args = list(options["args"])
            return
        for name, func, original in _functions(inputs, options["name"]):
            record = self._made(original) or self._function(func, name, location)
            self._made_of[original] = record
            record.target, record.verify = target, verify

    def defined(self, names: Mapping[str, Any], path: str) -> None:
        """Record the functions among the names of a program that builds none."""
        if self.found:
            return
        for name, value in names.items():
            for function_name, func, original in _functions(value, name):
                if original not in self._made_of:
                    self._function(func, function_name, _place_of(name, path))

    def _of(self, schedule: Any) -> Found:
        if schedule not in self.schedules:  # made by other means than create_schedule
            self.created(schedule, SourceLocation())
        return self.schedules[schedule]

    def _made(self, func: PrimFunc) -> Found | None:
        """The schedule that a function was made of: it is lowered of it, or is its present one. A
        function that is built again is known, too.
        """
        origin = self._made_of.get(func)
        if origin is not None:
            return origin
        for schedule, record in self.schedules.items():
            if isinstance(schedule, BlockSchedule):
                for name, own in schedule.functions.items():
                    if own.body is func.body:
                        record.function = name
                        return record
        return None

    def _function(self, func: PrimFunc, name: str, location: SourceLocation) -> Found:
        record = Found(func, location, function=name)
        self._made_of[func] = record
        self.functions.append(record)
        return record


def _place_of(name: str, path: str) -> SourceLocation:
    """The line of a program that gives a name at the top level its value."""
    pattern = re.compile(rf"(def|class) {re.escape(name)}\b|{re.escape(name)}\s*[:=]")
    for number, line in enumerate(linecache.getlines(path), 1):
        if pattern.match(line):
            return SourceLocation(path, number)
    return SourceLocation()


def _functions(inputs: Any, name: str) -> Iterator[tuple[str, PrimFunc, PrimFunc]]:
    """The functions in the inputs of `build`: their names, and each with the functions that it
    calls inlined, and as it is given.
    """
    if isinstance(inputs, PrimFunc):
        yield str(inputs.attrs.get("global_symbol", name)), inputs, inputs
    elif isinstance(inputs, IRModule):
        functions: Mapping[str, PrimFunc] = inputs.functions_of_loops
        with suppress(TeSchedError):  # which the build will raise
            functions = inline_calls(functions)
        yield from ((name, func, inputs.functions[name]) for name, func in functions.items())
    elif isinstance(inputs, dict):
        for part in inputs.values():
            yield from _functions(part, name)


def short(location: SourceLocation) -> str:
    """A line of the program, without folders."""
    return (
        f"{os.path.basename(location.file)}:{location.line}" if location.file else "place unknown"
    )
