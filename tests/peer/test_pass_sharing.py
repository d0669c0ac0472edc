"""Common sub-expressions and shared memory of random statements, against TVM."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from te_sched.ir.structural import structural_difference  # noqa: E402
from te_sched.lowering.eliminate_common_subexpressions import (  # noqa: E402
    eliminate_common_subexpressions,
)
from te_sched.lowering.rewrite_storage import rewrite_storage  # noqa: E402
from tests.peer.bridge import Bridge  # noqa: E402
from tests.peer.test_pass_loops import names  # noqa: E402
from tests.sampling import sampled  # noqa: E402

tir = tvm.tir


class Statements:
    """Random statements over a: int32[1000] and the parameters n and m."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.buffer = tir.decl_buffer((1000,), "int32", "a")
        self.params = [tir.Var("n", "int32"), tir.Var("m", "int32")]
        self.thread = tir.Var("tx", "int32")
        self.pool: list[tuple[Any, list[Any]]] = []
        self.count = 0

    def fresh(self, prefix: str) -> Any:
        self.count += 1
        return tir.Var(f"{prefix}{self.count}", "int32")

    def function(self, body: Any) -> Any:
        """The function, launched on threads."""
        axis = tir.IterVar(None, self.thread, 1, "threadIdx.x")
        handle = tir.Var("A", "handle")
        func = tir.PrimFunc(
            [handle, *self.params],
            tir.AttrStmt(axis, "thread_extent", 4, body),
            buffer_map={handle: self.buffer},
        )
        return func.with_attr("tir.noalias", True)

    def term(self, scope: list[Any], depth: int) -> Any:
        """An expression over variables in scope, often one that was there before."""
        rng = self.rng
        again = [expr for expr, used in self.pool if all(map(scope.__contains__, used))]
        if again and rng.random() < 0.25:
            return rng.choice(again)
        if depth == 0 or rng.random() < 0.3:
            constant = tir.IntImm("int32", rng.randint(1, 3))
            return rng.choice(scope) if rng.random() < 0.7 else constant
        a, b = self.term(scope, depth - 1), self.term(scope, depth - 1)
        kinds = (tir.Add, tir.Sub, tir.Mul, tir.Add, tir.Min, tir.FloorDiv)
        pick = rng.randrange(8)
        if pick < 6:
            expr = kinds[pick](a, b)
        elif pick == 6:
            expr = tir.BufferLoad(self.buffer, [a])
        else:
            expr = tir.Select(tir.LT(a, b), a, b)
        used: list[Any] = []

        def note(node: Any) -> None:
            if isinstance(node, tir.Var) and any(map(node.same_as, scope)):
                used.append(node)

        tvm.tir.stmt_functor.post_order_visit(expr, note)
        self.pool.append((expr, used))
        return expr

    def statement(self, scope: list[Any], depth: int) -> Any:
        """A nest of loops, conditions, lets and stores."""
        pick = self.rng.randrange(10)
        if depth == 0 or pick < 3:
            return tir.BufferStore(self.buffer, self.term(scope, 2), [self.term(scope, 2)])
        if pick < 5:
            return tir.SeqStmt([self.statement(scope, depth - 1) for _ in range(2)])
        if pick < 8:
            var = self.fresh("i")
            low, extent = self.term(scope, 1), self.term(scope, 1)
            return tir.For(var, low, extent, 0, self.statement([*scope, var], depth - 1))
        condition = tir.LT(self.term(scope, 2), self.term(scope, 2))
        if pick == 8:
            return tir.While(condition, self.statement(scope, depth - 1))
        other = self.statement(scope, depth - 1) if self.rng.random() < 0.5 else None
        return tir.IfThenElse(condition, self.statement(scope, depth - 1), other)


class Allocations(Statements):
    """Random stores among allocations of many sizes."""

    def nest(self, buffers: list[Any], scope: list[Any], depth: int) -> Any:
        rng, n = self.rng, self.params[0]
        pick = rng.randrange(11)
        if depth == 0 or pick < 3:
            target, source, index = rng.choice(buffers), rng.choice(buffers), rng.choice(scope)
            value = tir.BufferLoad(source, [index]).astype(target.dtype)
            return tir.BufferStore(target, value, [index + rng.randint(0, 1)])
        if pick < 6:
            return tir.SeqStmt([self.nest(buffers, scope, depth - 1) for _ in range(3)])
        if pick < 8:
            var = self.fresh("i")
            kind = int(rng.random() < 0.2)
            return tir.For(var, 0, 8, kind, self.nest(buffers, [*scope, var], depth - 1))
        if pick == 8:
            return tir.IfThenElse(n < 3, self.nest(buffers, scope, depth - 1), None)
        dtype, scope_name = (
            rng.choice(["int32", "float32", "int8"]),
            rng.choice(["global", "local"]),
        )
        extent = rng.choice([1, 2, 30, 64, 64, 100, 3000, n, n + self.params[1]])
        buffer = tir.decl_buffer((extent,), dtype, f"b{self.fresh('b').name}", scope=scope_name)
        inside = [*buffers, buffer]
        body = tir.SeqStmt([self.nest(inside, scope, depth - 1) for _ in range(3)])
        return tir.Allocate(buffer.data, dtype, [extent], tir.const(1, "bool"), body)


def assert_is_tvms(func: Any, peer: Any, ours: Callable[[Any], Any]) -> None:
    bridge = Bridge()
    before = bridge.convert(func)
    after = bridge.convert(peer(tvm.IRModule({"main": func}))["main"])
    result = ours(before)
    assert structural_difference(result, after) is None
    assert names(result) == names(after)


@pytest.mark.parametrize("seed", sampled(range(60), 15))
def test_common_subexpressions_are_tvms(seed: int) -> None:
    make = Statements(seed)
    scope = [*make.params, make.thread] if seed % 2 else make.params
    func = make.function(make.statement(scope, 4))
    peer = tvm.tir.transform.CommonSubexprElimTIR()
    assert_is_tvms(func, peer, eliminate_common_subexpressions)


@pytest.mark.parametrize("seed", sampled(range(60), 15))
def test_shared_memory_is_tvms(seed: int) -> None:
    make = Allocations(seed)
    func = make.function(make.nest([make.buffer], make.params, 6))
    assert_is_tvms(func, tvm.tir.transform.StorageRewrite(), rewrite_storage)
