"""What scripts may be written with, and what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.errors import ScriptError
from te_sched.ir.structural import structural_difference
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import tir as T
from tests.script.reading import body
from tests.script.wrong_scripts import IN_FUNCTION, check, failed

SIZE = 8


# Statements as they are written, and as they are printed.
STATEMENTS = [
    ("for i in range(4):\n    A[i, 0] = 1.0", ["for i in range(4):", "    A[i, 0] = T.float32(1)"]),
    (
        "for i in T.serial(0, 4):\n    A[i, 0] += 1",
        ["for i in range(4):", "    A[i, 0] = A[i, 0] + T.float32(1)"],
    ),
    (
        "for i in T.parallel(4):\n    T.evaluate(i)",
        ["for i in T.parallel(4):", "    T.evaluate(i)"],
    ),
    (
        "for i in T.vectorized(4):\n    T.evaluate(i)",
        ["for i in T.vectorized(4):", "    T.evaluate(i)"],
    ),
    (
        "for i in T.unroll(1, 4):\n    T.evaluate(i)",
        ["for i in T.unroll(1, 4):", "    T.evaluate(i)"],
    ),
    (
        "for i in T.thread_binding(4, 'threadIdx.x', annotations={'k': 1}):\n    T.evaluate(i)",
        [
            'for i in T.thread_binding(4, thread="threadIdx.x", annotations={"k": 1}):',
            "    T.evaluate(i)",
        ],
    ),
    ("x = A[0, 0]\nA[0, 1] = x", ["x: T.float32 = A[0, 0]", "A[0, 1] = x"]),
    ("x: T.int32 = 3\nT.evaluate(x)", ["x: T.int32 = 3", "T.evaluate(x)"]),
    ("T.evaluate(0)\nA[0, 0] = 1.0\nT.evaluate(0)", ["A[0, 0] = T.float32(1)"]),
    ("T.evaluate(0)\nT.evaluate(0)", ["T.evaluate(0)"]),
    ("x = T.meta_var(3)\nT.evaluate(x)", ["T.evaluate(3)"]),
    (
        "with T.LetStmt(3) as x:\n    T.evaluate(x)\nT.evaluate(1)",
        ["with T.LetStmt(3) as x:", "    T.evaluate(x)", "T.evaluate(1)"],
    ),
    (
        "if A[0, 0] > 0.0:\n    T.evaluate(1)\nelif A[0, 1] > 0.0:\n    T.evaluate(2)\n"
        "else:\n    T.evaluate(3)",
        [
            "if A[0, 0] > T.float32(0):",
            "    T.evaluate(1)",
            "else:",
            "    if A[0, 1] > T.float32(0):",
            "        T.evaluate(2)",
            "    else:",
            "        T.evaluate(3)",
        ],
    ),
    ("if 1 < 2:\n    T.evaluate(1)\nelse:\n    T.evaluate(2)", ["T.evaluate(1)"]),
    (
        "while A[0, 0] < 1.0:\n    A[0, 0] = 1.0",
        ["while A[0, 0] < T.float32(1):", "    A[0, 0] = T.float32(1)"],
    ),
    (
        "assert A[0, 0] > 0.0, 'text'\nT.evaluate(0)",
        ['assert A[0, 0] > T.float32(0), "text"', "T.evaluate(0)"],
    ),
    ("return 3", ["return 3"]),
    ("A[0, 0] = T.if_then_else(1 <= A[0, 0] and not A[0, 1] < 2, 1.0, 0.0)", None),
    (
        "A[0, 0:4] = A[1, 0:4] + T.Broadcast(T.float32(1), 4)",
        ["A[0, 0:4] = A[1, 0:4] + T.Broadcast(T.float32(1), 4)"],
    ),
    ("A[0, T.Ramp(0, 2, 4)] = 0.0", ["A[0, 0:8:2] = T.Broadcast(T.float32(0), 4)"]),
    ("B = T.decl_buffer((4,))\nB[0] = A[0, 0]", ["B = T.decl_buffer((4,))", "B[0] = A[0, 0]"]),
    (
        "B = T.decl_buffer((64,), data=A.data)\nB[0] = 1.0",
        ["B = T.decl_buffer((64,), data=A.data)", "B[0] = T.float32(1)"],
    ),
    (
        "p = T.allocate([4], 'int8', 'local')\nT.evaluate(p)",
        ['p = T.allocate([4], "int8", "local")', "T.evaluate(p)"],
    ),
    (
        "p = T.allocate_const([1, 2], 'int32', [2])\nT.evaluate(p)",
        ['p = T.allocate_const([1, 2], "int32", [2])', "T.evaluate(p)"],
    ),
    ("T.attr(A.data, 'key', 1)\nT.evaluate(0)", ['T.attr(A.data, "key", 1)', "T.evaluate(0)"]),
    (
        "x = T.launch_thread('blockIdx.x', 4)\nT.evaluate(x)",
        ['x = T.launch_thread("blockIdx.x", 4)', "T.evaluate(x)"],
    ),
    (
        "x = T.env_thread('vthread')\nT.launch_thread(x, 4)\nT.evaluate(x)",
        ['x = T.launch_thread("vthread", 4)', "T.evaluate(x)"],
    ),
    ("T.call_extern('f', A.data, dtype='int32')", ['T.call_extern("int32", "f", A.data)']),
    ("T.tvm_storage_sync('shared')", ['T.tvm_storage_sync("shared")']),
    ("T.call_packed('f', A)", None),
    ("T.evaluate(T.max(A[0, 0], A[0, 1]))", ["T.evaluate(T.max(A[0, 0], A[0, 1]))"]),
    ("T.prefetch(A, [(0, 4), (0, 4)])", ["T.prefetch(A, [T.Range(0, 4), T.Range(0, 4)])"]),
    (
        "T.evaluate(T.Cast('int32', T.Select(A[0, 0] < 1.0, 1, 2)))",
        ['T.evaluate(T.Cast("int32", T.Select(A[0, 0] < T.float32(1), 1, 2)))'],
    ),
    ("T.evaluate(sum([i for i in range(4)]))", ["T.evaluate(6)"]),
    ("T.evaluate('text')", ['T.evaluate("text")']),
    (
        "for iters in T.grid(*A.shape):\n    A[iters] = 0.0",
        ["for iters_0, iters_1 in T.grid(8, 8):", "    A[iters_0, iters_1] = T.float32(0)"],
    ),
    (
        "for *outer, last in T.grid(2, 3, 4):\n    T.evaluate(outer[1] + last)",
        ["for outer_0, outer_1, last in T.grid(2, 3, 4):", "    T.evaluate(outer_1 + last)"],
    ),
]


@pytest.mark.parametrize(("text", "printed"), STATEMENTS)
def test_statements(text: str, printed: list[str] | None) -> None:
    found = body(text)
    if printed is not None:
        assert found == printed
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((8, 8), 'float32')):\n"
        + "\n".join(f"    {line}" for line in text.splitlines())
    )
    assert structural_difference(from_source(func.script()), func, True) is None


def test_names_around_a_function_are_known() -> None:
    extents, name = [4, SIZE], "block"

    @T.prim_func
    def copy(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, extents, "float32")
        B = T.match_buffer(b, extents, "float32")
        for i, j in T.grid(*extents):
            with T.block(f"{name}_1"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    assert 'with T.block("block_1"):' in copy.script()
    a = np.random.rand(4, SIZE).astype("float32")
    b = te_sched.nd.array(np.zeros((4, SIZE), "float32"))
    te_sched.build(copy)(te_sched.nd.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a * 2)
    assert copy.__name__ == "copy"


def test_modules_and_calls_between_functions() -> None:
    @I.ir_module
    class Module:
        I.module_attrs({"version": 1})

        @T.prim_func
        def main(n: T.int32) -> None:
            Module.other(n + 1)

        @T.prim_func(private=True)
        def other(n: T.int32) -> T.int32:
            return n * 2

    assert Module.get_global_vars() == ["main", "other"]
    text = Module.script()
    assert 'I.module_attrs({"version": 1})' in text
    assert "Module.other(n + 1)" in text
    assert structural_difference(from_source(text), Module) is None


@pytest.mark.parametrize(("hygienic", "index"), [(True, "3"), (False, "i")])
def test_macros(hygienic: bool, index: str) -> None:
    i = 3

    @T.macro(hygienic=hygienic)
    def store(A: Any, *values: Any, scale: Any = 1.0) -> None:
        A[i] = values[0] * scale

    @T.prim_func
    def func(A: T.Buffer((4,), "float32")) -> None:
        for i in range(4):  # noqa: B007
            store(A, T.float32(2), scale=A[0])

    assert f"A[{index}] = T.float32(2) * A[0]" in func.script()


def test_macros_of_objects() -> None:
    class Adder:
        def __init__(self, amount: float) -> None:
            self.amount = amount

        @T.macro
        def add(self, A: Any) -> None:
            A[0] = A[0] + T.float32(self.amount)

    adder = Adder(2)

    @T.prim_func
    def func(A: T.Buffer((4,), "float32")) -> None:
        adder.add(A)

    assert "A[0] = A[0] + T.float32(2)" in func.script()


def test_texts_may_use_given_names() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((n,), 'int32')):\n    A[0] = n"
    assert "T.Buffer((5,)" in from_source(text, {"n": 5}).script()


def test_threads_read_side_by_side() -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = [f"@T.prim_func\ndef f(A: T.Buffer(({n},))):\n    A[0] = {n}.0" for n in range(1, 40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: from_source(text).script(), texts))
    assert all(f"T.Buffer(({n},)" in text for n, text in enumerate(found, 1))


def test_long_and_deep_programs() -> None:
    nest = "".join(f"{'    ' * (n + 1)}for i{n} in range(1):\n" for n in range(15))
    deep = f"@T.prim_func\ndef f():\n{nest}{'    ' * 16}T.evaluate(0)\n"
    assert "T.evaluate(0)" in from_source(deep).script()
    block = "    with T.block('b'):\n        v = T.axis.S(1, 0)\n        A[v] = 1.0\n"
    long = "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n" + block * 1000
    assert from_source(long).script().count("T.block") == 1001


def test_undefined_variables_are_refused() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    n = T.int32()\n    A[n] = 1.0\n"
    with pytest.raises(ScriptError, match=r"a use of variable n at .* where it is"):
        from_source(text)
    assert "A[n]" in str(from_source(text, check_well_formed=False))
    assert "A[n]" in str(from_source(text.replace("func\n", "func(check_well_formed=False)\n")))


def test_macros_are_called_in_scripts() -> None:
    @T.macro
    def one(x: T.int32) -> None:
        T.evaluate(x)

    with pytest.raises(ScriptError, match="macro one is called outside of a script"):
        one(1)
    with pytest.raises(ValueError, match=r"T.macro takes keyword arguments alone"):
        T.macro(True)


ILL_FORMED = {
    "x = T.int32()\n    T.evaluate(x)": ".*a use of variable x at .*, where it is not",
    "B = T.Buffer((16,))\n    A[0, 0] = B[0]": ".*a use of variable B at .*, where it is not",
    "with T.LetStmt(3, var=n):\n        A[n, 0] = 1.0": "multiple nested definitions of variable n",
    "for i in range(8):\n        with T.block('b'):\n            v = T.axis.spatial(1, 0)\n"
    "            A[v, i] = 1.0": "block b uses i, of a loop around it",
}


@pytest.mark.parametrize("body", ILL_FORMED)
def test_ill_formed_functions_are_refused(body: str) -> None:
    text = f"@T.prim_func\ndef f(A: T.Buffer((16, 16)), n: T.int32):\n    {body}\n"
    with pytest.raises(ScriptError, match=f"function f is ill-formed, due to {ILL_FORMED[body]}"):
        from_source(text)
    unchecked = [
        from_source(text, check_well_formed=False),
        from_source(text.replace("prim_func", "prim_func(check_well_formed=False)")),
    ]
    module = "@I.ir_module\nclass Module:\n" + "".join(f"    {x}\n" for x in text.splitlines())
    with pytest.raises(ScriptError, match="is ill-formed"):
        from_source(module)
    module = module.replace("ir_module", "ir_module(check_well_formed=False)")
    unchecked.append(from_source(module)["f"])
    assert len({str(one) for one in unchecked}) == 1


def test_a_block_that_uses_a_loop_is_shown() -> None:
    text = f"{IN_FUNCTION}    for i in range(4):\n        with T.block('b'):\n"
    text += "            vi = T.axis.spatial(4, i)\n            A[vi, i] = 0.0\n"
    check(text, "function f is ill-formed, due to block b uses i", "with T.block('b'):")
    assert "vi = T.axis.spatial(extent, i)" in failed(text).help
