"""The text of one kernel during code generation: lines, scopes, variables and facts.

Expressions give their lanes as pieces of text. An expression that cannot be one piece (a vector
load, a let) writes statements before the statement that it is part of; what must not be evaluated
on some paths is written with `capture`, and becomes a branch if it wrote any.
Must not know nodes: `printer` provides the functions that write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.codegen.calls import writer_of
from te_sched.codegen.cuda import types
from te_sched.codegen.cuda.names import ScopedNames
from te_sched.codegen.cuda.pieces import PRIMARY, Piece, PieceLanes, call
from te_sched.errors import BuildError, InternalError, Subject, with_article
from te_sched.ir import dtypes
from te_sched.ir.expr import Call, Expr, Var

INDENT = "  "


class Unit:
    """What the kernels of one source need before them."""

    def __init__(self) -> None:
        self.headers: set[str] = set()
        self.helpers: set[str] = set()
        self.sources: dict[str, None] = {}

    def type_of(self, dtype: str) -> str:
        """The name of a scalar type, declared."""
        if header := types.header_of(dtype):
            self.headers.add(header)
        return types.scalar_type(dtype)

    def helper(self, name: str) -> str:
        """The name of a helper, defined."""
        self.helpers.add(name)
        return name


ExpressionWriter = Callable[["KernelText", Any], list[Piece]]
StatementWriter = Callable[["KernelText", Any], None]
CallWriter = Callable[["KernelText", Call], list[Piece]]


class Writers(NamedTuple):
    """How nodes are written, by their classes, and calls, by their names."""

    expressions: Mapping[type, ExpressionWriter]
    statements: Mapping[type, StatementWriter]
    calls: Mapping[str, CallWriter]


class KernelText:
    """One kernel."""

    def __init__(self, name: str, unit: Unit, writers: Writers) -> None:
        self.name, self.unit, self.writers = name, unit, writers
        self._subject = Subject("kernel", name, f"kernel {name!r}")
        self.lines: list[str] = []
        self.is_captured = False  # whether the lines may turn out not to be executed
        self.depth = 1
        self.names = ScopedNames()
        self.analyzer = Analyzer()
        self.environment: dict[Var, list[Piece]] = {}
        self.elements: dict[Var, str] = {}  # what a pointer is declared to point to
        self.readonly: set[Var] = set()
        self.alignments: dict[Var, int] = {}  # bytes that wide accesses need
        self.dynamic_offsets: dict[Var, Expr] = {}
        self.fragments: dict[Var, Any] = {}

    # -- lines -------------------------------------------------------------------------------------

    def do(self, line: str) -> None:
        """Add a line."""
        self.lines.append(INDENT * self.depth + line)

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """`head {` lines `}`, a scope of names."""
        self.do(f"{head} {{" if head else "{")
        with self.scope():
            yield
        self.do(tail)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Lines one step to the right, and a scope of names."""
        self.names.enter()
        self.depth += 1
        yield
        self.depth -= 1
        self.names.leave()

    @contextmanager
    def capture(self) -> Iterator[list[str]]:
        """Lines of a block that is not written yet."""
        outside, self.lines = self.lines, []
        before, self.is_captured = self.is_captured, True
        with self.scope():
            yield self.lines
        self.lines, self.is_captured = outside, before

    # -- nodes -------------------------------------------------------------------------------------

    def lanes(self, node: Expr) -> list[Piece]:
        """The lanes of an expression."""
        return writer_of(self.writers.expressions, node, (self._subject,))(self, node)

    def scalar(self, node: Expr) -> Piece:
        """An expression of one lane."""
        lanes = self.lanes(node)
        if len(lanes) != 1:
            raise InternalError(
                f"{node} in kernel {self.name!r} has {len(lanes)} lanes, expected 1"
            )
        return lanes[0]

    def execute(self, node: Any) -> None:
        """Write a statement."""
        writer_of(self.writers.statements, node, (self._subject,))(self, node)

    # -- variables ---------------------------------------------------------------------------------

    def define(self, hint: str, dtype: str, lanes: list[Piece]) -> list[Piece]:
        """A constant with a value, under a name like `hint`; gives its lanes."""
        kind = self.unit.type_of(dtype)
        if len(lanes) == 1:
            name = self.names.fresh(hint)
            self.do(f"const {kind} {name} = {lanes[0].text};")
            return [Piece(name)]
        vector, name = types.vector_type(dtype), self.names.fresh(hint)
        if vector is not None:
            self.do(f"const {vector} {name} = {self.whole(dtype, lanes)};")
        else:
            texts = ", ".join(lane.text for lane in lanes)
            self.do(f"const {self.aligned_array(dtype, name)} = {{{texts}}};")
        return self.lanes_of(name, dtype)

    def declare(self, hint: str, dtype: str) -> list[Piece]:
        """A variable without a value; gives its lanes."""
        name, count = self.names.fresh(hint), dtypes.lanes(dtype)
        if count == 1:
            self.do(f"{self.unit.type_of(dtype)} {name};")
            return [Piece(name)]
        self.unit.type_of(dtype)
        vector = types.vector_type(dtype)
        self.do(f"{vector} {name};" if vector else f"{self.aligned_array(dtype, name)};")
        return self.lanes_of(name, dtype)

    def aligned_array(self, dtype: str, name: str) -> str:
        """The declaration of a vector as an array."""
        kind, count = self.unit.type_of(dtype), dtypes.lanes(dtype)
        return f"__align__({self.alignment_of(dtype)}) {kind} {name}[{count}]"

    def alignment_of(self, dtype: str) -> int:
        """The bytes of which the address of a vector as an array is a multiple."""
        size = dtypes.storage_bytes(dtype)
        return types.WIDEST if size % types.WIDEST == 0 else size & -size

    def lanes_of(self, name: str, dtype: str) -> PieceLanes:
        """The lanes of a vector variable."""
        lanes = PieceLanes(types.lane_of(name, dtype, k) for k in range(dtypes.lanes(dtype)))
        lanes.whole = name
        return lanes

    def assign(self, target: list[Piece], lanes: list[Piece], dtype: str) -> None:
        """Give a declared variable its value."""
        vector = types.vector_type(dtype)
        if isinstance(target, PieceLanes) and vector is not None:
            self.do(f"{target.whole} = {self.whole(dtype, lanes)};")
            return
        for target_lane, value in zip(target, lanes, strict=True):
            self.do(f"{target_lane.text} = {value.text};")

    def whole(self, dtype: str, lanes: list[Piece]) -> str:
        """The text of a vector of a type that CUDA has."""
        if isinstance(lanes, PieceLanes) and lanes.whole is not None:
            return lanes.whole
        vector = types.vector_type(dtype)
        if vector is None:
            raise InternalError(
                f"CUDA has no type for {with_article(dtype)} in kernel {self.name!r}"
            )
        self.unit.type_of(dtype)
        return call(types.maker(vector), *lanes).text

    def simple(self, value: Piece, dtype: str, hint: str = "v") -> Piece:
        """A piece that may be duplicated: itself if it is a name or a constant, else a variable."""
        if value.level == PRIMARY or value.text.lstrip("-").replace(".", "").isalnum():
            return value
        return self.define(hint, dtypes.element(dtype), [value])[0]

    def look_up(self, var: Var) -> list[Piece]:
        """The value of a variable."""
        lanes = self.environment.get(var)
        if lanes is None:
            raise self.error(
                f"variable {var.name} has no value in the kernel",
                "neither the kernel nor the code around it defines it",
                "make it an argument, or bind the loop of this variable",
            )
        return lanes

    # -- facts -------------------------------------------------------------------------------------

    def bounds(self, node: Expr) -> tuple[int, int]:
        """The smallest and the largest value of an integer expression."""
        low, high = self.analyzer.const_bounds(node)
        return (-(1 << 64) if low is None else low), (1 << 64 if high is None else high)

    def error(self, fault: str, why: str, help: str) -> BuildError:
        """An error about a construct that cannot be printed as CUDA."""
        return BuildError(fault, why, help, self._subject)
