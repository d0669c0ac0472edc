"""Examples in the docstrings of the node classes that `te_sched.tir` constructs.

Each is an expression and its text. The variables that it uses are declared first.
"""

from __future__ import annotations

import re

_VARIABLES = {
    "i": 'i = tir.Var("i")',
    "x": 'x = tir.Var("x", "float32")',
    "y": 'y = tir.Var("y", "float32")',
    "A": 'A = tir.decl_buffer((8,), name="A")',
    "T": 'T = te.placeholder((8,), name="T")',
    "data": 'data = tir.Var("data", tir.PointerType("float32"))',
    "body": "body = tir.Evaluate(i)",
}
_EXAMPLES = {
    "Add": ("tir.Add(i, 1)", "i + 1"),
    "Sub": ("tir.Sub(i, 1)", "i - 1"),
    "Mul": ("tir.Mul(i, 2)", "i * 2"),
    "Div": ("tir.Div(i, 4)", "T.Div(i, 4)"),
    "Mod": ("tir.Mod(i, 4)", "T.truncmod(i, 4)"),
    "FloorDiv": ("tir.FloorDiv(i, 4)", "i // 4"),
    "FloorMod": ("tir.FloorMod(i, 4)", "i % 4"),
    "Min": ("tir.Min(i, 4)", "T.min(i, 4)"),
    "Max": ("tir.Max(i, 4)", "T.max(i, 4)"),
    "EQ": ("tir.EQ(i, 4)", "i == 4"),
    "NE": ("tir.NE(i, 4)", "i != 4"),
    "LT": ("tir.LT(i, 4)", "i < 4"),
    "LE": ("tir.LE(i, 4)", "i <= 4"),
    "GT": ("tir.GT(i, 4)", "i > 4"),
    "GE": ("tir.GE(i, 4)", "i >= 4"),
    "And": ("tir.And(i >= 0, i < 4)", "i >= 0 and i < 4"),
    "Or": ("tir.Or(i < 0, i > 4)", "i < 0 or i > 4"),
    "Not": ("tir.Not(i > 0)", "not i > 0"),
    "Select": ("tir.Select(i > 0, x, 0)", "T.Select(i > 0, x, T.float32(0))"),
    "Ramp": ("tir.Ramp(i, 1, 4)", "T.Ramp(i, 1, 4)"),
    "Broadcast": ("tir.Broadcast(x, 4)", "T.Broadcast(x, 4)"),
    "Shuffle": ("tir.Shuffle([tir.Ramp(i, 1, 4)], [2])", "T.Shuffle([T.Ramp(i, 1, 4)], [2])"),
    "Let": ("tir.Let(i, 3, i + 1)", "T.Let(i + 1, where={i: 3})"),
    "Cast": ('tir.Cast("float32", i)', 'T.Cast("float32", i)'),
    "Call": ('tir.Call("float32", "tir.exp", [x])', "T.exp(x)"),
    "BufferLoad": ("tir.BufferLoad(A, [i])", "A[i]"),
    "ProducerLoad": ("tir.ProducerLoad(T, [i])", "T[i]"),
    "StringImm": ('tir.StringImm("name")', '"name"'),
    "IntImm": ('tir.IntImm("int8", 3)', "T.int8(3)"),
    "FloatImm": ('tir.FloatImm("float32", 0.5)', "T.float32(0.5)"),
    "Var": ('tir.Var("i"), tir.Var("x", "float32"), tir.SizeVar("n")', "(i, x, n)"),
    "Reduce": (
        "tir.Reduce(tir.CommReducer((x,), (y,), (x + y,), (te.const(0.0),)), [A[i]], "
        "[tir.IterVar((0, 8), i, 2)], None, 0)",
        "T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[A[i]], init=[], "
        'axis=[T.iter_var(i, T.Range(0, 8), "CommReduce", "")], condition=T.bool(True), '
        "value_index=0)",
    ),
    "IterVar": (
        'tir.IterVar((0, 8), "i", tir.IterVar.DataPar)',
        'T.iter_var(i, T.Range(0, 8), "DataPar", "")',
    ),
    "IndexMap": (
        "tir.IndexMap([i], [tir.floordiv(i, 4), tir.floormod(i, 4)])",
        "T.index_map(lambda i: (i // 4, i % 4))",
    ),
    "Range": ("tir.Range(2, 8)", "I.Range(2, 8)"),
    "Evaluate": (
        'tir.Evaluate(tir.call_extern("int32", "f"))',
        'T.call_extern("int32", "f")',
    ),
    "BufferStore": (
        "tir.BufferStore(A, 1.0, [0])",
        "A = T.Buffer((8,))\nA[0] = T.float32(1)",
    ),
    "For": (
        'tir.For(i, 0, 4, "parallel", body)',
        "for i in T.parallel(4):\n    T.evaluate(i)",
    ),
    "While": (
        "tir.While(i < 3, body)",
        "i = T.int32()\nwhile i < 3:\n    T.evaluate(i)",
    ),
    "IfThenElse": (
        "tir.IfThenElse(i > 0, body)",
        "i = T.int32()\nif i > 0:\n    T.evaluate(i)",
    ),
    "LetStmt": (
        "tir.LetStmt(i, 3, body)",
        "with T.LetStmt(3) as i:\n    T.evaluate(i)",
    ),
    "AttrStmt": (
        'tir.AttrStmt(i, "pragma_unroll", 1, body)',
        'i = T.int32()\nwith T.attr(i, "pragma_unroll", 1):\n    T.evaluate(i)',
    ),
    "AssertStmt": (
        'tir.AssertStmt(i > 0, "i is positive", body)',
        'i = T.int32()\nwith T.Assert(i > 0, "i is positive"):\n    T.evaluate(i)',
    ),
    "SeqStmt": (
        "tir.SeqStmt([body, body])",
        "i = T.int32()\nT.evaluate(i)\nT.evaluate(i)",
    ),
    "BufferRegion": ("tir.BufferRegion(A, [tir.Range(2, 6)])", "A[2:6]"),
    "MatchBufferRegion": (
        "tir.MatchBufferRegion(A, tir.BufferRegion(A, [tir.Range(2, 6)]))",
        "A = T.Buffer((8,))\nA = T.match_buffer(A[2:6], (8,), data=A.data)",
    ),
    "Block": (
        'tir.Block([], [], [], "B", tir.Evaluate(0))',
        'with T.block("B", no_realize=True):\n    T.reads()\n    T.writes()\n    T.evaluate(0)',
    ),
    "BlockRealize": (
        'tir.BlockRealize([], True, tir.Block([], [A[0]], [], "B", tir.Evaluate(0)))',
        'with T.block("B"):\n    A = T.Buffer((8,))\n    T.reads(A[0])\n    T.writes()\n'
        "    T.evaluate(0)",
    ),
    "DeclBuffer": (
        "tir.DeclBuffer(A, tir.Evaluate(0))",
        'A = T.handle("float32", "global")\n'
        "with T.decl_buffer((8,), data=A) as A_1:\n    T.evaluate(0)",
    ),
    "AllocateConst": (
        'tir.AllocateConst(data, "float32", [2], [1, 2], tir.Evaluate(0))',
        'with T.allocate_const([1.0, 2.0], "float32", [2]) as data:\n    T.evaluate(0)',
    ),
    "PrimFunc": ("tir.PrimFunc([i], tir.Evaluate(i)).params", "(i,)"),
    "BufferRealize": (
        "tir.BufferRealize(A, [tir.Range(0, 4)], True, tir.Evaluate(0))",
        "A = T.Buffer((8,))\nwith T.realize(A[0:4]):\n    T.evaluate(0)",
    ),
    "ProducerStore": ("tir.ProducerStore(T, 1.0, [2])", "T[2] = T.float32(1)"),
    "ProducerRealize": (
        "tir.ProducerRealize(T, [tir.Range(0, 4)], True, tir.Evaluate(0))",
        "with T.realize(T[0:4]):\n    T.evaluate(0)",
    ),
    "Prefetch": (
        "tir.Prefetch(A, [tir.Range(0, 4)])",
        "A = T.Buffer((8,))\nT.prefetch(A, [T.Range(0, 4)])",
    ),
    "Allocate": (
        'tir.Allocate(data, "float32", [4], True, tir.Evaluate(0))',
        'with T.allocate([4], "float32", "global") as data:\n    T.evaluate(0)',
    ),
}


def example_of(name: str) -> str:
    """The example of a node class as a doctest."""
    code, text = _EXAMPLES[name]
    words = set(re.findall(r"(?<![\w.\"])\w+(?![\w\"=(])", code))
    if "body" in words:
        words.add("i")
    declared = [line for word, line in _VARIABLES.items() if word in words]
    prompts = ["from te_sched import te, tir", *declared, code]
    return "\n".join([*(f">>> {line}" for line in prompts), text])
