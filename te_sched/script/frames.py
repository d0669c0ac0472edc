"""Building programs frame by frame: what `with T.block(...)` and its like open and close.

A frame collects the statements inside of it and makes one statement of them when it closes. Frames
that a script opens without `with` reach to the end of the frame around them. The parser and users
(`ScriptBuilder`) build programs with the same frames. Must not know Python's syntax.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import DeclarationError, ScriptError, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import DETECT_ACCESS, Block, BlockRealize, MatchBufferRegion
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.graph import GraphVar
from te_sched.ir.source_lines import SourceLines
from te_sched.ir.stmt import (
    AttrStmt,
    For,
    IfThenElse,
    IRModule,
    PrimFunc,
    Stmt,
)
from te_sched.lowering.statements import sequence, without_evaluations_of_0

_F = TypeVar("_F", bound="Frame")
_STATE = threading.local()  # .builders: those that are open in this thread, the innermost last


class ScriptBuilder:
    """A program that is built by frames.

    >>> from te_sched.script import tir as T
    >>> with ScriptBuilder() as builder:
    ...     with T.serial(4) as i:
    ...         T.evaluate(i)
    >>> ScriptBuilder.name("i", i)
    i
    >>> builder.get()
    for i in range(4):
        T.evaluate(i)
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.results: list[Any] = []

    def __enter__(self) -> ScriptBuilder:
        builders = _builders()
        builders.append(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        builders = _builders()
        if kind is None and self.frames:
            self.close_down_to(0)
        self.frames.clear()
        builders.remove(self)

    @staticmethod
    def current() -> ScriptBuilder:
        """The builder that is open in this thread; ValueError if there is none."""
        builders = _builders()
        if not builders:
            raise ScriptError(
                "no program is being built",
                "functions such as T.block and T.reads belong into one",
                "use them in a function with @T.prim_func, or inside of `with ScriptBuilder():`",
            )
        return builders[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """Whether a builder is open in this thread."""
        return bool(_builders())

    def get(self) -> Any:
        """What was built."""
        if len(self.results) == 1:
            return self.results[0]
        if self.results and all(isinstance(result, Stmt) for result in self.results):
            return _joined(self.results)
        raise ScriptError(
            "nothing was built" if not self.results else f"{len(self.results)} things were built",
            "",
            "build one module, function or statement inside of `with ScriptBuilder():`",
        )

    @staticmethod
    def name(name: str, value: Any) -> Any:
        """Give a variable, axis or buffer that was just made its name; returns it."""
        rename(value, name)
        return value

    @staticmethod
    def name_many(names: Sequence[str], values: Sequence[Any]) -> list[Any]:
        """Name several values; returns them."""
        return [ScriptBuilder.name(name, value) for name, value in zip(names, values, strict=True)]

    def add(self, statement: Any) -> None:
        """Append a statement to the innermost frame."""
        if self.frames:
            self.frames[-1].statements.append(statement)
        else:
            self.results.append(statement)

    def find(self, kind: type[_F]) -> _F | None:
        """The innermost frame of a class."""
        return next((frame for frame in reversed(self.frames) if isinstance(frame, kind)), None)

    def close_down_to(self, depth: int) -> None:
        """Close frames until this number of them is open."""
        while len(self.frames) > depth:
            self.frames[-1].close()


def _joined(statements: Sequence[Any]) -> Stmt:
    """One statement, without evaluations of 0 beside others, as in TVM."""
    stmts = [statement for statement in statements if isinstance(statement, Stmt)]
    return sequence(without_evaluations_of_0(stmts))


def _builders() -> list[ScriptBuilder]:
    builders: list[ScriptBuilder] | None = getattr(_STATE, "builders", None)
    if builders is None:
        builders = _STATE.builders = []
    return builders


def rename(value: Any, name: str) -> None:
    """Name what was made without a name. Nodes are immutable but for this, while they are new."""
    if isinstance(value, Buffer):
        _set_name(value, name)
        _set_name(value.data, name)
        for position, stride in enumerate(value.strides):
            if type(stride) is Var:
                _set_name(stride, f"{name}_s{position}")
        if type(value.elem_offset) is Var and not _is_named(value.elem_offset):
            _set_name(value.elem_offset, f"{name}_elem_offset")
    elif isinstance(value, IterVar):
        _set_name(value.var, name)
    elif isinstance(value, Var):
        _set_name(value, name)
    elif isinstance(value, GraphVar):
        object.__setattr__(value, "name_hint", name)


def _is_named(var: Var) -> bool:
    return not (var.name in ("", "_elem_offset") or var.name.startswith("?"))


def _set_name(node: Any, name: str) -> None:
    object.__setattr__(node, "name", name)


class Frame:
    """Something that holds statements while it is open; `value` is what `with` gives."""

    value: Any = None

    def __init__(self) -> None:
        self.statements: list[Any] = []
        self.is_open = False

    def __enter__(self) -> Any:
        ScriptBuilder.current().frames.append(self)
        self.is_open = True
        self.opened()
        return self.value

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        builder = ScriptBuilder.current()
        if kind is None:
            builder.close_down_to(builder.frames.index(self) + 1)
            self.close()
        elif self in builder.frames:
            del builder.frames[builder.frames.index(self) :]

    def close(self) -> None:
        """Close the frame, which is the innermost one, and add what it makes to the next."""
        builder = ScriptBuilder.current()
        builder.frames.pop()
        self.is_open = False
        result = self.make(_joined(self.statements))
        if result is not None:
            builder.add(result)

    def opened(self) -> None:
        """The frame has become the innermost one."""

    def make(self, body: Stmt) -> Any:
        """What the frame becomes: a statement, function or module, or None."""
        raise NotImplementedError


class Wrapper(Frame):
    """A statement with one body: an allocation, a let, an attribute, an assertion."""

    def __init__(self, value: Any, wrap: Callable[[Stmt], Stmt]) -> None:
        super().__init__()
        self.value, self._wrap = value, wrap

    def make(self, body: Stmt) -> Stmt:
        return self._wrap(body)


class ForFrame(Frame):
    """One loop, or a nest of them (`T.grid`)."""

    def __init__(
        self,
        ranges: Sequence[tuple[Expr, Expr]],
        kind: str = "serial",
        thread: str = "",
        annotations: dict[str, Any] | None = None,
        is_grid: bool = False,
    ) -> None:
        super().__init__()
        self.ranges, self.kind, self.thread = ranges, kind, thread
        self.annotations = annotations or {}
        self.vars = [Var("v", extent.dtype) for _, extent in ranges]
        self.value = self.vars if is_grid and len(ranges) > 1 else self.vars[0]

    def __iter__(self) -> Iterator[Any]:
        """For type checkers, of variables that Python's `range` may bind in another loop; a script
        reads `for` itself.
        """
        raise ScriptError(
            "a loop of a script is run by Python",
            "it stands outside of a function with @T.prim_func",
            "decorate the function, or open the loop by `with`",
        )

    def make(self, body: Stmt) -> Stmt:
        for var, (low, extent) in zip(reversed(self.vars), reversed(self.ranges), strict=True):
            axis = None
            if self.thread:
                axis = IterVar(None, Var("", var.dtype), "ThreadIndex", self.thread)
            body = For(var, low, extent, self.kind, body, axis, self.annotations)
        return body


class BlockFrame(Frame):
    """A block: its iterators, regions, annotations, initialization and body."""

    def __init__(self, name: str, no_realize: bool = False) -> None:
        super().__init__()
        self.name, self.no_realize = name, no_realize
        self.iter_vars: list[IterVar] = []
        self.iter_values: list[Expr | None] = []  # None: of the loop in the same place
        self.predicate: Expr | None = None
        self.reads: list[BufferRegion] | None = None
        self.writes: list[BufferRegion] | None = None
        self.alloc_buffers: list[Buffer] = []
        self.match_buffers: list[MatchBufferRegion] = []
        self.annotations: dict[str, Any] | None = None
        self.init: Stmt | None = None

    def make(self, body: Stmt) -> Stmt:
        annotations = dict(self.annotations or {})
        missing = (self.reads is None) + 2 * (self.writes is None)
        if missing:  # found when the function is complete
            annotations[DETECT_ACCESS] = IntImm(missing, "int64")
        block = Block(
            tuple(self.iter_vars),
            tuple(self.reads or ()),
            tuple(self.writes or ()),
            self.name,
            self.init,
            body,
            tuple(self.alloc_buffers),
            tuple(self.match_buffers),
            annotations,
        )
        if self.no_realize:
            return block
        values = self._values()
        predicate = ops.TRUE if self.predicate is None else self.predicate
        return BlockRealize(tuple(values), predicate, block)

    def _values(self) -> list[Expr]:
        """The values of the iterators; those without one are bound to the loops around."""
        values = [value for value in self.iter_values if value is not None]
        if len(values) == len(self.iter_values):
            return values
        loops: list[Var] = []
        for frame in reversed(ScriptBuilder.current().frames):
            if isinstance(frame, BlockFrame):
                break
            loops[:0] = frame.vars if isinstance(frame, ForFrame) else []
        if values or len(loops) != len(self.iter_values):
            raise ScriptError(
                f"block {self.name} has {len(self.iter_values)} iterators, {len(values)} of them "
                f"with values, and {len(loops)} loops around it",
                "",
                "bind each iterator by T.bind, or write vi = T.axis.spatial(extent, value)",
            )
        return [
            ops.cast(iter_var.var.dtype, at)
            for iter_var, at in zip(self.iter_vars, loops, strict=True)
        ]


class InitFrame(Frame):
    """What a block does before its body in the first iteration of a reduction."""

    def make(self, body: Stmt) -> None:
        block = innermost(BlockFrame, "T.init")
        if block.init is not None:
            raise ScriptError(
                f"block {block.name} has two initializations", "", "write T.init() once"
            )
        block.init = body


class IfFrame(Frame):
    """A condition, with the frames of its cases inside."""

    def __init__(self, condition: Expr) -> None:
        super().__init__()
        self.condition = condition
        self.cases: dict[str, Stmt] = {}

    def make(self, body: Stmt) -> Stmt:
        if "then" not in self.cases:
            raise ScriptError(
                "a condition has no T.Then()", "", "write what is done where it holds"
            )
        return IfThenElse(self.condition, self.cases["then"], self.cases.get("else"))


class CaseFrame(Frame):
    """A case of a condition: "then" or "else"."""

    def __init__(self, case: str) -> None:
        super().__init__()
        self.case = case

    def make(self, body: Stmt) -> None:
        innermost(IfFrame, f"T.{self.case.title()}").cases[self.case] = body


class PrimFuncFrame(Frame):
    """A function: its parameters, attributes and body."""

    def __init__(self, is_private: bool = False) -> None:
        super().__init__()
        self.is_private = is_private
        self.name = ""
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.attrs: dict[str, Any] | None = None
        self.ret_type = "void"
        self.alloc_buffers: list[Buffer] = []
        self.threads: dict[Var, IterVar] = {}
        self.finish: Callable[[PrimFunc, list[Buffer]], PrimFunc] | None = None
        self.decorate: Callable[[Any], PrimFunc] | None = None
        self.lines = SourceLines()

    def __call__(self, function: Callable[..., Any]) -> PrimFunc:
        """What the frame makes of a function that it decorates."""
        assert self.decorate is not None
        return self.decorate(function)

    def make(self, body: Stmt) -> Any:
        attrs = dict(self.attrs or {})
        if not self.is_private and self.name:
            attrs.setdefault("global_symbol", self.name)
        func = PrimFunc(
            tuple(self.params),
            body,
            self.buffer_map,
            attrs,
            self.ret_type,
            written_name=self.name,
            lines=self.lines,
        )
        if self.finish is not None:
            func = self.finish(func, self.alloc_buffers)
        module = ScriptBuilder.current().find(ModuleFrame)
        if module is None:
            return func
        module.functions[self.name] = func
        return None


class ModuleFrame(Frame):
    """A module: its functions and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.functions: dict[str, Any] = {}
        self.attrs: dict[str, Any] | None = None
        self.global_infos: dict[str, Any] = {}
        self.decorate: Callable[[Any], IRModule] | None = None

    def __call__(self, cls: type[Any]) -> IRModule:
        """What the frame makes of a class that it decorates."""
        assert self.decorate is not None
        return self.decorate(cls)

    def make(self, body: Stmt) -> IRModule:
        functions = {name: func for name, func in self.functions.items() if func is not None}
        return IRModule(functions, self.attrs or {}, self.name, self.global_infos)


def innermost(kind: type[_F], what: str) -> _F:
    """The innermost frame of all, which must be of a class."""
    frames = ScriptBuilder.current().frames
    if not frames or not isinstance(frames[-1], kind):
        container = "a block" if kind is BlockFrame else f"a {kind.__name__.removesuffix('Frame')}"
        raise ScriptError(
            f"{what} does not stand directly in {container}",
            "",
            "write it among the first statements of one",
        )
    return frames[-1]


def around(kind: type[_F], what: str) -> _F:
    """The innermost frame of a class, which must be there."""
    frame = ScriptBuilder.current().find(kind)
    if frame is None:
        container = "function" if kind is PrimFuncFrame else "block"
        raise ScriptError(
            f"{what} stands outside of a {container}", "", f"use it inside of a {container}"
        )
    return frame


def attribute(node: Any, key: str, value: Any) -> Wrapper:
    """The frame of an attribute."""
    return Wrapper(None, lambda body: AttrStmt(node, key, value, body))


def whole_range(extent: Any) -> Range:
    """The range from 0 of an extent, which may be a Range, a pair of ends, or a slice."""
    if isinstance(extent, Range):
        return extent
    if isinstance(extent, list | tuple):
        if len(extent) != 2:
            raise DeclarationError(
                f"the domain of an axis is {repr_of(extent)}, expected an extent or (begin, end)",
                "",
                "give an extent, or a pair of ends",
            )
        low, high = ops.operands(*extent)
        _check_integer(low)
        return Range(low, difference(high, low))
    size = ops.convert(extent)
    _check_integer(size)
    return Range(IntImm(0, size.dtype), size)


def _check_integer(bound: Expr) -> None:
    if not dtypes.is_integral(bound.dtype):
        raise DeclarationError(
            f"a bound of an axis or loop is {repr_of(bound)}, expected an integer",
            f"it has dtype {bound.dtype}",
            "give an integer",
        )


def difference(high: Expr, low: Expr) -> Expr:
    """high - low, simplified."""
    extent = ops.sub(high, low)
    return extent if type(extent) is IntImm else Analyzer().simplify(extent)
