"""Reports of graphs: what each pass makes of one, the timeline of a call, and memory over time.

A report is data; `page_graph` makes a page of it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from te_sched import files, nd
from te_sched.arith.analyzer import Analyzer
from te_sched.codegen.target import Target
from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.graph import GraphFunction, GraphVar
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import substitute, walk
from te_sched.relax.pipeline import get_pipeline
from te_sched.relax.vm.build import build
from te_sched.relax.vm.machine import VirtualMachine
from te_sched.story.model import PAGE_MARK
from te_sched.story.page_graph import graph_html
from te_sched.tools.table import table
from te_sched.views.graphs import called, graph_of_functions
from te_sched.views.timeline import TimedCall, timeline_svg

_OF_MACHINE = "vm.builtin."  # calls that check and allocate
_PROFILES = 5  # the fastest is reported: the first touches new memory


@dataclass(frozen=True)
class GraphStage:
    """A graph after a pass: the module, and how often it calls what, most first."""

    name: str
    module: IRModule
    calls: dict[str, int]


@dataclass(frozen=True)
class MemoryPoint:
    """The bytes of intermediate values while a call of the graph runs."""

    name: str
    alive: int


class GraphReport:
    """A graph on its way to code, and a call of it: `graph_report` makes it."""

    def __init__(
        self,
        name: str,
        target: Target,
        stages: Sequence[GraphStage],
        calls: Sequence[TimedCall],
        memory: Sequence[MemoryPoint],
        seconds: float,
        unchanged: Sequence[str] = (),
    ) -> None:
        self.name, self.target = name, target
        self.stages, self.calls, self.memory = list(stages), list(calls), list(memory)
        self.seconds = seconds
        self.unchanged = list(unchanged)  # the names of passes that changed nothing

    @property
    def peak(self) -> int:
        """The most bytes of intermediate values at a time."""
        return max((point.alive for point in self.memory), default=0)

    @property
    def kernels(self) -> list[TimedCall]:
        """The calls without those of the machine, which check and allocate."""
        return [call for call in self.calls if not call.name.startswith(_OF_MACHINE)]

    def timeline_svg(self) -> str:
        """The timeline of a call as a picture: a bar for each kernel.

        Gaps are the machine's checks and allocations.
        """
        return timeline_svg(self.kernels)

    def __str__(self) -> str:
        whole = sum(call.duration for call in self.calls) or 1.0
        kernels = self.kernels
        times = [
            (call.name, call.duration, call.shapes)
            for call in sorted(kernels, key=lambda call: -call.duration)
        ]
        rest = whole - sum(call.duration for call in kernels)
        rows = [
            [name, f"{duration:.1f}", f"{100 * duration / whole:.0f}", shapes]
            for name, duration, shapes in [*times, ("memory and checks", rest, "")]
        ]
        passes = ", ".join(f"{stage.name} {sum(stage.calls.values())}" for stage in self.stages)
        lines = [
            f"{self.name} for {self.target}: {self.seconds * 1e6:.1f} us a call, "
            f"{_bytes(self.peak)} of intermediate values",
            f"calls after each pass: {passes}",
            "",
            f"a call with each step timed, which takes longer: {whole:.1f} us",
            table(["call", "us", "%", "arguments"], rows, right=(1, 2)),
        ]
        return "\n".join(lines)

    def html(self) -> str:
        """The page: one self-contained HTML file."""
        return graph_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises
        ------
        CallError if it cannot be written.
        """
        files.write(path, self.html(), "save a page as", mark=PAGE_MARK)


def graph_report(
    module: IRModule | GraphFunction,
    target: Target | str = "llvm",
    *,
    function: str = "main",
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
) -> GraphReport:
    """A report of a graph: what each pass makes of it, the timeline of a call, memory over time.

    Parameters
    ----------
    module : a module of graphs, or a function of one.
    target : a processor ("llvm").
    function : the function that is called, with random arguments.
    sizes : values of the symbolic sizes of its parameters, by name.
    seed : of the arguments.

    Raises
    ------
    GraphError if there is no such function, or it has parameters other than tensors.

    >>> import te_sched
    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         gv = builder.emit_output(relax.op.exp(relax.op.nn.relu(x)))
    ...     name = builder.emit_func_output(gv)
    >>> report = graph_report(builder.get())
    >>> [(one.name, sum(one.calls.values())) for one in report.stages][-1]
    ('ApplyDefaultSchedule', 1)
    """
    if isinstance(module, GraphFunction):
        module = IRModule.from_expr(module)
    if not isinstance(module, IRModule):
        raise GraphError(
            f"{repr_of(module)} is not a graph", f"it is {kind_of(module)}", "give an IRModule"
        )
    func = module.functions.get(function)
    if not isinstance(func, GraphFunction):
        names = [str(k) for k, func in module.functions.items() if isinstance(func, GraphFunction)]
        raise GraphError(
            f"the module has no graph {function!r}",
            "",
            f"use one of {', '.join(names)}" if names else "give a module with a Relax function",
        )
    wanted = Target(target)
    arrays = _arguments(func, dict(sizes or {}), seed)
    stages, unchanged = _stages(module, wanted)
    machine = VirtualMachine(build(module, wanted), nd.cpu(), profile=True)
    machine[function](*arrays)
    evaluator = machine.time_evaluator(function, nd.cpu(), number=1, repeat=5)
    seconds = float(min(evaluator(*arrays).results))
    profiles = [machine.profile(function, *arrays) for _ in range(_PROFILES)]
    fastest = min(profiles, key=lambda profile: profile.total)
    return GraphReport(
        str(function),
        wanted,
        stages,
        _timeline(fastest.calls),
        _memory(stages[-1].module.functions[function]),
        seconds,
        unchanged,
    )


def _stages(module: IRModule, target: Target) -> tuple[list[GraphStage], list[str]]:
    """The graph as it was given, and after each pass that changes it; the names of the others."""
    stages, unchanged = [GraphStage("as given", module, _calls(module))], []
    with target:
        for transform in get_pipeline("processor").passes:
            name, after = type(transform).__name__, transform(module)
            if after is module or structural_equal(after, module):
                unchanged.append(name)
            else:
                stages.append(GraphStage(name, after, _calls(after)))
            module = after
    return stages, unchanged


def _calls(module: IRModule) -> dict[str, int]:
    graphs = [func for func in module.functions.values() if isinstance(func, GraphFunction)]
    counts: dict[str, int] = {}
    for box in graph_of_functions(graphs).boxes:
        if box.kind != "input":
            counts[box.name] = counts.get(box.name, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _timeline(calls: Sequence[dict[str, Any]]) -> list[TimedCall]:
    timed_calls: list[TimedCall] = []
    start = 0.0
    for call in calls:
        duration = call["Duration (us)"]
        timed_calls.append(TimedCall(call["Name"], start, duration, call["Argument Shapes"]))
        start += duration
    return timed_calls


def _memory(func: GraphFunction) -> list[MemoryPoint]:
    """The bytes of the values that are alive at each call; each value until its last use."""
    body: Any = func.body
    source: dict[Any, Any] = {}  # of variables that are other names of values
    bindings = []
    for binding in (binding for block in body.blocks for binding in block.bindings):
        if isinstance(binding.value, GraphVar):
            source[binding.var] = source.get(binding.value, binding.value)
        else:
            bindings.append(binding)
    last: dict[Any, int] = {}
    for index, value in enumerate([*[binding.value for binding in bindings], body.body]):
        for node in walk(value):
            if isinstance(node, GraphVar):
                last[source.get(node, node)] = index
    points: list[MemoryPoint] = []
    alive: dict[Any, int] = {}
    for index, binding in enumerate(bindings):
        alive[binding.var] = size_of(binding.var.struct_info_)
        points.append(MemoryPoint(called(binding.value), sum(alive.values())))
        alive = {var: size for var, size in alive.items() if last.get(var, -1) > index}
    return points


def size_of(info: Any) -> int:
    """The bytes of a value; 0 if they are not known."""
    if isinstance(info, TupleStructInfo):
        return sum(map(size_of, info.fields))
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return 0
    sizes = [extent.value if isinstance(extent, IntImm) else 0 for extent in info.shape.values]
    return math.prod(sizes) * ((dtypes.bits(info.dtype) + 7) // 8) if info.dtype else 0


def _arguments(func: GraphFunction, sizes: dict[str, int], seed: int) -> list[Any]:
    numbers = np.random.default_rng(seed)
    arrays = []
    for param in func.params:
        info = param.struct_info
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
            raise GraphError(
                f"parameter {param.name_hint} is {info}",
                "a call is made with random arrays",
                "give a function of tensors of known shapes",
            )
        shape = [_extent(extent, sizes, param.name_hint) for extent in info.shape.values]
        values = numbers.uniform(0, 1, shape) * (4 if "int" in info.dtype else 1)
        arrays.append(nd.array(values.astype(info.dtype or "float32")))
    return arrays


def _extent(size: Any, sizes: dict[str, int], param: str) -> int:
    free = {node for node in walk(size) if type(node) is Var}
    missing = sorted(var.name for var in free if var.name not in sizes)
    if missing:
        raise GraphError(
            f"size {missing[0]} of parameter {param} is not known",
            "",
            f"give its value: sizes={{{missing[0]!r}: 4}}",
        )
    values: dict[Var, Any] = {var: IntImm(sizes[var.name], var.dtype) for var in free}
    value: Any = Analyzer().simplify(substitute(size, values))
    return int(value)


def _bytes(count: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
