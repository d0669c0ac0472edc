"""The words of scripts of loops and blocks."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import errors
from te_sched.errors import BuildError, ScriptError
from te_sched.ir.blocks import AllocateConst, DeclBuffer
from te_sched.ir.structural import structural_difference
from te_sched.ir.visitor import walk
from te_sched.script import from_source
from te_sched.script import tir as T
from tests.script.reading import body
from tests.script.wrong_scripts import IN_FUNCTION, check


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


def test_statements_of_the_grammar() -> None:
    func = from_source(
        "@T.prim_func\ndef f():\n    p = T.allocate_const([1.5, 2], 'float32', [2])\n"
        "    B = T.decl_buffer((2,), data=p)\n    T.evaluate(B[0])\n"
    )
    kinds = [type(node) for node in walk(func.body)]
    assert kinds[0] is AllocateConst
    assert DeclBuffer in kinds
    assert func.body.data.tolist() == [1.5, 2.0]


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


@pytest.mark.parametrize("extent", ["8", "T.int64(8)"])
@pytest.mark.parametrize("kind", ["spatial", "reduce", "scan", "opaque"])
def test_an_iterator_has_the_wider_of_two_data_types(kind: str, extent: str) -> None:
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    for i in range(8):\n"
        f"        with T.block('B'):\n            vi = T.axis.{kind}({extent}, i, dtype='int64')\n"
        "            A[vi] = 1.0\n"
    )
    axis = func.body.block.body.body.block.iter_vars[0]
    assert {axis.var.dtype, axis.dom.min.dtype, axis.dom.extent.dtype} == {"int64"}


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


IN_BLOCK = (
    "    for i, j in T.grid(16, 16):\n"
    "        with T.block('B'):\n"
    "            vi, vj = T.axis.remap('SS', [i, j])\n"
)


# The same, of statements of a block.
BLOCKS = [
    ("vi = T.axis.S(16, i)", "vi is defined twice", "vi"),
    ("v = T.axis.S(16, A)", ".*", None),
    (
        "v = T.axis.S(16, i, dtype='float32')",
        "the dtype of an iterator of block B is 'float32",
        None,
    ),
    ("v = T.axis.S(16, i, dtype='hello')", "the dtype of an iterator of block B is 'hello'", None),
    ("v = T.axis.S(16, 1.5)", "an iterator of block B is bound to T.float32.1.5., not", None),
    ("v, w = T.axis.remap('TT', [i, j])", "unknown kinds of iterators: 'TT'", None),
    (
        "v = T.axis.remap('S', i)",
        r"the loop variables of T.axis.remap are i(.|\n)*T.axis.remap\('S', \[i\]\)",
        None,
    ),
    ("v, w = T.axis.remap('SS', [i])", "T.axis.remap has 2 letters and 1 loop variable", None),
    ("v = T.axis.remap('S', [i + j])", "T.axis.remap of .*, expected a variable of a loop", None),
    ("T.where(i < 4)\n            T.where(j < 4)", "T.where is used twice in a block", None),
    ("T.reads()\n            T.reads()", "T.reads is used twice in a block", None),
    ("T.writes()\n            T.writes()", "T.writes is used twice in a block", None),
    ("T.reads(3)", "3 is not a region of a buffer", None),
    ("T.block_attr({})\n            T.block_attr({})", "T.block_attr is used twice", None),
    (
        "with T.init():\n                pass\n            with T.init():\n                pass",
        "block B has two initializations",
        None,
    ),
    ("M = T.match_buffer(vi)", "T.match_buffer of a parameter has no shape", None),
]


@pytest.mark.parametrize(("code", "fault", "under"), BLOCKS)
def test_blocks(code: str, fault: str, under: str | None) -> None:
    check(f"{IN_FUNCTION}{IN_BLOCK}            {code}\n            T.evaluate(0)\n", fault, under)


def test_threads_of_a_kernel_have_one_extent() -> None:
    text = (
        "@T.prim_func\ndef f(A: T.Buffer((8, 8), 'float32')):\n"
        "    for b in T.thread_binding(8, thread='blockIdx.x'):\n"
        "        for x in T.thread_binding(8, thread='threadIdx.x'):\n"
        "            with T.block('a'):\n"
        "                vb, vx = T.axis.remap('SS', [b, x])\n"
        "                A[vb, vx] = T.float32(0)\n"
        "        for x in T.thread_binding(4, thread='threadIdx.x'):\n"
        "            with T.block('b'):\n"
        "                vb, vx = T.axis.remap('SS', [b, x])\n"
        "                A[vb, vx] = T.float32(1)\n"
    )
    with pytest.raises(errors.BuildError, match=r"thread axis threadIdx.x has extents 8 and 4"):
        te_sched.build(from_source(text), target="cuda")


def test_views_have_the_shape_of_their_region() -> None:
    text = (
        "@T.prim_func\ndef f(A: T.Buffer((8, 8), 'float32')):\n"
        "    for i in range(8):\n"
        "        with T.block('a'):\n"
        "            vi = T.axis.S(8, i)\n"
        "            M = T.match_buffer(A[vi, 0:4], (5,))\n"
        "            M[0] = T.float32(0)\n"
    )
    with pytest.raises(errors.ScriptError, match=r"shape \[1, 4\] has shape \[5\]"):
        from_source(text)
    with pytest.raises(errors.ScriptError, match=r"shape \[2, 4\] has shape \[4\]"):
        from_source(text.replace("vi, 0:4", "vi:vi + 2, 0:4").replace("5", "4"))
    made = from_source(
        text.replace("(5,)", "(n,), offset_factor=1").replace("f(A", "f(n: T.int32, A")
    )
    assert isinstance(te_sched.lower(made)["main"], te_sched.tir.PrimFunc)


def test_lanes_of_stores() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8, 8), 'float32')):\n    A[0, 0] = A{}\n"
    with pytest.raises(errors.ScriptError, match="a value of 4 lanes is stored in 1 element of"):
        from_source(text.format("[0, 0:4]"))
    with pytest.raises(errors.ScriptError, match="in a dimension that is not the last"):
        from_source(text.format("[0:4, 0] + 1"))


HEAD = '@T.prim_func\ndef f(A: T.Buffer((8, 8), "float32")):\n    '


GRAPH = '@R.function\ndef f(A: R.Tensor((8, 8), dtype="float32")):\n    '


SLIPS = [
    (f"{HEAD}for i, j in T.grid([8, 8]):\n        A[i, j] = 0.0", "one loop has 2 names", "T.grid"),
    (
        f"{HEAD}for i, j in T.grid(8):\n        A[i, j] = 0.0",
        "one loop has 2 names",
        "T.grid(8, 8)",
    ),
    (f"{HEAD}for i in T.grid(8, 8):\n        A[i, 0] = 0.0", "a list cannot be used", "x[0]"),
    (f"{HEAD}for i in T.range(8):\n        A[i, 0] = 0.0", "scripts have no T.range", "T.serial"),
    (f"{HEAD}T.remap('SS', [1, 2])", "scripts have no T.remap", "write T.axis.remap"),
    (f"{HEAD}A[0, 0] = A(1, 1)", "A is a buffer, not a function", "write A[1, 1]"),
    (HEAD.replace("(8, 8)", "8, 8") + "pass", "the dtype of a buffer is 8", "T.Buffer((8, 8)"),
    (HEAD.replace('"float32"', 'dtyp="int8"') + "pass", "T.Buffer has no parameter dtyp", "dtype"),
    (GRAPH.replace("dtype", "dtyp") + "return A", "R.Tensor has no parameter dtyp", "ndim"),
    (
        HEAD.replace("(8, 8), ", '(8, "float32")'[:-1] + "), ") + "pass",
        "an extent of the buffer is 'float32'",
        "brackets",
    ),
    (
        f"{HEAD}B = T.alloc_buffer(8, 'int8', 'shared')",
        "the data of the buffer is",
        "scope='shared'",
    ),
]


@pytest.mark.parametrize(("text", "fault", "help"), SLIPS)
def test_slips_are_told_with_what_to_write(text: str, fault: str, help: str) -> None:
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    assert fault in caught.value.fault
    assert help in caught.value.help
