"""What scripts may be written with, and what it means."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.errors import BuildError, ScriptError
from te_sched.ir.blocks import AllocateConst, DeclBuffer
from te_sched.ir.structural import structural_difference
from te_sched.ir.visitor import walk
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import tir as T
from te_sched.script.frames import ScriptBuilder

SIZE = 8


def body(text: str, head: str = "A: T.Buffer((8, 8), 'float32')") -> list[str]:
    """The lines of the body of a function with this text."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    printed = from_source(f"@T.prim_func\ndef f({head}):\n{lines}").script().splitlines()
    return [line[4:] for line in printed[4:]]


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


@pytest.mark.parametrize(
    "head",
    [
        "A: T.Buffer[(8, 8), 'float32']",
        "A: T.Buffer((8, 8))",
        "A: 'T.Buffer((8, 8), T.float32)'",
        "A: T.Buffer(shape=(8, 8), dtype='float32')",
    ],
)
def test_older_spellings_of_parameters(head: str) -> None:
    printed = from_source(f"@T.prim_func\ndef f({head}):\n    A[0, 0] = 1.0\n").script()
    assert 'def f(A: T.Buffer((8, 8), "float32")):' in printed


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


def test_a_function_in_another_class_is_itself() -> None:
    class Programs:
        @T.prim_func
        def first(A: T.Buffer((4,), "float32")) -> None:
            A[0] = 1.0

    assert "A[0] = T.float32(1)" in Programs.first.script()


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


def test_programs_are_built_by_frames() -> None:
    with ScriptBuilder() as builder, T.prim_func():
        T.func_name("f")
        A = T.arg("A", T.Buffer((4,), "float32"))
        with T.serial(4) as i, T.If(i < 2):
            with T.Then():
                T.buffer_store(A, 1.0, [i])
            with T.Else():
                T.buffer_store(A, 2.0, [i])
        ScriptBuilder.name("i", i)
    assert builder.get().script().splitlines()[4:] == [
        "    for i in range(4):",
        "        if i < 2:",
        "            A[i] = T.float32(1)",
        "        else:",
        "            A[i] = T.float32(2)",
    ]


def test_statements_of_the_grammar() -> None:
    func = from_source(
        "@T.prim_func\ndef f():\n    p = T.allocate_const([1.5, 2], 'float32', [2])\n"
        "    B = T.decl_buffer((2,), data=p)\n    T.evaluate(B[0])\n"
    )
    kinds = [type(node) for node in walk(func.body)]
    assert kinds[0] is AllocateConst
    assert DeclBuffer in kinds
    assert func.body.data.tolist() == [1.5, 2.0]


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


def test_a_grid_of_one_loop_has_one_variable() -> None:
    @T.prim_func
    def doubled(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.grid(8):
            B[i] = A[i] * 2

    @T.prim_func
    def unpacked(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for (i,) in T.grid(8):
            B[i] = A[i] * 2

    assert "for i in range(8):" in doubled.script()
    assert "for i in range(8):" in unpacked.script()


def test_strides_are_named_after_their_buffer() -> None:
    (line,) = body(
        "n = T.int32()\nA = T.match_buffer(a, (8, 8), 'float32', strides=['x', n])\nT.evaluate(0)",
        "a: T.handle",
    )[:1]
    assert line == 'A = T.match_buffer(a, (8, 8), strides=("A_s0", "A_s1"))'


def test_a_variable_of_several_sizes_is_declared() -> None:
    text = "n = T.int32()\nA = T.match_buffer(a, (8, 8), strides=[n, n])\nT.evaluate(n)"
    assert body(text, "a: T.handle") == [
        "A_s1 = T.int32()",
        "A = T.match_buffer(a, (8, 8), strides=(A_s1, A_s1))",
        "T.evaluate(A_s1)",
    ]


def test_undefined_variables_are_refused() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    n = T.int32()\n    A[n] = 1.0\n"
    with pytest.raises(ScriptError, match=r"a use of variable n at .* where it is"):
        from_source(text)
    assert "A[n]" in str(from_source(text, check_well_formed=False))
    assert "A[n]" in str(from_source(text.replace("func\n", "func(check_well_formed=False)\n")))


def test_main_is_the_last_function() -> None:
    functions = "".join(
        f"    @T.prim_func\n    def {name}():\n        T.evaluate(0)\n"
        for name in ("main", "z", "a")
    )
    printed = from_source(f"@I.ir_module\nclass Module:\n{functions}").script()
    assert [line.split()[1] for line in printed.splitlines() if "def " in line] == [
        "a():",
        "z():",
        "main():",
    ]


def test_functions_and_modules_are_named_as_in_python() -> None:
    @T.prim_func(private=True)
    def double(A: T.Buffer((8,), "float32")):
        A[0] = A[0] * T.float32(2)

    @T.prim_func(private=True)
    def twice(A: T.Buffer((8,), "float32")):
        A[0] = A[0] * T.float32(2)

    @I.ir_module
    class Empty:
        pass

    assert (double.__name__, Empty.__name__) == ("double", "Empty")
    assert structural_difference(double, twice) is None
    assert structural_difference(Empty, te_sched.IRModule({})) is None
    assert te_sched.IRModule({}).__name__ == "Module"


@pytest.mark.parametrize("dtype", ["e4m3_float8", "e5m2_float8", "int4", "uint4"])
def test_types_without_code_are_read_and_refused(dtype: str) -> None:
    func = from_source(
        "@T.prim_func\n"
        f"def f(A: T.Buffer((8,), '{dtype}'), B: T.Buffer((8,), 'float32')):\n"
        f"    for i in range(8):\n        A[i] = T.Cast('{dtype}', B[i]) + T.{dtype}(1)\n"
    )
    assert f'T.Cast("{dtype}", B[i]) + T.{dtype}(1)' in func.script()
    assert structural_difference(from_source(func.script()), func) is None
    threads = "with T.launch_thread('threadIdx.x', 8) as i:"
    kernel = from_source(func.script().replace("for i in range(8):", threads))
    for one, target in ((func, "llvm"), (kernel, "cuda")):
        with pytest.raises(BuildError, match=f"cannot generate code for values of type {dtype}"):
            te_sched.build(one, target=target, verify=False)


MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        Module.other(A.data, 3)

    @T.prim_func(private=True)
    def other(p: T.handle("float32"), x: T.int32):
        T.evaluate("two\\nlines")
"""


@pytest.mark.not_read_back("one function calls another of its module")
def test_modules_are_printed_as_by_tvm() -> None:
    module = from_source(MODULE)
    text = module.script(name="Named")
    assert "class Named:" in text
    assert "Named.other(A.data, 3)" in text
    assert text.index("def other") < text.index("def main")
    assert "    other(A.data, 3)" in module["main"].script()


def test_texts_of_several_lines_are_metadata() -> None:
    module = from_source(MODULE)
    assert "# Metadata omitted" in module.script()
    for program in (module, module["other"]):
        text = program.script(show_meta=True)
        assert 'T.evaluate(metadata["tir.StringImm"][0])' in text
        assert structural_difference(from_source(text), program) is None
        with pytest.raises(ScriptError, match="cannot load a program from this JSON"):
            from_source(text.replace("te_sched", "another"))


@pytest.mark.parametrize("binding", ["", "T.bind(vi, i)\n            T.bind(vk, k)\n            "])
def test_older_blocks_have_axes(binding: str) -> None:
    head = "@T.prim_func\ndef f(A: T.Buffer((8, 4)), B: T.Buffer((8,))):\n"
    older = (
        "    for i, k in T.grid(8, 4):\n"
        "        with T.block([8, T.reduce_axis(0, 4)], 'B') as [vi, vk]:\n"
        f"            {binding}with T.init():\n                B[vi] = 0.0\n"
        "            B[vi] = B[vi] + A[vi, vk]\n"
    )
    newer = older.replace("T.block([8, T.reduce_axis(0, 4)], 'B') as [vi, vk]", "T.block('B')")
    remap = "vi, vk = T.axis.remap('SR', [i, k])\n            with T.init"
    newer = newer.replace(binding, "").replace("with T.init", remap)
    assert structural_difference(from_source(head + older), from_source(head + newer)) is None


def test_older_axes_of_other_kinds() -> None:
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((8, 4))):\n    for i, j in T.grid(8, 4):\n"
        "        with T.block([T.scan_axis(0, 8), T.opaque_axis(0, 4)], 'x') as [vi, vj]:\n"
        "            A[vi, vj] = 1.0\n    for i in range(8):\n"
        "        with T.block([8], 'y') as vi:\n            A[vi, 0] = 2.0\n"
    )
    assert "vi = T.axis.scan(8, i)" in func.script()
    assert "vj = T.axis.opaque(4, j)" in func.script()
    assert "vi = T.axis.spatial(8, i)" in func.script()


def test_a_class_of_a_module_that_is_only_executed(tmp_path: Path) -> None:
    """As importlib executes a file that it does not import."""
    file = tmp_path / "program.py"
    file.write_text(
        "from te_sched.script import ir as I, tir as T\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @T.prim_func\n"
        "    def main(A: T.Buffer((4,), 'float32')):\n"
        "        for i in range(4):\n"
        "            A[i] = 1.0\n"
    )
    spec = importlib.util.spec_from_file_location("only_executed", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "A[i] = T.float32(1)" in str(module.Module)
