"""Overlap the iterations of loops: software pipelines.

    for i in T.serial(16, annotations={           B = T.alloc_buffer((2, 1))
        "software_pipeline_stage": [0, 1],        B[0, 0] = A[0] * 2
        "software_pipeline_order": [0, 1]}):      for i in range(15):
        B = T.alloc_buffer((1,))             ->       B[(i + 1) % 2, 0] = A[i + 1] * 2
        B[0] = A[i] * 2                               C[i] = B[i % 2, 0] + 1
        C[i] = B[0] + 1                           C[15] = B[1, 0] + 1

Step t of the pipeline executes iteration t - stage of each statement, by `order`. Buffers that are
allocated in the loop get one version for each iteration in flight. Stages that are annotated as
asynchronous are executed like the others. (TVM's name: InjectSoftwarePipeline.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.regions import access_regions, inner_accesses
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BlockError, Subject
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, Range, Var
from te_sched.ir.stmt import For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import AccessMapper, StatementMapper, replace, statements, substitute
from te_sched.lowering.statements import NOTHING, fresh_copy, sequence

_STAGE, _ORDER = "software_pipeline_stage", "software_pipeline_order"
_KEYS = (_STAGE, _ORDER, "software_pipeline_async_stages")


def inject_pipelines(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with a prologue, a body and an epilogue for each annotated loop."""
    return func.with_body(_Injection(settings).visit(func.body))


class _Injection(StatementMapper):
    """Rebuilds loops, inner ones first; `threads` are the variables of enclosing threads."""

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings
        self.threads: dict[Var, Range] = {}

    def visit_For(self, node: For) -> Stmt:
        if node.thread_binding is not None:
            self.threads[node.loop_var] = Range(node.min, node.extent)
        loop: For = self.generic(node)
        if _STAGE not in loop.annotations and _ORDER not in loop.annotations:
            return loop
        return _Pipeline(loop, self.threads, self.settings).emit()


class _Part(NamedTuple):
    """A statement of a pipeline, the condition of its execution, its stage and order."""

    statement: Stmt
    predicate: Expr
    stage: int
    order: int
    reads: dict[Buffer, BufferRegion]
    writes: dict[Buffer, BufferRegion]

    @property
    def time(self) -> tuple[int, int]:
        """The position in the steps of the pipeline, relative to the iteration."""
        return self.stage, self.order


class _Pipeline:
    """The pipeline of a loop."""

    def __init__(self, loop: For, threads: dict[Var, Range], settings: Lowering) -> None:
        self.loop, self.threads = loop, threads
        self.analyzer = Analyzer(settings)
        self.block, predicate, self.allocated, stmts = _statements_of(loop)
        stages, orders = self._annotation(_STAGE), self._annotation(_ORDER)
        if not len(stages) == len(orders) == len(stmts):
            raise self._refused(
                f"has {len(stmts)} statements, {len(stages)} stages and {len(orders)} orders",
                "each statement of the loop has a stage and an order",
            )
        if len(set(orders)) < len(orders):
            raise self._refused(
                f"has orders {orders}", "each statement has another position in a step"
            )
        if loop.kind not in ("serial", "unrolled"):
            raise self._refused(f"is {loop.kind}", "the iterations of a pipeline are in order")
        self.last = max(stages, default=0)
        by_data = {buffer.data: buffer for buffer in self.allocated}
        self.pointed: set[Buffer] = set()
        self.parts = [
            self._part(*entry, predicate, by_data)
            for entry in zip(stmts, stages, orders, strict=True)
        ]
        self.versions = {buffer: self._versions(buffer) for buffer in self.allocated}
        self._check()

    def _annotation(self, key: str) -> list[int]:
        """The numbers of an annotation."""
        annotation = self.loop.annotations.get(key)
        numbers = (
            list(annotation)
            if isinstance(annotation, Sequence) and not isinstance(annotation, str)
            else []
        )
        values = [number.value if isinstance(number, IntImm) else number for number in numbers]
        if not values or any(type(value) is not int or value < 0 for value in values):
            raise self._refused(
                f"has {key}={annotation}", "each statement has a number that is not negative"
            )
        return values

    def _refused(self, what: str, why: str) -> BlockError:
        name = self.loop.loop_var.name
        return BlockError(
            f"software pipeline of loop {name} {what}",
            why,
            "annotate the loop with software_pipeline_stage and software_pipeline_order, lists with"
            " a number for each of its statements",
            Subject("axis", name),
        )

    def _part(
        self, node: Stmt, stage: int, order: int, predicate: Expr, by_data: dict[Var, Buffer]
    ) -> _Part:
        reads, writes, opaque = inner_accesses(node, by_data)
        self.pointed |= {region.buffer for region in opaque}
        condition = predicate
        if type(node) is BlockRealize and not node.iter_values:
            condition = _both(predicate, node.predicate)
            node = replace(node, predicate=ops.TRUE)
        return _Part(
            node, condition, stage, order,
            {region.buffer: region for region in (*reads, *opaque)},
            {region.buffer: region for region in (*writes, *opaque)},
        )  # fmt: skip

    # Dependences

    def _versions(self, buffer: Buffer) -> int:
        """The number of iterations that use a buffer at a time."""
        users = [part for part in self.parts if buffer in part.reads or buffer in part.writes]
        if not users:
            return 1
        count = max(user.stage for user in users) - min(user.stage for user in users) + 1
        is_needed = count > 2 or buffer in _doubled(users)
        if count == 1 or (not is_needed and self._violation(users, buffer, 1) is None):
            return 1
        if buffer in self.pointed:
            raise self._refused(
                f"accesses buffer {buffer.name} by a pointer",
                "the buffer has another version in each iteration",
            )
        return count

    def _check(self) -> None:
        """Raise an error if the order changes a dependence."""
        used = {buffer: None for part in self.parts for buffer in (*part.reads, *part.writes)}
        for buffer in used:
            violation = self._violation(self.parts, buffer, self.versions.get(buffer, 1))
            if violation is not None:
                raise self._refused(
                    f"executes accesses to buffer {buffer.name} in another order",
                    f"statement {violation[1]} depends on statement {violation[0]}",
                )

    def _violation(
        self, parts: list[_Part], buffer: Buffer, versions: int
    ) -> tuple[int, int] | None:
        """Two statements of which the second depends on the first but is executed before it."""
        for first, a in enumerate(parts):
            for second, b in enumerate(parts):
                for distance in range(max(a.stage - b.stage, 0) + 1):
                    is_same = distance == 0
                    if (is_same and first >= second) or distance % versions:
                        continue
                    if a.time <= (b.stage + distance, b.order):
                        continue
                    if self._conflicts(a, b, buffer, distance):
                        return first, second
        return None

    def _conflicts(self, a: _Part, b: _Part, buffer: Buffer, distance: int) -> bool:
        """Whether b accesses elements that a accesses `distance` iterations before."""
        pairs = [(a.writes, b.writes), (a.writes, b.reads), (a.reads, b.writes)]
        return any(
            buffer in regions
            and buffer in other
            and not self._is_disjoint(regions[buffer], other[buffer], distance)
            for regions, other in pairs
        )

    def _is_disjoint(self, a: BufferRegion, b: BufferRegion, distance: int) -> bool:
        """Whether two regions are disjoint, for all threads."""
        var = self.loop.loop_var
        later: dict[Var, Expr] = {var: ops.add(var, distance)}
        for thread, values in self.threads.items():
            other = later[thread] = Var(thread.name, thread.dtype)
            self.analyzer.bind(other, values)
        moved = substitute(b, later)
        prove = self.analyzer.can_prove
        return any(
            prove(ops.less_equal(ops.add(dim_range.min, dim_range.extent), other.min))
            or prove(ops.less_equal(ops.add(other.min, other.extent), dim_range.min))
            for dim_range, other in zip(a.region, moved.region, strict=True)
        )

    # Statements

    def emit(self) -> Stmt:
        """The block with the prologue, the body and the epilogue."""
        low, extent = self.loop.min, self.loop.extent
        end, last = ops.add(low, extent), ops.const(self.last, low.dtype)
        mapper = _Versions(self.loop, self.versions)
        parts = [part._replace(statement=mapper.visit(part.statement)) for part in self.parts]
        self.parts = sorted(parts, key=lambda part: part.order)
        steps = [
            self._steps(low, ops.add(low, last), "unrolled"),
            self._steps(ops.add(low, last), end, self.loop.kind),
            self._steps(end, ops.add(end, last), "unrolled"),
        ]
        if not self.last:
            steps = steps[1:2]
        buffers = tuple([mapper.visit_shared(buffer) for buffer in self.allocated])
        notes = {} if self.block is None else self.block.annotations
        return _as_block(sequence(steps), buffers, notes)

    def _steps(self, begin: Expr, end: Expr, kind: str) -> BlockRealize:
        """The steps from `begin` to `end` of the pipeline."""
        simplify = self.analyzer.simplify
        extent, old = simplify(ops.sub(end, begin)), self.loop.loop_var
        if type(extent) is IntImm and extent.value <= 0:
            return _as_block(NOTHING)
        var = Var(old.name, old.dtype)
        zero = ops.const(0, old.dtype)
        is_single = ops.is_const(extent, 1)
        step = simplify(begin if is_single else ops.add(var, begin))
        if not is_single:
            self.analyzer.bind(var, Range(zero, extent))
        is_last = begin is not self.loop.min and kind == "unrolled"
        stmts = [self._at(part, step, is_last) for part in self.parts]
        body = sequence(stmts)
        if is_single:
            return _as_block(body)
        is_body = begin is not self.loop.min and not is_last
        notes = {k: v for k, v in self.loop.annotations.items() if is_body and k not in _KEYS}
        return _as_block(For(var, zero, extent, kind, body, None, notes))

    def _at(self, part: _Part, step: Expr, is_last: bool) -> Stmt | None:
        """A statement of a step; None if it is never executed."""
        low, extent = self.loop.min, self.loop.extent
        simplify = self.analyzer.simplify
        iteration = simplify(ops.sub(step, part.stage))
        bounds = [ops.less_equal(low, iteration), ops.less(iteration, ops.add(low, extent))]
        full = ops.const(self.last, extent.dtype)
        if is_last and self.last > 1 and not self.analyzer.can_prove(ops.less_equal(full, extent)):
            # The prologue has executed the first steps.
            bounds.append(ops.less_equal(ops.add(low, self.last), step))
        condition: Expr = ops.TRUE
        for bound in bounds:
            condition = _both(condition, simplify(bound))
        if ops.is_const(condition, 0):
            return None
        values: dict[Var, Expr] = {self.loop.loop_var: iteration}
        condition = simplify(_both(condition, substitute(part.predicate, values)))
        realize = _as_block(fresh_copy(part.statement, values))
        return replace(realize, predicate=_both(condition, realize.predicate))


class _Versions(AccessMapper):
    """Adds a leading dimension to buffers, for the versions of different iterations."""

    def __init__(self, loop: For, versions: dict[Buffer, int]) -> None:
        self.iteration = ops.sub(loop.loop_var, loop.min)
        self.versions = versions

    def renewed(self, node: Any) -> Any:
        count = self.versions.get(node, 1) if isinstance(node, Buffer) else 1
        if count == 1:
            return self.generic(node)
        versions, strides = ops.const(count, "int32"), node.strides
        if strides:
            strides = (ops.mul(strides[0], node.shape[0]), *strides)
        return replace(node, shape=(versions, *node.shape), strides=strides)

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        count = self.versions.get(buffer, 1)
        return indices if count == 1 else (ops.floormod(self.iteration, count), *indices)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        region: BufferRegion = self.generic(node)
        count = self.versions.get(node.buffer, 1)
        if count == 1:
            return region
        version = ops.floormod(self.iteration, count)
        return replace(region, region=(Range(version, IntImm(1)), *region.region))


def _statements_of(loop: For) -> tuple[Block | None, Expr, list[Buffer], list[Stmt]]:
    """The block in a loop, its predicate, and the buffers and statements of the pipeline."""
    realize, body = loop.body, loop.body
    block: Block | None = None
    predicate: Expr = ops.TRUE
    buffers: list[Buffer] = []
    if type(realize) is BlockRealize:
        block, predicate = realize.block, realize.predicate
        body = block.body
        buffers += block.alloc_buffers
    if any(
        type(node) is Block and (node.iter_vars or node.match_buffers or node.init is not None)
        for node in statements(loop)
    ):
        name = loop.loop_var.name
        raise BlockError(
            f"software pipeline of loop {name} has a block with iterators or views",
            "pipelines are built of opaque blocks",
            "apply ConvertBlocksToOpaque and LowerMatchBuffer before InjectSoftwarePipeline",
            Subject("axis", name),
        )
    stmts: list[Stmt] = []
    for stmt in _sequence_of(body):
        if not _is_joined(stmt):
            stmts.append(stmt)
            continue
        buffers += stmt.block.alloc_buffers
        stmts += _sequence_of(stmt.block.body)
    return block, predicate, buffers, stmts


def _sequence_of(body: Stmt) -> tuple[Stmt, ...]:
    return body.seq if type(body) is SeqStmt else (body,)


def _is_joined(node: Stmt) -> TypeGuard[BlockRealize]:
    """Whether the statements of a block are statements of the pipeline around it."""
    if type(node) is not BlockRealize or node.iter_values or not ops.is_const(node.predicate, 1):
        return False
    block = node.block
    is_plain = not block.match_buffers and not block.annotations and block.init is None
    return is_plain and type(block.body) is SeqStmt


def _doubled(parts: list[_Part]) -> set[Buffer]:
    """The buffers of blocks with the annotation double_buffer_scope."""
    buffers = set()
    for part in parts:
        for node in statements(part.statement):
            if type(node) is Block and "double_buffer_scope" in node.annotations:
                buffers.add(node.writes[int(node.annotations["double_buffer_scope"])].buffer)
    return buffers


def _both(a: Expr, b: Expr) -> Expr:
    if ops.is_const(a, 1) or ops.is_const(b, 0):
        return b
    return a if ops.is_const(b, 1) or ops.is_const(a, 0) else ops.logical_and(a, b)


def _as_block(statement: Stmt, buffers: tuple[Buffer, ...] = (), notes: Any = None) -> BlockRealize:
    """The statement as a block, with the regions that it accesses."""
    if type(statement) is BlockRealize and not (
        buffers or statement.iter_values or not ops.is_const(statement.predicate, 1)
    ):
        return statement
    block = Block((), (), (), "", None, statement, buffers, (), dict(notes or {}))
    reads, writes, _ = access_regions(block, {})
    return BlockRealize((), ops.TRUE, replace(block, reads=reads, writes=writes))
