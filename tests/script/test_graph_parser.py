"""Functions of graphs, read from scripts; each prints as text that reads again."""

# ruff: noqa: F821, F841, RUF059  (names of scripts)

from __future__ import annotations

import numpy as np
import pytest

from te_sched import relax, tir, topi
from te_sched.errors import ScriptError
from te_sched.ir import assert_structural_equal, structural_hash
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.script.graph_program import C, Module
from tests.script.graph_texts import described


def test_text_with_metadata_reads_again() -> None:
    again = from_source(Module.script(show_meta=True), check_well_formed=False)
    assert_structural_equal(Module, again)
    assert structural_hash(Module) == structural_hash(again)
    assert np.array_equal(
        again["aaa"].body.blocks[-1].bindings[-1].value.args[1].data.numpy(), C.data.numpy()
    )


def test_names_may_be_used_again() -> None:
    @R.function
    def f(x: R.Tensor((4,), "float32")):
        y = R.add(x, R.add(x, x))
        y = R.add(y, x)
        with R.dataflow():
            lv = R.add(y, y)
            y = R.add(lv, lv)
            R.output(y)
        return y

    assert described(f) == [
        "gv = R.add(x, x)".replace("gv", "gv*"),
        "y* = R.add(x, gv)",
        "y* = R.add(y, x)",
        "lv = R.add(y, y)",
        "y* = R.add(lv, lv)",
    ]
    first, second = (one.var for one in f.body.blocks[0].bindings[1:3])
    assert first is not second


def test_python_operators_are_calls() -> None:
    @R.function
    def f(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        a = -x + y * x - x / y
        b, c = (x, y)
        t = ((x, y), a)
        d = t[0][1]
        e = x > y
        g = x.astype("int8")
        h, i = R.split(x, 2)
        return (b, d, e, g, i)

    texts = described(f)
    assert texts[:3] == ["gv* = R.negative(x)", "gv1* = R.multiply(y, x)", "gv2* = R.add(gv, gv1)"]
    assert "e* = R.greater(x, y)" in texts
    assert 'g* = R.astype(x, dtype="int8")' in texts
    assert texts[-2].startswith("h* = ")
    assert texts[-1].endswith("[1]")


def test_sizes_are_shared_by_name() -> None:
    @R.function
    def f(x: R.Tensor(("n + 1",)), y: R.Tensor(("n", "m"), "float32"), s: R.Shape(["k"])):
        m, n = T.int64(), T.int64()
        k = T.int64()
        z = R.call_pure_packed("f", y, sinfo_args=R.Tensor((m, n, k), "float32"))
        w: R.Tensor(("m * 2",)) = R.call_pure_packed("g", z, sinfo_args=R.Tensor)
        return z

    n, m = f.params[1].struct_info.shape
    assert f.params[0].struct_info == relax.TensorStructInfo([n + 1], "")
    z, w = (one.var.struct_info for one in f.body.blocks[0].bindings)
    assert z.shape[0] is m
    assert z.shape[1] is n
    assert w == relax.TensorStructInfo([m * 2], "")
    assert f.ret_struct_info == z


def test_annotations_replace_what_is_inferred() -> None:
    @R.function
    def f(x: R.Tensor):
        y: R.Object = R.add(x, x)
        z: R.Object = x
        return y

    y, z = (one.var.struct_info for one in f.body.blocks[0].bindings)
    assert (str(y), str(z)) == ("R.Object", "R.Tensor")


def test_module_calls_functions_before_and_after() -> None:
    @I.ir_module
    class M:
        known = R.ExternFunc("known")

        @R.function
        def main(x: R.Tensor((2, "n"), "float32")):
            cls = M
            a = cls.later(x)
            b = M.loops(x, a)
            c = unannotated(x)
            d = R.emit_te(topi.add, x, x)
            e = R.emit_te(topi.add, a, a)
            return (a, c, d, e)

        @R.function(private=True)
        def later(y: R.Tensor((2, "m"), "float32")) -> R.Tensor((2, "m"), "float32"):
            return y

        @R.function
        def unannotated(x: R.Tensor):
            return x

        @T.prim_func
        def loops(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (T.int64(2), n))
            B = T.match_buffer(b, (T.int64(2), n))
            T.evaluate(0)

    n = M["main"].params[0].struct_info.shape[1]
    a, b, c, *_ = (one.var.struct_info for one in M["main"].body.blocks[0].bindings)
    assert a == relax.TensorStructInfo([2, n], "float32")
    assert (str(b), str(c)) == ("R.Tuple", "R.Object")
    assert list(M.functions) == ["known", "main", "later", "unannotated", "loops", "add"]
    assert M.get_global_var("later").struct_info == M["later"].struct_info
    assert_structural_equal(M, from_source(M.script()))


def test_function_may_call_a_name_of_another_module() -> None:
    name = Module.get_global_var("nop3")

    @R.function
    def f(
        x: R.Callable((R.Object, R.Tensor((3,))), R.Tensor, False),
        y: R.Callable,
        s: R.Shape,
        t: R.Tuple(R.Tensor((5,)), R.Object),
    ):
        return name(x, y, s, t)

    assert "nop3(x, y, s, t)" in f.script()


def test_nested_functions_may_call_themselves() -> None:
    @R.function
    def f(x: R.Tensor):
        @R.function
        def again(y: R.Tensor) -> R.Tensor:
            z = again(y)
            return z

        return again(x)

    nested = f.body.blocks[0].bindings[0]
    assert nested.var.struct_info == nested.value.struct_info
    assert_structural_equal(f, from_source(f.script()))


def test_macros_see_the_names_of_their_definition() -> None:
    scale = R.const(2.0)

    @R.macro
    def scaled(value):
        product = R.multiply(value, scale)
        return product

    scale = R.const(3.0)

    @R.function
    def f(x: R.Tensor((2,), "float32")):
        y = scaled(x)
        return y

    assert described(f) == ['product* = R.multiply(x, R.const(2.0, "float32"))', "y* = product"]


HEAD = "@R.function\ndef f(x: R.Tensor((4,), 'float32'), c: R.Prim('bool')):\n"


STATEMENTS = {
    "R.add(x, x)": "the value of a statement is not used",
    "y = z = x": "one statement assigns twice",
    "y: R.Shape = x": "a variable is annotated as R.Shape.ndim=-1., its value is R.Tensor",
    "y: R.Tensor(16) = x": "the shape of R.Tensor is 16",
    "y: R.Tensor(ndim=-2) = x": "R.Tensor has ndim=-2",
    "x[0]: R.Tensor = x": "an annotation has no name or value",
    "return x\n    return x": "function f returns twice",
    "return": "a return has no value",
    "pass": "function f has no result",
    "for i in range(4):\n        pass": "'for' cannot stand in an R.function",
    "R.output(x)": "R.output stands outside of a dataflow block",
    "with R.dataflow(), R.dataflow():\n        pass": "a with has two frames",
    "with x:\n        pass": "x opens nothing",
    "with R.dataflow():\n        R.output(x)": "x is an output of a dataflow block that ",
    "with R.dataflow():\n        y = R.add(x, x)\n        R.output(y)\n        R.output(y)": (
        "R.output is used twice"
    ),
    "with R.dataflow():\n        y = R.add(x, x)\n        R.output(y)\n        z = R.add(y, y)": (
        "a variable is bound after R.output"
    ),
    "with R.dataflow():\n        with R.dataflow():\n            pass": (
        "R.dataflow stands inside of a dataflow block"
    ),
    "with R.dataflow():\n        y = R.add(x, x)\n        R.output()\n    return y": (
        "undefined variable y"
    ),
    "with R.dataflow():\n        if c:\n            y = x\n        else:\n            y = x": (
        "a condition stands in a dataflow block"
    ),
    "if c:\n        y = x": "a condition has no else",
    "if c:\n        return x\n    else:\n        y = x": "a branch of a condition returns",
    "if c:\n        y = x\n    else:\n        z = x": "the branches of a condition bind y and z",
    "if c:\n        pass\n    else:\n        z = x": "a branch binds no variable at its end",
    "if c:\n        with R.dataflow():\n            y = R.exp(x)\n            z = R.exp(y)\n"
    "            R.output(y)\n    else:\n        z = x": "a branch binds no variable at its end",
    "R.func_attr({})\n    R.func_attr({})": "R.func_attr is used twice",
    "y = R.match_cast(x, None)": "R.match_cast has no value or struct info",
    "y = x if c else x": "a value of a graph is tested inside of an expression",
    "y = not c": "a value of a graph is tested inside of an expression",
    "y = c and c": "a value of a graph is tested inside of an expression",
    "y = R.nonsense(x)": "scripts have no R.nonsense",
    "y = R.nn.nonsense(x)": "scripts have no R.nn.nonsense",
    "n = T.int32()\n    n = T.int64()": "size n has dtype int64, expected int32",
    "y = cls.f(x)": "undefined variable cls",
    "@T.prim_func\n    def g(): T.evaluate(0)": "a function of loops stands inside of a f",
    "y = R.Tensor((4,), 'int8', 'cuda')\n    z = R.match_cast(x, y)": "the module has no device",
    "y = x.struct_info.__class__": "a script cannot use the attribute __class__",
    "y = R.public_names": "the text of a script cannot use te_sched.script.relax.public_names",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_are_rejected(statement: str) -> None:
    with pytest.raises(ScriptError, match=f"^{STATEMENTS[statement]}"):
        from_source(f"{HEAD}    {statement}\n")


DEFINITIONS = {
    "@R.function\ndef f(x):\n    return x": "parameter x has no struct info",
    "@R.function\ndef f(*x):\n    return x": "parameters of f have defaults or stars",
    "@R.function(inline=True)\ndef f():\n    return 1": "R.function has no option inline",
    "@R.function\ndef f(x: R.Tensor(('m + 1',))):\n    return x": "undefined variable m",
    "@R.function\ndef f(x: R.Tensor((2, 3), ndim=3)):\n    return x": "TensorStructInfo has a",
    "@R.function\ndef f(x: R.Tensor(foo=1)):\n    return x": (r"R\.Tensor has no parameter foo\n"),
    "@R.function(private=True)\ndef f():\n    R.func_attr({'global_symbol': 'f'})\n    return 1": (
        "function f is private and has the attribute global_symbol"
    ),
    "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Object):\n        return M.g(x)": (
        "the module has no function g"
    ),
}


@pytest.mark.parametrize("text", DEFINITIONS)
def test_definitions_are_rejected(text: str) -> None:
    with pytest.raises(ScriptError, match=f"^{DEFINITIONS[text]}"):
        from_source(text)


def test_graphs_are_checked_where_they_are_written() -> None:
    """Errors of the analysis of whole functions show the statement that is wrong."""
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
            z = R.call_tir(Module.double, (y, y), out_sinfo=R.Tensor((4,), "float32"))
            R.output(z)
        return z
"""
    with pytest.raises(ScriptError, match="double has 2 parameters, the call gives 3") as caught:
        from_source(text)
    assert caught.value.line == 13
    assert caught.value.why == "2 arguments, and 1 result by out_sinfo"
    assert from_source(text, check_well_formed=False)["main"].ret_struct_info.ndim == 1
    unchecked = text.replace("@R.function", "@R.function(check_well_formed=False)")
    assert from_source(unchecked)["main"].ret_struct_info.ndim == 1


FUNCTION = """
@I.ir_module
class Module:
    @R.function
    def first(x: R.Tensor((4,), "float32")):
        return x

"""


# Errors of whole functions, with what carets are below.
UNDER = {
    """    @R.function
    def main(x: R.Tensor((8, 16), "float32")) -> R.Tensor((4, 4), "float32"):
        return R.add(x, x)
""": ("the result of function main is", 'R.Tensor((4, 4), "float32")'),
    """    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor(("n",), "float32"):
        return x
""": ("undefined variable n", 'R.Tensor(("n",), "float32")'),
    """    @R.function
    def main(x: R.Tensor((4,), "float32")):
        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "int32"):
            return R.exp(y)
        return inner(x)
""": ("the result of function inner is", 'R.Tensor((4,), "int32")'),
    """    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"global_symbol": "other"})
        return x
""": ("function main has the global symbol 'other'", "def main(x: "),
    """    @T.prim_func
    def loops(A: T.Buffer((4,), "float32")):
        A[outer] = T.float32(1)
""": ("function loops is ill-formed", "def loops(A: "),
}


@pytest.mark.parametrize("function", UNDER)
def test_errors_of_functions_in_modules_are_at_the_function(function: str) -> None:
    fault, under = UNDER[function]
    with pytest.raises(ScriptError, match=fault) as caught:
        from_source(FUNCTION + function, {"outer": tir.Var("outer", "int32")})
    line, carets = caught.value.excerpt.splitlines()[1:3]
    assert line[carets.index("^") :].startswith(under)


HELPS = {
    "return R.add(image, 1.0)": 'R.const(1.0, "float32")',
    "return R.matmul(image, R.zeros((4, 3), 'float16'))": "R.astype(value, dtype)",
    "return R.relu(image)": "use R.nn.relu",
    "return R.nn.linear(image)": "use R.linear",
    "return R.linear(image)": "its parameters are data, weight",
    "return numpy.exp(image)": "use R.exp; ",
    "return len(image)": "use operators: dir(R)",
    "for i in range(3): image = R.exp(image)": "write a statement for each iteration",
    "while image: pass": "let a function of the module call itself",
    "image += image": "assign to a name",
    "return R.concatt(image)": "did you mean 'concat'",
    "return imag": "did you mean 'image'",
    "return Module.f(image)": "use one of main",
}


@pytest.mark.parametrize("statement", HELPS)
def test_helps(statement: str) -> None:
    text = f"""
@I.ir_module
class Module:
    @R.function
    def main(image: R.Tensor((4,), "float32")):
        {statement}
"""
    with pytest.raises(ScriptError) as caught:
        from_source(text, {"numpy": np})
    assert HELPS[statement] in caught.value.help
    assert caught.value.line == 6


# What carets are below if inference fails.
CALLS = {
    "y = R.matmul(x, w)": "R.matmul(x, w)",
    "y = R.exp(R.matmul(x, w))": "R.matmul(x, w)",
    "y = R.matmul(R.exp(x), w)": "R.matmul(R.exp(x), w)",
    "y = x @ w": "x @ w",
    "return R.matmul(x, w)": "R.matmul(x, w)",
    "y: R.Object = R.matmul(x, w)": "R.matmul(x, w)",
}


@pytest.mark.parametrize("statement", CALLS)
def test_errors_of_operators_are_at_the_call(statement: str) -> None:
    text = f"""
@R.function
def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((4, 16), "float32")):
    {statement}
    return x
"""
    with pytest.raises(ScriptError, match=r"summed sizes of relax\.matmul differ") as caught:
        from_source(text)
    line, carets = caught.value.excerpt.splitlines()[1:3]
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == CALLS[statement]
    assert caught.value.help == "transpose the second argument: R.permute_dims(w)"


def test_a_function_of_the_program_shows_the_line_that_raises() -> None:
    def shape_of(x: object) -> int:
        return len(x)  # type: ignore[arg-type]

    with pytest.raises(ScriptError, match=r"cannot evaluate shape_of\(x\)") as caught:

        @R.function
        def main(x: R.Tensor((8,), "float32")):
            return shape_of(x)

    assert "raised at" in caught.value.where


def test_a_graph_without_its_decorator() -> None:
    with pytest.raises(ScriptError, match="expected a type") as caught:
        from_source('@T.prim_func\ndef f(x: R.Tensor((4,), "float32")):\n    T.evaluate(0)')
    assert caught.value.help.startswith("decorate the function with @R.function")


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ('y = R.match_cast(x, R.Tensor(("k", 4), "float32"))', "R.match_cast("),
        ('y = R.call_tir("f", (x,), out_sinfo=R.Tensor(("k", 4), "float32"))', "R.call_tir("),
        ('y = R.call_tir("f", (x,), out_sinfo=[R.Tensor(("k", 4), "float32")])', "R.call_tir("),
        ('y: R.Tensor(("n + k", 4), "float32") = R.add(x, x)', 'R.Tensor(("n + k"'),
    ],
)
def test_undefined_sizes_are_shown_where_they_stand(statement: str, shown: str) -> None:
    text = f"@R.function\ndef f(x: R.Tensor(('n', 4), 'float32')):\n    {statement}\n    return x"
    with pytest.raises(ScriptError, match="undefined variable k") as caught:
        from_source(text)
    assert caught.value.help == "define it before this line: k = T.int64()"
    assert caught.value.line == 3
    assert caught.value.column == 5 + statement.index(shown)


def test_sizes_that_are_no_python_are_shown_where_they_stand() -> None:
    text = (
        "@R.function\ndef f(x: R.Tensor(('n',)), y: R.Tensor(('n +',), 'float32')):\n    return x"
    )
    with pytest.raises(ScriptError, match="invalid syntax") as caught:
        from_source(text)
    assert caught.value.line == 2
