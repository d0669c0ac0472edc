"""Lower memory of a warp to registers of its lanes, which are read by shuffles.

The hardware has no memory of warps: element z of a buffer in scope "warp" is stored in lane (z //
m) % w, where w is the number of lanes and m the number of consecutive elements that one lane
stores.

    A_warp = allocate([64], scope="warp")         A_warp = allocate([2], scope="local")
    A_warp[tx * 2 + i] = A[tx * 2 + i]      ->    A_warp[i] = A[tx * 2 + i]
    B[tx] = A_warp[63 - tx]                       B[tx] = shuffle(A_warp[(63 - tx) % 2],
                                                                  (63 - tx) // 2 % 32)

If lanes read different registers of other lanes, all of these are shuffled, and each lane selects
its own. (TVM's name: LowerWarpMemory.) Must not know what kernels compute.
"""

from __future__ import annotations

import math

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.detect import detect_linear_equation
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BuildError
from te_sched.ir import ops
from te_sched.ir.device_limits import WARP
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, PointerType, Select, Var
from te_sched.ir.kernel import allocations, lane_mask, thread_axes
from te_sched.ir.message_text import spelled
from te_sched.ir.stmt import Allocate, BufferStore, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import AccessMapper, replace, statements, substitute
from te_sched.lowering.device.hoist_shuffles import hoist_shuffles
from te_sched.lowering.facts_mapper import note_range

_MOST = 4  # the number of registers of another lane from which a lane may select


def lower_warp_memory(kernel: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The kernel without memory of scope "warp"."""
    of_warps = list(allocations(kernel.body, "warp"))
    if not of_warps:
        return kernel
    name = kernel.attrs.get("global_symbol", "main")
    lanes = [axis for axis in thread_axes(kernel)[0] if axis.tag == "threadIdx.x"]
    extent = lanes[0].extent if lanes else None
    if not isinstance(extent, IntImm) or (extent.value % WARP and WARP % extent.value):
        raise BuildError(
            f"cannot keep {of_warps[0].buffer_var.name} in warp memory of kernel {name!r}: "
            f"threadIdx.x has extent {extent}",
            "the lanes of a warp are consecutive values of threadIdx.x",
            "bind an axis of 2, 4, 8, 16 or a multiple of 32 iterations to threadIdx.x",
        )
    lowering = _WarpMemory(name, lanes[0].var, min(extent.value, WARP), settings)
    lowering.mask = lane_mask(thread_axes(kernel)[0])
    for node in statements(kernel.body):
        note_range(node, lowering.analyzer)
        if type(node) is LetStmt:
            lowering.analyzer.bind(node.var, node.value)
    for allocation in of_warps:
        lowering.plan(allocation)
    return hoist_shuffles(kernel.with_body(lowering.visit(kernel.body)), lowering.analyzer)


class _WarpMemory(AccessMapper):
    """Replaces warp memory; `runs` has the m of each buffer, by its pointer."""

    def __init__(self, kernel: str, thread: Var, width: int, settings: Lowering) -> None:
        self.kernel, self.thread, self.width = kernel, thread, width
        self.mask: Expr = IntImm(0, "uint32")
        self.analyzer = Analyzer(settings)
        self.runs: dict[Var, int] = {}
        self.single: set[Var] = set()  # of which no lane stores more than one run
        self.pointers: dict[Var, Var] = {}

    def plan(self, allocation: Allocate) -> None:
        """Find the elements that a lane stores."""
        data = allocation.buffer_var
        for store in statements(allocation.body):
            if type(store) is BufferStore and store.buffer.data is data:
                run = self.run_of(store)
                if self.runs.setdefault(data, run) != run:
                    raise self.error(data.name, "its stores assign its elements to different lanes")
        run = self.runs.setdefault(data, 1)
        size = math.prod(
            part.value if isinstance(part, IntImm) else 0 for part in allocation.extents
        )
        if 0 < size <= run * self.width:
            self.single.add(data)
        element = data.pointer.element if data.pointer is not None else allocation.dtype
        self.pointers[data] = Var(data.name, "handle", PointerType(element, "local"))

    def run_of(self, store: BufferStore) -> int:
        """The number of consecutive elements that one lane stores."""
        index = self.analyzer.simplify(store.indices[0])
        terms = detect_linear_equation(index, [self.thread])
        run = terms[0] if terms is not None else None
        if not isinstance(run, IntImm) or run.value < 1:
            raise self.error(
                store.buffer.name,
                f"store index [{spelled(index)}] is not a multiple of threadIdx.x",
            )
        owner = ops.floormod(ops.floordiv(index, run.value), self.width)
        lane = ops.floormod(self.thread, self.width)
        if not self.analyzer.can_prove_equal(owner, lane):
            raise self.error(
                store.buffer.name,
                f"element [{spelled(index)}] is stored by a lane that does not own it",
            )
        return run.value

    def visit_Allocate(self, node: Allocate) -> Stmt:
        data = self.pointers.get(node.buffer_var)
        if data is None:
            return self.generic(node)
        if not all(isinstance(extent, IntImm) for extent in node.extents):
            raise self.error(data.name, "its size is not constant")
        size = math.prod(extent.value for extent in node.extents if isinstance(extent, IntImm))
        run = self.runs[node.buffer_var]
        room = IntImm(-(-size // (run * self.width)) * run)
        return replace(node, buffer_var=data, extents=(room,), body=self.visit(node.body))

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        load = self.generic(node)
        buffer, indices = load.buffer, load.indices
        if buffer is node.buffer:
            return load
        (index,) = self.moved(node.buffer, indices)
        run = self.runs[node.buffer.data]
        lane = ops.floormod(ops.floordiv(indices[0], run), self.width)
        lane = self.analyzer.simplify(lane)
        if self.analyzer.can_prove_equal(lane, ops.floormod(self.thread, self.width)):
            return BufferLoad(buffer, (index,))
        lane_0 = ops.mul(ops.floordiv(self.thread, WARP), WARP)
        first = substitute(index, {self.thread: lane_0})
        distance = self.analyzer.simplify(ops.sub(index, first))
        low, high = self.analyzer.const_bounds(distance)
        if low is None or high is None or high - low >= _MOST:
            raise self.error(
                node.buffer.name,
                f"lanes read different elements of one lane at once, at [{spelled(indices[0])}]",
            )
        chosen = self.shuffled(buffer, ops.add(first, high), lane)
        for step in reversed(range(low, high)):
            other = self.shuffled(buffer, ops.add(first, step), lane)
            chosen = Select(ops.equal(distance, step), other, chosen)
        return chosen

    def shuffled(self, buffer: Buffer, index: Expr, lane: Expr) -> Expr:
        """The element of another lane at a position that is the same in all lanes."""
        kept = BufferLoad(buffer, (self.analyzer.simplify(index),))
        arguments = (self.mask, kept, lane, IntImm(self.width), IntImm(WARP))
        return Call(kept.dtype, "tir.tvm_warp_shuffle", arguments)

    def visit_Call(self, node: Call) -> Expr:
        if any(isinstance(arg, Var) and arg in self.pointers for arg in node.args):
            raise self.error("a buffer", f"{node.op} takes its address")
        return self.generic(node)

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The position of an element in the registers of the lane that stores it."""
        (index,) = indices
        run = self.runs[buffer.data]
        row = ops.mul(ops.floordiv(index, run * self.width), run)
        if buffer.data in self.single:
            row = IntImm(0, index.dtype)
        return (self.analyzer.simplify(ops.add(row, ops.floormod(index, run))),)

    def renewed(self, buffer: Buffer) -> Buffer:
        """The view of a lane's registers."""
        data = self.pointers.get(buffer.data)
        if data is None:
            return buffer
        return replace(buffer, data=data, shape=(IntImm(self.runs[buffer.data]),))

    def error(self, name: str, problem: str) -> BuildError:
        """The error of warp memory that cannot be lowered to registers."""
        return BuildError(
            f"cannot keep {name} in warp memory of kernel {self.kernel!r}: {problem}",
            "each lane of a warp keeps its elements in registers",
            'let every lane store its own elements, or use scope "shared"',
        )
