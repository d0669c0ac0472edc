"""Loop trees: a schedule or a program as a tree of stages, loops, memory and computations.

For a schedule these are its loops before any pass; for a program its statements, blocks among them.
Must not know colors, pages or notebooks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, TeSchedError, kind_of
from te_sched.ir import dtypes, ops
from te_sched.ir import stmt as S
from te_sched.ir.blocks import BLOCK_KINDS, AllocateConst, BlockRealize, DeclBuffer
from te_sched.ir.expr import Buffer, BufferRegion, Call, Expr, IntImm, IterVar, StringImm, Var
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.root_block import has_blocks, is_root
from te_sched.ir.stmt import IRModule, PrimFunc, Stmt
from te_sched.lowering.pipeline import scheduled_loops
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked
from te_sched.te.operation import PlaceholderOp, ScanOp
from te_sched.te.tensor import Tensor
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.views.lines import TreeLine, tree_html, tree_text
from te_sched.views.loop_outcomes import serial_loops
from te_sched.views.notation import Notation, array_type, shortened
from te_sched.views.stage_attribution import StageAttribution
from te_sched.views.stage_tree import stage_tree

__all__ = ["TreeLine", "default_args", "loop_tree", "tree_html", "tree_text"]

_COMPONENT = re.compile(r"\.v\d+$")  # of a stage with several results
_TEMPORARY = re.compile(r"(normal_)?reduce_temp\d+|red_buf\d+")  # of reductions over threads
_LONGEST = 60  # characters of an annotation
_KINDS = {"serial": "for", "thread_binding": "thread"}
# Statements whose content other lines show.
_SILENT = frozenset(["realize_scope", "extern_scope", "reduce_scope", "buffer_bind_scope"])
_WRAPPERS = (S.SeqStmt, S.BufferRealize, S.Allocate, S.LetStmt, S.AssertStmt, DeclBuffer)


# Facts of one stage each.
_OF_ONE_STAGE = frozenset(["thread_extent", "virtual_thread", "buffer_bind_scope"])


@walks_deeply("show the loops of a program")
def loop_tree(
    what: Schedule | BlockSchedule | PrimFunc | IRModule,
    args: Sequence[Any] | None = None,
    name: str = "main",
) -> tuple[TreeLine, ...]:
    """The lines of the loop tree of a schedule or a program, from the top.

    `args` and `name` are what a schedule is lowered with: by default `default_args` and "main". A
    schedule that cannot be lowered is shown by its stages and axes, after a line with the reason.
    Of a schedule of blocks, it is the tree of its module; functions of graphs have no loops.
    """
    if isinstance(what, BlockSchedule):
        what = what.mod
    if isinstance(what, PrimFunc):
        return tuple(_Walk(what).lines())
    if isinstance(what, IRModule):
        walks = [_Walk(func, name=name) for name, func in what.functions_of_loops.items()]
        return tuple(line for walk in walks for line in walk.lines())
    if not isinstance(what, Schedule):
        raise DeclarationError(
            f"cannot make a loop tree of {kind_of(what)}",
            "it has no loops",
            "give a schedule, or what lower returned",
        )
    try:
        parameters = default_args(what) if args is None else args
        func = scheduled_loops(what, parameters, name)
    except TeSchedError as error:
        return stage_tree(what, error)
    return tuple(_Walk(func, {stage.origin_op.name for stage in what.stages}).lines())


@checked
def default_args(schedule: Schedule) -> list[Tensor]:
    """The tensors that a caller of a schedule gives and receives: inputs, then outputs."""
    states = {
        tensor.op
        for stage in schedule.stages
        if isinstance(stage.op, ScanOp)
        for tensor in stage.op.state_placeholder
    }
    inputs = [
        stage.origin_op.output(0)
        for stage in schedule.stages
        if isinstance(stage.op, PlaceholderOp) and stage.op not in states
    ]
    outputs = [tensor for op in schedule.outputs for tensor in op.outputs]
    return list(dict.fromkeys([*inputs, *outputs]))


class _Walk:
    """Visits a function without recursion, and yields its lines."""

    def __init__(self, func: PrimFunc, stages: set[str] | None = None, name: str = "main") -> None:
        self.func, self.stages, self.name = func, stages, name
        self.names: dict[Any, str] = {}
        self.taken = UniqueNames()
        self.threads: dict[tuple[str, str], str] = {}
        self.views: dict[Var, str] = {}
        self.notation = Notation(self._name, self.views)
        self.text = self.notation.text
        self.owners = StageAttribution(self.stage_of)
        self.callers = {buffer.data for buffer in func.buffer_map.values()}
        self.is_of_blocks = has_blocks(func.body)  # which have lines in place of stages
        self.serial = serial_loops(func, Notation().text)

    def stage_of(self, data: Var) -> str:
        """The stage whose result is in some memory; none for memory that lowering added."""
        name = _COMPONENT.sub("", data.name)
        if self.stages is None:
            return "" if _TEMPORARY.fullmatch(name) else name
        return next(
            (stage_name for stage_name in (data.name, name) if stage_name in self.stages), ""
        )

    def lines(self) -> Iterator[TreeLine]:
        func = self.func
        params = ", ".join([self._parameter(var) for var in func.params])
        name = func.attrs.get("global_symbol", self.name)
        yield TreeLine(0, "function", f"{name}({params})", node=func)
        stack: list[tuple[Any, int, str, tuple[str, ...]]] = [(func.body, 1, "", ())]
        while stack:
            node, depth, owner, notes = stack.pop()
            if type(node) is list:  # names that end here
                self._forget(node)
                continue
            if type(node) is TreeLine:
                yield node
                continue
            own = owner if _is_round_stages(node) else self.owners.of(node)
            if self.is_of_blocks:
                owner = own or owner
            elif own not in ("", owner):
                yield TreeLine(depth, "stage", f"stage {own}", (own,), node=node)
                depth, owner = depth + 1, own
            line, below = _STEPS[type(node)](self, node, depth, owner, notes)
            if line is not None:
                yield line
            stack.extend(reversed(below))

    def _parameter(self, var: Var) -> str:
        buffer = self.func.buffer_map.get(var)
        if buffer is None:
            pointer = f"{var.pointer.element}*" if var.pointer is not None else var.dtype
            return f"{self._name(var)}: {pointer}"
        return f"{self._name(buffer.data, buffer.name)}: {self._type(buffer.dtype, buffer.shape)}"

    def _type(self, dtype: str, extents: Sequence[Expr]) -> str:
        return array_type(dtype, extents, self.text)

    def _name(self, item: Var, hint: str = "") -> str:
        if item not in self.names:
            self.names[item] = self.taken.take(hint or item.name)
        return self.names[item]

    def _forget(self, items: list[Var]) -> None:
        self.taken.give_back([self.names.pop(item) for item in items if item in self.names])

    def loop(self, node: S.For, depth: int, owner: str, notes: tuple[str, ...]) -> Any:
        kind = _KINDS.get(node.kind, node.kind)
        annotation = "" if node.kind == "serial" else node.kind
        name = self._name(node.loop_var)
        if node.thread_binding is not None:
            kind = annotation = node.thread_binding.thread_tag
        notes = (*notes, *(f"{key}={_plain(value)}" for key, value in node.annotations.items()))
        below: list[Any] = [(node.body, depth + 1, owner, ()), ([node.loop_var], 0, "", ())]
        if (outcome := self.serial.get(node)) is not None:
            notes = (*notes, "in part" if outcome.is_partial else f"not {node.kind}")
            said = "serial in part" if outcome.is_partial else "serial"
            why = f"{name} is {said}: {outcome.why}; {outcome.help}"
            below.insert(0, (TreeLine(depth + 1, "note", why, _tuple(owner)), 0, "", ()))
            if not outcome.is_partial:
                kind, annotation = "for", ""
        span = self.notation.span(node.min, node.extent)
        text = "  ".join([f"{kind} {name}  {span}", *notes])
        extent = _constant(node.extent)
        line_kind = "thread" if node.kind == "thread_binding" else "loop"
        line = TreeLine(depth, line_kind, text, _tuple(owner), extent, annotation, node=node)
        return line, below

    def attribute(self, node: S.AttrStmt, depth: int, owner: str, notes: tuple[str, ...]) -> Any:
        key, body = node.key, node.body
        if key in S.THREAD_KEYS:
            return self._thread(node, depth, owner)
        if key == "buffer_bind_scope":
            view, buffer = node.node
            self._bind(view, buffer, node.value)
        if key in _SILENT:
            return None, [(body, depth, owner, notes)]
        if key.startswith("pragma_"):
            note = f"{key.replace('_', ' ', 1)}={_plain(node.value)}"
            if type(body) is S.For or (type(body) is S.AttrStmt and _is_pragma(body)):
                return None, [(body, depth, owner, (*notes, note))]
        elif isinstance(node.node, Buffer):
            note = f"{self._name(node.node.data, node.node.name)}: {self._fact(node)}"
        else:
            note = self._fact(node)
        line = TreeLine(depth, "other", note, _tuple(owner), node=node)
        return line, [(body, depth, owner, notes)]

    def _bind(self, view: Buffer, buffer: Buffer, region: Expr) -> None:
        """Show the views of externs and intrinsics by the buffer's name."""
        assert isinstance(region, Call)
        self.names[view.data] = self.notation.name(buffer)
        self.views[view.data] = self.notation.element(buffer, region.args[::2])

    def _fact(self, node: S.AttrStmt) -> str:
        value = node.value
        if node.key == "buffer_dim_align" and isinstance(value, Call):
            dimension, factor, offset = map(self.text, value.args)
            more = f" plus {offset}" if offset != "0" else ""
            return f"stride of dimension {dimension} is a multiple of {factor}{more}"
        if node.key == "prefetch_scope":
            return f"prefetch, {self.text(value)} ahead"
        name = node.key.removesuffix("_scope").replace("_", " ")
        return name if node.key.endswith("_scope") else f"{name} = {self.text(value)}"

    def _thread(self, node: S.AttrStmt, depth: int, owner: str) -> Any:
        axis: IterVar = node.node
        below: list[Any] = [(node.body, depth + 1, owner, ())]
        if node.key == "thread_extent":
            tag = axis.thread_tag
            self.names[axis.var] = name = self._thread_name(axis)
        else:
            tag, name = "vthread", self._name(axis.var)
            below.append(([axis.var], 0, "", ()))
        shown = tag if name == tag else f"{tag} {name}"
        text = f"{shown}  {self.notation.span(IntImm(0), node.value)}"
        extent = _constant(node.value)
        line = TreeLine(depth, "thread", text, _tuple(owner), extent, tag, node=node)
        return line, below

    def _thread_name(self, axis: IterVar) -> str:
        """The same variable for all stages that use a thread axis."""
        name, tag = axis.var.name, axis.thread_tag
        key = tag if name.replace("_", ".") == tag else name
        if (tag, key) not in self.threads:
            self.threads[tag, key] = self.taken.take(key)
        return self.threads[tag, key]

    def realize(self, node: S.BufferRealize, depth: int, owner: str, notes: Any) -> Any:
        below = [(node.body, depth, owner, notes)]
        if node.buffer.data in self.callers:
            return None, below
        extents = [bound.extent for bound in node.bounds]
        name = self._name(node.buffer.data, node.buffer.name)
        line = self._memory(node, depth, name, node.buffer.dtype, extents, node.buffer.data)
        return line, below

    def allocate(self, node: S.Allocate, depth: int, owner: str, notes: Any) -> Any:
        name = self._name(node.buffer_var)
        line = self._memory(node, depth, name, node.dtype, node.extents, node.buffer_var)
        return line, [(node.body, depth, owner, notes)]

    def _memory(
        self,
        node: Stmt | None,
        depth: int,
        name: str,
        dtype: str,
        extents: Sequence[Expr],
        data: Var,
    ) -> TreeLine:
        width = dtypes.storage_bytes(dtypes.element(dtype)) * dtypes.lanes(dtype)
        counts = [_constant(extent) for extent in extents]
        sizes = [count for count in counts if count is not None]
        nbytes = math.prod(sizes) * width if len(sizes) == len(counts) else None
        scope = data.scope or "global"
        size = f"{nbytes:,} bytes" if nbytes is not None else self._symbolic(extents, width)
        text = f"{name}: {self._type(dtype, extents)} {scope}, {size}"
        stages = _tuple(self.stage_of(data))
        return TreeLine(depth, "memory", text, stages, scope=scope, nbytes=nbytes, node=node)

    def _symbolic(self, extents: Sequence[Expr], width: int) -> str:
        size: Expr = IntImm(width)
        for extent in extents:
            size = ops.mul(extent, size)
        return f"{self.text(size)} bytes"

    def block(self, node: BlockRealize, depth: int, owner: str, notes: Any) -> Any:
        """A block: its iterators and their values, its memory and views, its initialization."""
        block = node.block
        below: list[Any] = []
        if not is_root(node):
            if not (isinstance(node.predicate, IntImm) and node.predicate.value):
                text = f"where {self.text(node.predicate)}"
                below.append((TreeLine(depth, "guard", text, _tuple(owner), node=node), 0, "", ()))
                depth += 1
            below.append((self._block_line(node, depth, owner), 0, "", ()))
            depth += 1
        for buffer in block.alloc_buffers:
            name = self._name(buffer.data, buffer.name)
            line = self._memory(None, depth, name, buffer.dtype, buffer.shape, buffer.data)
            below.append((line, 0, "", ()))
        for match in block.match_buffers:
            view, region = match.buffer, self._region(match.source)
            text = f"{self._name(view.data, view.name)} = {region}"
            below.append((TreeLine(depth, "other", text, _tuple(owner)), 0, "", ()))
        if block.init is not None:
            below.append((TreeLine(depth, "guard", "init", _tuple(owner)), 0, "", ()))
            below.append((block.init, depth + 1, owner, ()))
        own = [axis.var for axis in block.iter_vars]
        below += [(block.body, depth, owner, ()), (own, 0, "", ())]
        return None, below

    def _block_line(self, node: BlockRealize, depth: int, owner: str) -> TreeLine:
        block = node.block
        values = [self.text(value) for value in node.iter_values]
        bound = [
            f"{_kind_of(axis)}{self._name(axis.var)} = {value}"
            for axis, value in zip(block.iter_vars, values, strict=True)
        ]
        attributes = [f"{key}={_plain(value)}" for key, value in block.annotations.items()]
        text = "  ".join(
            [f"block {block.name_hint}", *([", ".join(bound)] if bound else []), *attributes]
        )
        return TreeLine(depth, "block", text, _tuple(owner), node=node)

    def _region(self, region: BufferRegion) -> str:
        parts = [
            self.text(bound.min)
            if _constant(bound.extent) == 1
            else self.notation.span(bound.min, bound.extent)
            for bound in region.region
        ]
        return f"{self.notation.name(region.buffer)}[{', '.join(parts)}]"

    def declare(self, node: DeclBuffer, depth: int, owner: str, notes: Any) -> Any:
        return None, [(node.body, depth, owner, notes)]

    def constant(self, node: AllocateConst, depth: int, owner: str, notes: Any) -> Any:
        data = node.buffer_var
        line = self._memory(node, depth, self._name(data), node.dtype, node.extents, data)
        return line, [(node.body, depth, owner, notes)]

    def branch(self, node: S.IfThenElse, depth: int, owner: str, notes: Any) -> Any:
        text = f"if {self.text(node.condition)}"
        line = TreeLine(depth, "guard", text, _tuple(owner), node=node)
        below: list[Any] = [(node.then_case, depth + 1, owner, ())]
        if node.else_case is not None:
            below += [
                (TreeLine(depth, "guard", "else", _tuple(owner)), depth, "", ()),
                (node.else_case, depth + 1, owner, ()),
            ]
        return line, below

    def repeat(self, node: S.While, depth: int, owner: str, notes: Any) -> Any:
        text = f"while {self.text(node.condition)}"
        line = TreeLine(depth, "loop", text, _tuple(owner), node=node)
        return line, [(node.body, depth + 1, owner, ())]

    def let(self, node: S.LetStmt, depth: int, owner: str, notes: Any) -> Any:
        text = f"{self._name(node.var)} = {self.text(node.value)}"
        line = TreeLine(depth, "other", text, _tuple(owner), node=node)
        return line, [(node.body, depth, owner, notes), ([node.var], 0, "", ())]

    def claim(self, node: S.AssertStmt, depth: int, owner: str, notes: Any) -> Any:
        text = f"assert {self.text(node.condition)}"
        line = TreeLine(depth, "guard", text, _tuple(owner), node=node)
        return line, [(node.body, depth, owner, notes)]

    def sequence(self, node: S.SeqStmt, depth: int, owner: str, notes: Any) -> Any:
        below: list[Any] = []
        opened = owner
        for part in node.seq:
            own = "" if _is_round_stages(part) or self.is_of_blocks else self.owners.of(part)
            if own not in ("", opened, owner):
                start = TreeLine(depth, "stage", f"stage {own}", (own,), node=part)
                below.append((start, depth, "", ()))
            if own or _is_round_stages(part):
                opened = own or owner
            inner = depth if opened == owner else depth + 1
            below.append((part, inner, opened, ()))
        return None, below

    def store(self, node: S.BufferStore, depth: int, owner: str, notes: Any) -> Any:
        text = self.notation.store(node)
        return TreeLine(depth, "compute", text, _tuple(owner), node=node), []

    def evaluate(self, node: S.Evaluate, depth: int, owner: str, notes: Any) -> Any:
        if isinstance(node.value, IntImm):
            return None, []
        text = self.text(node.value)
        return TreeLine(depth, "compute", text, _tuple(owner), node=node), []

    def prefetch(self, node: S.Prefetch, depth: int, owner: str, notes: Any) -> Any:
        region = ", ".join([self.notation.span(r.min, r.extent) for r in node.bounds])
        text = f"prefetch {self.notation.name(node.buffer)}[{region}]"
        return TreeLine(depth, "other", text, _tuple(owner), node=node), []


_STEPS: Mapping[type, Callable[..., Any]] = {
    S.For: _Walk.loop,
    S.AttrStmt: _Walk.attribute,
    S.BufferRealize: _Walk.realize,
    S.Allocate: _Walk.allocate,
    S.IfThenElse: _Walk.branch,
    S.While: _Walk.repeat,
    S.LetStmt: _Walk.let,
    S.AssertStmt: _Walk.claim,
    S.SeqStmt: _Walk.sequence,
    S.BufferStore: _Walk.store,
    S.Evaluate: _Walk.evaluate,
    S.Prefetch: _Walk.prefetch,
    BlockRealize: _Walk.block,
    DeclBuffer: _Walk.declare,
    AllocateConst: _Walk.constant,
}


def _is_round_stages(node: Any) -> bool:
    """Whether a statement only has facts about several stages inside."""
    is_fact = type(node) is S.AttrStmt and node.key not in _OF_ONE_STAGE
    return is_fact or type(node) in _WRAPPERS


def _is_pragma(node: S.AttrStmt) -> bool:
    return node.key.startswith("pragma_")


def _kind_of(axis: IterVar) -> str:
    """What is written before an iterator that is not spatial."""
    word = BLOCK_KINDS[axis.kind][1]
    return "" if word == "spatial" else f"{word} "


def _constant(value: Expr) -> int | None:
    return value.value if isinstance(value, IntImm) else None


def _tuple(stage: str) -> tuple[str, ...]:
    return (stage,) if stage else ()


def _plain(value: Any) -> str:
    """A constant as Python writes it; of a long text its beginning."""
    text = value.value if isinstance(value, StringImm) else Notation().text(value)
    return shortened(text.partition("\n")[0], _LONGEST)
