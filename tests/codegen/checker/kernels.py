"""Hand-written programs of one kernel with barriers, and edits that break them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from te_sched.codegen.checker import accesses, intrinsics
from te_sched.codegen.checker.expressions import Compiler
from te_sched.codegen.checker.machine import KernelState
from te_sched.codegen.checker.report import Report
from te_sched.codegen.checker.space import Space
from te_sched.ir import builder, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.kernel import BARRIER, LAUNCH, barrier
from te_sched.ir.visitor import Mapper, replace, walk

TAGS = {"bx": "blockIdx.x", "tx": "threadIdx.x", "ty": "threadIdx.y"}


def array(name: str, size: int, dtype: str = "float32") -> E.Buffer:
    """Global memory."""
    data = E.Var(name, "handle", E.PointerType(dtype))
    return E.Buffer(data, dtype, (E.IntImm(size),), (), E.IntImm(0), name)


def program(build: Callable[..., None], buffers: Sequence[E.Buffer], **extents: int) -> S.IRModule:
    """A host function and its kernel, written by build(ib, *buffers, **variables of threads)."""
    ib = builder.create()
    variables = {name: E.Var(name) for name in extents}
    build(ib, *[ib.buffer_ptr(buffer) for buffer in buffers], **variables)
    body = ib.get()
    for name in reversed(extents):
        extent = E.IntImm(extents[name])
        axis = E.IterVar(E.Range(E.IntImm(0), extent), variables[name], "ThreadIndex", TAGS[name])
        body = S.AttrStmt(axis, "thread_extent", extent, body)
    data = tuple(buffer.data for buffer in buffers)
    attrs = {"global_symbol": "main_kernel", "calling_conv": 2, "tir.is_global_func": True}
    kernel = S.PrimFunc(data, body, {}, attrs)
    handles = [E.Var(buffer.name, "handle") for buffer in buffers]
    sizes = [E.IntImm(extent) for extent in extents.values()]
    launch = E.Call("int32", LAUNCH, (E.StringImm("main_kernel"), *data, *sizes, E.IntImm(0)))
    buffer_map = dict(zip(handles, buffers, strict=True))
    host = S.PrimFunc(tuple(handles), S.Evaluate(launch), buffer_map, {"global_symbol": "main"})
    return S.IRModule({"main": host, "main_kernel": kernel})


def state(block: tuple[int, int, int] = (32, 1, 1), blocks: int = 1) -> KernelState:
    """The state of a kernel before its first statement."""
    space = Space((blocks, 1, 1), block, np.arange(blocks))
    return KernelState("main_kernel", Report(), 1000, space, epoch=np.ones(blocks, np.int64))


def evaluate(expression: E.Expr, values: Mapping[E.Var, Any]) -> Any:
    """The value for all threads of a warp, with the values of variables."""
    machine = state()
    compiler = Compiler(machine, {**intrinsics.CALLS, **accesses.CALLS})
    for var, value in values.items():
        machine.assign(machine.slot(var), value)
        if isinstance(value, np.ndarray):
            compiler.threads.add(machine.slot(var))
    with np.errstate(all="ignore"):
        return compiler.expression(expression).run()


def wait(ib: Any) -> None:
    """A barrier of the block."""
    ib.emit(barrier())


# -- ways to break a kernel ------------------------------------------------------------------------


class _Edit(Mapper):
    """Changes the `number`-th node for which `is_it` holds."""

    def __init__(
        self, is_it: Callable[[Any], bool], change: Callable[[Any], Any], number: int
    ) -> None:
        self.is_it, self.change, self.left = is_it, change, number
        self.done = False

    def edit(self, node: Any) -> Any:
        if not self.done and self.is_it(node):
            if self.left == 0:
                self.done = True
                return self.change(node)
            self.left -= 1
        return self.generic(node)

    visit_BufferStore = visit_BufferLoad = visit_Evaluate = visit_IfThenElse = edit
    visit_Allocate = visit_For = visit_Call = edit


def edited(
    module: S.IRModule,
    is_it: Callable[[Any], bool],
    change: Callable[[Any], Any],
    number: int = 0,
) -> S.IRModule:
    """The program with one node of its kernel changed."""
    functions = dict(module.functions)
    name = next(name for name in functions if name.endswith("_kernel"))
    edit = _Edit(is_it, change, number)
    functions[name] = functions[name].with_body(edit.visit(functions[name].body))
    assert edit.done, "there is no such node"
    return S.IRModule(functions)


Mutation = Callable[[S.IRModule], S.IRModule]


def _is_barrier(node: Any) -> bool:
    return (
        isinstance(node, S.Evaluate) and isinstance(node.value, E.Call) and node.value.op == BARRIER
    )


def without_barrier(number: int = 0) -> Mutation:
    return lambda module: edited(module, _is_barrier, lambda node: S.Evaluate(E.IntImm(0)), number)


def barrier_only_where(test: Callable[..., E.Expr], number: int = 0) -> Mutation:
    def mutate(module: S.IRModule) -> S.IRModule:
        variables = _variables(module)
        return edited(module, _is_barrier, lambda node: S.IfThenElse(test(variables), node), number)

    return mutate


def _variables(module: S.IRModule) -> Any:
    """The variables of the kernel by name, as attributes."""
    name = next(name for name in module.functions if name.endswith("_kernel"))
    found = [node for node in walk(module[name].body) if isinstance(node, E.Var)]
    return type("Variables", (), {var.name: var for var in found})


def _touches(kind: type, buffer: str) -> Callable[[Any], bool]:
    return lambda node: isinstance(node, kind) and node.buffer.name == buffer


def stored_at(buffer: str, index: Callable[..., Any], number: int = 0) -> Mutation:
    """The index of a store becomes index(variables)."""
    return _moved(S.BufferStore, buffer, index, number)


def loaded_at(buffer: str, index: Callable[..., Any], number: int = 0) -> Mutation:
    """The index of a load becomes index(variables)."""
    return _moved(E.BufferLoad, buffer, index, number)


def _moved(kind: type, buffer: str, index: Callable[..., Any], number: int) -> Mutation:
    def mutate(module: S.IRModule) -> S.IRModule:
        place = (ops.convert(index(_variables(module))),)
        is_it = _touches(kind, buffer)
        return edited(module, is_it, lambda node: replace(node, indices=place), number)

    return mutate


def without_store(buffer: str, number: int = 0) -> Mutation:
    is_it = _touches(S.BufferStore, buffer)
    return lambda module: edited(module, is_it, lambda node: S.Evaluate(E.IntImm(0)), number)


def store_only_where(buffer: str, test: Callable[..., E.Expr], number: int = 0) -> Mutation:
    def mutate(module: S.IRModule) -> S.IRModule:
        condition = test(_variables(module))
        is_it = _touches(S.BufferStore, buffer)
        return edited(module, is_it, lambda node: S.IfThenElse(condition, node), number)

    return mutate


def with_condition(test: Callable[..., E.Expr], number: int = 0) -> Mutation:
    """The condition of an `if` becomes test(variables)."""

    def mutate(module: S.IRModule) -> S.IRModule:
        condition = test(_variables(module))
        return edited(
            module,
            lambda node: isinstance(node, S.IfThenElse),
            lambda node: replace(node, condition=condition),
            number,
        )

    return mutate


def with_room(buffer: str, size: int) -> Mutation:
    """Change the size of an allocation."""
    return lambda module: edited(
        module,
        lambda node: isinstance(node, S.Allocate) and node.buffer_var.name == buffer,
        lambda node: replace(node, extents=(E.IntImm(size),)),
    )


def with_iterations(loop: str, count: int) -> Mutation:
    """Change the extent of a loop."""
    return lambda module: edited(
        module,
        lambda node: isinstance(node, S.For) and node.loop_var.name == loop,
        lambda node: replace(node, extent=E.IntImm(count)),
    )


def with_argument(op: str, place: int, value: Callable[..., Any], number: int = 0) -> Mutation:
    """An argument of an intrinsic becomes value(variables)."""

    def mutate(module: S.IRModule) -> S.IRModule:
        new = ops.convert(value(_variables(module)))
        return edited(
            module,
            lambda node: isinstance(node, E.Call) and node.op == op,
            lambda node: replace(node, args=(*node.args[:place], new, *node.args[place + 1 :])),
            number,
        )

    return mutate


# -- good kernels ----------------------------------------------------------------------------------


def reverse() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """Tiles of 64 elements, each reversed: the arguments, output last, and the result."""

    def build(ib, A, C, bx, tx):
        s = ib.allocate("float32", (64,), "s_shared", scope="shared")
        with ib.for_range(0, 4, name="k") as k:
            s[tx] = A[bx * 256 + k * 64 + tx]
            wait(ib)
            C[bx * 256 + k * 64 + tx] = s[63 - tx]
            wait(ib)

    data = np.arange(512, dtype=np.float32)
    result = data.reshape(8, 64)[:, ::-1].reshape(-1)
    module = program(build, [array("A", 512), array("C", 512)], bx=2, tx=64)
    return module, [data, np.full(512, np.nan, np.float32)], result


def transpose() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """Tiles of 8 x 8 through shared memory."""

    def build(ib, A, C, bx, tx, ty):
        s = ib.allocate("float32", (64,), "s_shared", scope="shared")
        s[ty * 8 + tx] = A[bx * 64 + ty * 8 + tx]
        wait(ib)
        C[bx * 64 + ty * 8 + tx] = s[tx * 8 + ty]

    data = np.arange(256, dtype=np.float32)
    result = data.reshape(4, 8, 8).transpose(0, 2, 1).reshape(-1)
    module = program(build, [array("A", 256), array("C", 256)], bx=4, tx=8, ty=8)
    return module, [data, np.full(256, np.nan, np.float32)], result


def guarded() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """100 elements by 128 threads."""

    def build(ib, A, C, bx, tx):
        with ib.if_scope(bx * 64 + tx < 100):
            C[bx * 64 + tx] = A[bx * 64 + tx] + E.FloatImm(1.0)

    data = np.arange(100, dtype=np.float32)
    module = program(build, [array("A", 100), array("C", 100)], bx=2, tx=64)
    return module, [data, np.full(100, np.nan, np.float32)], data + 1


def stencil() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """Sums of three neighbors, with a halo in shared memory."""

    def build(ib, A, C, bx, tx):
        s = ib.allocate("float32", (66,), "s_shared", scope="shared")
        s[tx + 1] = A[bx * 64 + tx + 1]
        with ib.if_scope(tx < 1):
            s[0] = A[bx * 64]
        with ib.if_scope(tx >= 63):
            s[65] = A[bx * 64 + 65]
        wait(ib)
        C[bx * 64 + tx] = s[tx] + s[tx + 1] + s[tx + 2]

    data = np.arange(130, dtype=np.float32)
    module = program(build, [array("A", 130), array("C", 128)], bx=2, tx=64)
    result = data[:-2] + data[1:-1] + data[2:]
    return module, [data, np.full(128, np.nan, np.float32)], result


def tree() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """The sum of 64 elements by each block, in a tree."""

    def build(ib, A, C, bx, tx):
        s = ib.allocate("float32", (64,), "s_shared", scope="shared")
        s[tx] = A[bx * 64 + tx]
        wait(ib)
        with ib.for_range(0, 6, name="step") as step:
            half = E.IntImm(32) >> step
            with ib.if_scope(tx < half):
                s[tx] = s[tx] + s[tx + half]
            wait(ib)
        with ib.if_scope(tx < 1):
            C[bx] = s[0]

    data = np.arange(256, dtype=np.float32)
    module = program(build, [array("A", 256), array("C", 4)], bx=4, tx=64)
    return module, [data, np.full(4, np.nan, np.float32)], data.reshape(4, 64).sum(1)


def shuffles() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """The sum of 32 elements by each warp, broadcast to all of its lanes."""

    def build(ib, A, C, tx):
        v = ib.allocate("float32", (1,), "v_local", scope="local")
        mask = E.Call("uint32", "tir.tvm_warp_activemask", ())
        rest = (E.IntImm(32), E.IntImm(32))
        v[0] = A[tx]
        for step in (16, 8, 4, 2, 1):
            args = (mask, v[0], E.IntImm(step), *rest)
            v[0] = v[0] + E.Call("float32", "tir.tvm_warp_shuffle_down", args)
        C[tx] = E.Call("float32", "tir.tvm_warp_shuffle", (mask, v[0], E.IntImm(0), *rest))

    data = np.arange(64, dtype=np.float32)
    module = program(build, [array("A", 64), array("C", 64)], tx=64)
    result = np.repeat(data.reshape(2, 32).sum(1), 32)
    return module, [data, np.full(64, np.nan, np.float32)], result


def double_buffer() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """As `reverse`, with the next tile loaded while one is read."""

    def build(ib, A, C, tx):
        s = ib.allocate("float32", (128,), "s_shared", scope="shared")
        s[tx] = A[tx]
        with ib.for_range(0, 4, name="k") as k:
            wait(ib)
            with ib.if_scope(k < 3):
                s[(k + 1) % 2 * 64 + tx] = A[k * 64 + 64 + tx]
            C[k * 64 + tx] = s[k % 2 * 64 + (63 - tx)]

    data = np.arange(256, dtype=np.float32)
    module = program(build, [array("A", 256), array("C", 256)], tx=64)
    result = data.reshape(4, 64)[:, ::-1].reshape(-1)
    return module, [data, np.full(256, np.nan, np.float32)], result


def dots() -> tuple[S.IRModule, list[np.ndarray], np.ndarray]:
    """Each thread adds a row of 8 elements, two at a time, in a register."""

    def build(ib, A, C, bx, tx):
        total = ib.allocate("float32", (2,), "C_local", scope="local")
        pair = E.Ramp(E.IntImm(0), E.IntImm(1), 2)
        total[pair] = E.Broadcast(E.FloatImm(0.0), 2)
        with ib.for_range(0, 4, name="k") as k:
            place = E.Ramp((bx * 32 + tx) * 8 + k * 2, E.IntImm(1), 2)
            total[pair] = E.Add(total[pair], A[place])
        C[bx * 32 + tx] = total[0] + total[1]

    data = np.arange(512, dtype=np.float32)
    module = program(build, [array("A", 512), array("C", 64)], bx=2, tx=32)
    return module, [data, np.full(64, np.nan, np.float32)], data.reshape(64, 8).sum(1)


GOOD = (reverse, transpose, guarded, stencil, tree, shuffles, double_buffer, dots)
