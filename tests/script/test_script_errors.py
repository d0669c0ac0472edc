"""Errors of scripts: the fault, the line and the caret."""

from __future__ import annotations

import enum
import re

import pytest

import te_sched
from te_sched import errors, te, tir
from te_sched.compat import diagnostics
from te_sched.errors import DeclarationError, ScriptError
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import tir as T
from te_sched.script.frames import ScriptBuilder

IN_FUNCTION = "@T.prim_func\ndef f(A: T.Buffer((16, 16), 'float32'), p: T.handle):\n"
IN_BLOCK = (
    "    for i, j in T.grid(16, 16):\n"
    "        with T.block('B'):\n"
    "            vi, vj = T.axis.remap('SS', [i, j])\n"
)

# Statements of a function, the first line of the error, and what the carets stand under.
STATEMENTS = [
    ("x = C[0, 0]", "undefined variable C", "C"),
    ("for i in T.grid('x'):\n        pass", "a bound of an axis or loop is", "T.grid('x')"),
    ("x: T.int32 = 1.5", "a variable of int32 has the value T.float32.1.5.", None),
    ("T.func_attr(3)", "attributes are 3, expected a dictionary", None),
    ("T.attr(A, 3, 4)", "the name of an attribute is 3", None),
    ("A.vstore([0, 0], 'x')", "cannot cast a handle to float32", None),
    (
        "for i in T.serial(3, annotations={1: 2}):\n        pass",
        "attributes are {1: 2}, expected a dictionary",
        None,
    ),
    ("T.evalute(0)", "scripts have no T.evalute", "T.evalute"),
    (
        "T.evaluate(T.Cast(A[0, 0], 'int32'))",
        r"unknown data type A\[0, 0\]\n(.*\n)*.*write T.Cast\('int32', A\[0, 0\]\)",
        "T.Cast(A[0, 0], 'int32')",
    ),
    (
        "with T.block:\n        pass",
        r"T.block opens nothing\n(.*\n)*.*T.block\(\"name\"\)",
        "T.block",
    ),
    ("p[0] = 1.0", r"cannot store in p\n(.*\n)*.*A = T.match_buffer\(p, shape\)", None),
    ("A[0, 0] = p[0]", r"variable p cannot be(.*\n)*.*A = T.match_buffer\(p, shape\)", "p[0]"),
    ("T.store(A.data, 0, 1.0)", "scripts have no T.store", "T.store"),
    ("T.axis.spatia(4, 0)", r"T.axis has no spatia\n(.*\n)*.*mean 'spatial'", "T.axis.spatia"),
    ("with T.block(3):\n        pass", "the name of a block is 3", "T.block(3)"),
    ("T.bind(A, 0)", "T.bind does not stand directly in a block", None),
    (
        "with T.block([4], 'b') as [vi]:\n        T.bind(A, 0)",
        "T.bind of A, which is not an iterator of block b",
        "T.bind(A, 0)",
    ),
    (
        "with T.block([4], 'b') as [vi]:\n        A[vi, 0] = 1.0",
        "block b has 1 iterators, 0 of them with values, and 0 loops around it",
        None,
    ),
    ("T.evaluate(A.nothing)", "'Buffer' object has no attribute", "A.nothing"),
    ("T.evaluate(A.shap[0])", r"'Buffer' object (.*\n)*.*did you mean 'shape'", "A.shap"),
    ("for i in T.evaluate(0):\n        pass", "None is not a loop", "T.evaluate(0)"),
    ("for i in range(4):\n        pass\n    else:\n        pass", "a loop has no else", "pass"),
    ("for i, j in range(16):\n        pass", "one loop has 2 names", "i, j"),
    ("for i, j, k in T.grid(4, 4):\n        pass", "2 values are assigned to 3 names", "i, j, k"),
    ("for i in T.serial('1'):\n        pass", "cannot compute with int32 and handle", None),
    ("for i in T.serial(1.5):\n        pass", "a bound of a loop is", None),
    ("for i in T.serial(0, 8, step=2):\n        pass", "a loop has a step", None),
    ("for i in T.thread_binding(4):\n        pass", "T.thread_binding has no thread", None),
    (
        "for i in T.thread_binding(4, thread='threadIdx.w'):\n        pass",
        r"there is no thread axis 'threadIdx.w'\n(.*\n)*.*did you mean 'threadIdx",
        "T.thread_binding(4, thread='threadIdx.w')",
    ),
    ("T.launch_thread('thread.x', 4)", "there is no thread axis 'thread.x'", None),
    ("x = T.env_thread('blockIdx.w')", "there is no thread axis 'blockIdx.w'", None),
    ("x = T.alloc_buffer((4,), scope='shard')", "there is no storage scope 'shard'", None),
    ("return A", "a function with @T.prim_func cannot return buffer A", "A"),
    ("A[0, 0] = None", r"None cannot be used(.*\n)*.*elements of buffers", "None"),
    ("A[0, 0] += 'x'", r"cannot compute with (.*\n)*.*elements of buffers", "'x'"),
    ("A[0] = 1.0", "buffer A has 2 dimensions but 1 index given", "A[0]"),
    ("x = {1, 2}", "x is assigned .1, 2.", "{1, 2}"),
    ("x: T.int32 = None", "None cannot be used", "None"),
    ("A.data[0] = 1.0", "cannot", "A.data[0]"),
    ("for i in T.grid():\n        pass", "T.grid has no extents", None),
    ("for i in T.grid((1, 2, 3)):\n        pass", "the domain of an axis is .1, 2, 3.", None),
    ("with T.evaluate(0):\n        pass", "None opens nothing", "T.evaluate(0)"),
    ("with T.block('x') as b:\n        pass", "this `with` gives no value", "b"),
    ("b = T.block('x')", "this gives no value", "T.block('x')"),
    ("with T.init():\n        pass", "T.init does not stand directly in a block", None),
    ("T.reads(A[0, 0])", "T.reads does not stand directly in a block", None),
    ("if 1.5:\n        pass", "1.5 is not a condition", "1.5"),
    ("return", "a return has no value", "return"),
    ("return T.evaluate(0)", "the returned expression has no value", None),
    ("def g():\n        pass", "a function stands inside of a function", None),
    ("A", "A is not a statement|.*is not a statement", "A"),
    ("import numpy", "'import' cannot stand in a T.prim_func", "import numpy"),
    ("x = y = 1", "one statement assigns twice", None),
    ("A.shape = 1", "an attribute cannot be assigned", "A.shape"),
    ("x = T.alloc_buffer((4,))\n    x = T.alloc_buffer((4,))", "x is defined twice", None),
    ("x = None", "x is assigned None, expected an expression", None),
    ("(f(1)) = 2", "cannot assign to function call.*", None),
    ("[A[0, 0], x] = [1, 2]", "this cannot be assigned to", "A[0, 0]"),
    ("A[0]: T.int32 = 1", "only a name can have a type", None),
    ("x: A = 1", ".*is not a type of a variable", "A"),
    ("x: 3 = 1", "3 is not a type of a variable", "3"),
    ("A[0] = 1.0", "buffer A has 2 dimensions but 1 index given", "A[0]"),
    ("A[0, 0] = A", ".*cannot be used in an expression|.*", None),
    ("x = 1\n    x[0] = 2", "cannot store in x", None),
    ("A[0:4:2, 0:4] = 1.0", "a region of buffer A has a step", None),
    (
        "n = T.int32()\n    A[0, 0:n] = 1.0",
        "the number of elements of region .* is not constant",
        None,
    ),
    ("T.buffer_store(A, 1.0, [0, 0], predicate=1)", "the predicate of a store of buffer A", None),
    ("T.func_attr({})\n    T.func_attr({})", "T.func_attr is used twice", None),
    ("B = T.match_buffer(p)", "T.match_buffer of a parameter has no shape", None),
    ("B = T.match_buffer(A.data, (4,))", "T.match_buffer of .*, expected a parameter", None),
    (
        "B = T.match_buffer(p, (4,))\n    C = T.match_buffer(p, (4,))",
        "parameter p has two buffers",
        None,
    ),
    ("T.launch_thread(T.int32(), 4)", "T.launch_thread of .*, expected a thread", None),
    ("T.attr(A, 'thread_extent', 4)", "the node of attribute thread_extent is", None),
    ("x = T.float32('big')", "T.float32 has no value 'big'", None),
    ("T.evaluate(T.index_map(lambda i: i))", "an IndexMap cannot be used in an expression", None),
    ("with T.If(A[0, 0] > 0.0):\n        T.evaluate(0)", "a condition has no T.Then", None),
    ("with T.Then():\n        T.evaluate(0)", "T.Then does not stand directly in a If", None),
]
# The same, of statements of a block.
BLOCKS = [
    ("vi = T.axis.S(16, i)", "vi is defined twice", "vi"),
    ("v = T.axis.S(16, A)", ".*", None),
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


def failed(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    return caught.value


def check(text: str, fault: str, under: str | None) -> None:
    error = failed(text)
    assert re.match(fault, str(error)), str(error)
    line, carets = error.excerpt.splitlines()[1:3]
    start = carets.index("^")
    shown = line[start : start + carets.count("^")]
    if under is not None:
        assert shown == under
    assert error.help


@pytest.mark.parametrize(("code", "fault", "under"), STATEMENTS)
def test_statements(code: str, fault: str, under: str | None) -> None:
    check(f"{IN_FUNCTION}    {code}\n", fault, under)


@pytest.mark.parametrize(("code", "fault", "under"), BLOCKS)
def test_blocks(code: str, fault: str, under: str | None) -> None:
    check(f"{IN_FUNCTION}{IN_BLOCK}            {code}\n            T.evaluate(0)\n", fault, under)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("@T.prim_func\ndef f(a):\n    pass", "parameter a has no type"),
        ("@T.prim_func\ndef f(a: 3):\n    pass", "parameter a is 3, expected a type"),
        ("@T.prim_func\ndef f(*a: T.int32):\n    pass", "parameters of f have defaults or stars"),
        ("@T.prim_func\ndef f(a: T.Nope):\n    pass", "scripts have no T.Nope"),
        (
            "@T.prim_func(private=True)\ndef f():\n    T.func_attr({'global_symbol': 'f'})",
            "a private function has no global_symbol",
        ),
        ("@I.ir_module\nclass M:\n    x = 1", "a module holds functions alone"),
        (
            "@I.ir_module\nclass M:\n    I.module_attrs({})\n    I.module_attrs({})",
            "I.module_attrs is used twice",
        ),
        (
            "@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n        M.g()",
            "the module has no function g",
        ),
        (
            "@I.ir_module\nclass M:\n    def f(a: T.int32):\n        T.evaluate(a)",
            "function f of module M is not a T.prim_func or R.function",
        ),
        (
            "@I.ir_module\nclass M:\n    @staticmethod\n    def f():\n        T.evaluate(0)",
            "function f of module M is not a T.prim_func or R.function",
        ),
        ("@T.prim_func\ndef f():\n    T.evaluate([][0])", r"cannot evaluate \[\]\[0\]"),
        ("@T.prim_func\ndef f():\n    T.evaluate(().__class__)", "a script cannot use .*__class__"),
        (
            "@T.prim_func\ndef f():\n    x = [a.__class__ for a in (1,)]",
            "a script cannot use the attribute __class__",
        ),
        ("@T.prim_func\ndef f():\n    open('x')", "undefined variable open"),
        (
            "@T.prim_func\ndef f():\n    T.builtins.eval('1')",
            r"scripts have no T\.builtins",
        ),
        ("@T.prim_func\ndef f():\n    tvm.files.os.getcwd()", "the text of .* te_sched.files"),
        ("@T.prim_func\ndef f():\n    tvm.build('x.so')", "the text of .* te_sched.build"),
        ("@T.prim_func\ndef f():\n    T._module", "a script cannot use the attribute _module"),
        (
            "@T.prim_func\ndef f():\n    x = [tvm.tir.transform for a in (1,)]",
            "the text of a script cannot use te_sched.tir.transform",
        ),
        (
            "@T.prim_func\ndef f(A: T.Buffer(4)):\n    with T.block():\n"
            "        v = T.axis.S(4, 0)\n        T.call_extern('int32', 'g', A.data)",
            "block  accesses A in an unknown way",
        ),
        (
            "@I.ir_module\nclass M:\n    for i in range(3):\n        pass",
            "a module holds functions alone",
        ),
    ],
)
def test_definitions(text: str, fault: str) -> None:
    error = failed(text)
    assert re.match(fault, str(error)), str(error)
    assert "^" in error.excerpt


def test_a_text_that_is_not_python_shows_its_place() -> None:
    error = failed("@T.prim_func\ndef f(:\n    pass")
    assert error.fault == "invalid syntax"
    assert error.excerpt.splitlines()[-1].strip().endswith("^")


def test_a_text_without_a_function_is_refused() -> None:
    with pytest.raises(ScriptError, match="a script has no function"):
        from_source("x = 1")


def test_a_function_without_a_source_is_refused() -> None:
    namespace: dict[str, object] = {}
    exec("def f(): pass", namespace)
    with pytest.raises(ScriptError, match="the source of f cannot be read"):
        T.prim_func(namespace["f"])


def test_decorators_stand_before_functions_and_classes() -> None:
    with pytest.raises(ScriptError, match=r"@T.prim_func stands before 3, expected a function"):
        T.prim_func(3)
    with pytest.raises(ScriptError, match=r"@I.ir_module stands before 3, expected a class"):
        I.ir_module(3)


def test_macros_are_called_in_scripts() -> None:
    @T.macro
    def one(x: T.int32) -> None:
        T.evaluate(x)

    with pytest.raises(ScriptError, match="macro one is called outside of a script"):
        one(1)
    with pytest.raises(ValueError, match=r"T.macro takes keyword arguments alone"):
        T.macro(True)


def test_words_stand_in_a_program() -> None:
    with pytest.raises(ScriptError, match="no program is being built"):
        T.evaluate(0)
    with (
        ScriptBuilder(),
        pytest.raises(ScriptError, match=r"T.func_attr stands outside of a function"),
    ):
        T.func_attr({})
    with ScriptBuilder() as builder:
        pass
    with pytest.raises(ScriptError, match="nothing was built"):
        builder.get()


def test_the_place_is_that_of_the_file() -> None:
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def wrong(A: T.Buffer((4,), "float32")) -> None:
            for i in range(4):
                A[i] = nothing  # noqa: F821

    assert "test_script_errors.py" in caught.value.where
    assert "A[i] = nothing" in caught.value.excerpt


def test_errors_of_create_prim_func() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    with pytest.raises(DeclarationError, match="placeholder A is not a parameter"):
        te.create_prim_func([B])
    with pytest.raises(DeclarationError, match=r"a parameter of create_prim_func is an? int"):
        te.create_prim_func([A, 3])
    S = te.placeholder((8, 4), name="S")
    init = te.compute((1, 4), lambda _, i: 0.0, name="init")
    update = te.compute((8, 4), lambda t, i: S[t - 1, i] + 1, name="update")
    with pytest.raises(errors.OperandError, match="operation scan has no form in blocks") as caught:
        te.create_prim_func([te.scan(init, update, S, name="scan")])
    assert caught.value.in_tvm == "Unsupported Operation: ScanOp."


def test_errors_of_constructors() -> None:
    A = tir.decl_buffer((8, 8), name="A")
    with pytest.raises(DeclarationError, match="a region of buffer A has 1 ranges, expected 2"):
        tir.BufferRegion(A, [tir.Range(0, 4)])
    with pytest.raises(DeclarationError, match=r"a region is \[3, 4\], expected a range for each"):
        tir.BufferRegion(A, [3, 4])
    block = tir.Block([tir.IterVar((0, 8), "i", 0)], [], [], "B", tir.Evaluate(0))
    with pytest.raises(DeclarationError, match="block B has 1 iterators, got 0 values"):
        tir.BlockRealize([], True, block)
    with pytest.raises(DeclarationError, match=r"a parameter of a function is an? int"):
        tir.PrimFunc([3], tir.Evaluate(0))
    with pytest.raises(DeclarationError, match=r"tir_prefix is '2T', expected an identifier"):
        tir.Evaluate(0).script(tir_prefix="2T")


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


def test_errors_are_given_to_renderers() -> None:
    given: list[diagnostics.DiagnosticContext] = []
    diagnostics.override_renderer(given.append)
    try:
        with pytest.raises(errors.ScriptError) as caught:
            from_source("@T.prim_func\ndef f():\n    T.evaluate(x)\n")
    finally:
        diagnostics.override_renderer(None)
    (found,) = given[0].diagnostics
    assert (found.span.line, found.span.column) == (3, 16)
    assert (caught.value.line, caught.value.column) == (3, 16)
    assert found.message == caught.value.fault
    with pytest.raises(errors.ScriptError, match="undefined variable x"):
        from_source("@T.prim_func\ndef f():\n    T.evaluate(x)\n")
    assert len(given) == 1


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


def test_decorators_have_known_options() -> None:
    with pytest.raises(ScriptError, match=r"T\.prim_func has no option privat"):
        from_source("@T.prim_func(privat=True)\ndef f():\n    T.evaluate(0)\n")


def test_a_block_that_uses_a_loop_is_shown() -> None:
    text = f"{IN_FUNCTION}    for i in range(4):\n        with T.block('b'):\n"
    text += "            vi = T.axis.spatial(4, i)\n            A[vi, i] = 0.0\n"
    check(text, "function f is ill-formed, due to block b uses i", "with T.block('b'):")
    assert "vi = T.axis.spatial(extent, i)" in failed(text).help


class Sizes:
    rows, columns = 4, 8


class Kind(enum.Enum):
    ROW = 1


@pytest.mark.parametrize(
    ("value", "fault", "help"),
    [
        ("Sizes.row", "type object 'Sizes' has no attribute 'row'", "(did you mean 'rows'?)"),
        ("Sizes.height(A)", "type object 'Sizes' has no attribute 'height'", "columns, rows"),
        ("Kind.LINE", "cannot evaluate Kind.LINE", "use one of ROW"),
    ],
)
def test_attributes_of_the_users_objects_are_suggested(value: str, fault: str, help: str) -> None:
    with pytest.raises(ScriptError, match=f"^{re.escape(fault)}\n") as caught:
        from_source(f"{IN_FUNCTION}    T.evaluate({value})\n", {"Sizes": Sizes, "Kind": Kind})
    assert help in caught.value.help
    assert str(caught.value).count("did you mean") <= 1


@pytest.mark.parametrize("kind", ["T.prim_func", "R.function"])
def test_methods_are_refused_with_what_to_remove(kind: str) -> None:
    source = f"@I.ir_module\nclass M:\n    @{kind}\n    def f(self):\n        return None\n"
    with pytest.raises(ScriptError, match="remove self"):
        from_source(source)


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


SCALED = """
@I.ir_module
class M:
    @T.prim_func
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("scale"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * 2.0

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = M
        LAST R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((5,), "float32"))
"""


@pytest.mark.parametrize("last", ["return", "z = R.exp(x)\n        return", "return R.exp(x),"])
def test_a_call_that_does_not_fit_is_marked(last: str) -> None:
    with pytest.raises(ScriptError, match="scale is called with") as caught:
        from_source(SCALED.replace("LAST", last))
    shown, carets = caught.value.excerpt.splitlines()[-2:]
    assert "R.call_tir" in shown[carets.index("^") :]


def test_names_of_sizes_are_those_of_the_function() -> None:
    text = """
@I.ir_module
class M:
    @R.function
    def first(x: R.Tensor(("n", 4), "float32")):
        return x

    @R.function
    def second(x: R.Tensor(("n", m), "float32")):
        return x
"""
    values = {"n": te.var("n"), "m": tir.Var("m", "int64")}
    module = from_source(text, values)
    first, second = (module[name].params[0].struct_info for name in ("first", "second"))
    assert first.shape.values[0].dtype == "int64"
    assert not first.shape.values[0].same_as(second.shape.values[0])
    assert second.shape.values[1].same_as(values["m"])
