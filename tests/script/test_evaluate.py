"""Expressions of scripts: of Python or of programs, in a limited time and memory."""

from __future__ import annotations

import enum
import re
import types

import numpy as np
import pytest

import te_sched
from te_sched.errors import DeclarationError, ScriptError
from te_sched.script import from_source
from te_sched.script import tir as T
from tests.script.wrong_scripts import IN_FUNCTION


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


HEADER = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n'


REFUSED = {
    # attributes
    "().__class__": "a script cannot use the attribute __class__",
    "(lambda: 0).__globals__": "a script cannot use the attribute __globals__",
    "[x for x in (lambda: 0).__code__]": "a script cannot use the attribute __code__",
    "(g for g in [0]).gi_frame": "cannot use the attribute gi_frame of a generator",
    '"{0.__class__}".format(1)': "cannot use the attribute format of a str",
    '"{a}".format_map({"a": 1})': "cannot use the attribute format_map of a str",
    '"%s" % (1,)': "a text formats a string by %",
    'f"{A.__class__}"': "a script cannot use the attribute __class__",
    "T.meta_var([1]).value": "cannot use the attribute value of a meta_var",
    "bool.mro()": "cannot use the attribute mro of the class bool",
    "T.CallEffectKind.mro()": "cannot use the attribute mro of the class CallEffectKind",
    '"a".ljust(10**9)': "cannot use the attribute ljust of a str",
    "[].append(1)": "cannot use the attribute append of a list",
    "T.comm_reducer(lambda x, y: x + y, [0]).identity[0].script": "cannot use the attribute script",
    # names and modules
    "T.os": r"scripts have no T\.os",
    'T.np.load("x")': r"scripts have no T\.np",
    "T.inspect": r"scripts have no T\.inspect",
    'T.replace(A, name="b")': r"scripts have no T\.replace",
    "T.macro(lambda: 0)": "the text of a script cannot use",
    "T.ScriptBuilder": r"scripts have no T\.ScriptBuilder",
    "I.decorate_module": r"scripts have no I\.decorate_module",
    'R.py_print("x")': r"scripts have no R\.py_print",
    "R.rewriter(1)": "the text of a script cannot use",
    "R.nn.sys": "scripts have no R.nn.sys",
    'tvm.script.parse("x", None)': "the text of a script cannot use",
    "tvm.tir.Schedule(1)": "the text of a script cannot use",
    "tvm.nd": "the text of a script cannot use",
    'getattr(T, "x")': "undefined variable getattr",
    'eval("1")': "undefined variable eval",
    # time and memory
    '"x" * 10**12': "a text computes 1000000000000 items",
    "10**9 * [0]": "a text computes 1000000000 items",
    "9**9**9": "a text computes an integer of .* bits",
    "2 << 10**12": "a text computes an integer of .* bits",
    "[(q := 3), [q := q * q for _ in range(60)]]": "a text computes an integer of .* bits",
    "round(1, -10**12)": "a rounded number of more than 400 digits",
    "list(range(10**9))": "a text iterates over a ForFrame",
    "[0 for i in range(10**9)]": "a text iterates over a ForFrame",
    "0.5 in range(10**12)": "a text iterates over a ForFrame",
    "[0 for i in range(10**4) for j in range(10**4)]": "a text takes more than .* steps",
    '[(q := "a"), [q := q + q for _ in range(60)]]': "a text takes more than .* steps",
    "[(q := [0]), [q := [q, q] for _ in range(60)], str(q)]": "a text takes more than .* steps",
    "[(q := A[0]), [q := q + q for _ in range(60)], q]": "a text takes more than .* steps",
    "{i * (2**61 - 1) for i in range(10**5)}": "a text takes more than .* steps",
    "set([i * (2**61 - 1) for i in range(10**5)])": "a text takes more than .* steps",
    "{i * (2**61 - 1): 0 for i in range(10**5)}": "a text takes more than .* steps",
    "sum([[0] * 1000] * 2000, [])": "a text takes more than .* steps",
    'f"{1:{10**9}}"': "a text computes text of the format '1000000000'",
    "(lambda f: f(f))(lambda f: f(f))": "read a script",
    "list(T.Buffer)": "a text iterates over a BufferType",
    "[*T.handle]": "a text iterates over a HandleType",
    'T.axis.remap("SS", T.Buffer)': "loop variables of T.axis.remap are T.Buffer",
    "{**A}": r"\*\* stands before a Buffer",
    # syntax
    "(yield)": "of kind Yield is not supported",
    "await x": "of kind Await is not supported",
    # data
    'T.block_attr({"x": lambda: 0})': "the value of an attribute is <function",
    'T.block_attr({"x": (i for i in [1])})': "the value of an attribute is a generator",
    'T.block_attr({"x": T})': "the value of an attribute is <te_sched",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_expressions_that_a_text_cannot_have(expression: str) -> None:
    text = f'{HEADER}    with T.block("b"):\n        A[0] = T.meta_var([{expression}])\n'
    with pytest.raises(DeclarationError, match=REFUSED[expression]):
        from_source(text)


TEXTS = {
    "a script is b": b"\x00\xff",
    "a script is None": None,
    "a script is bytearray": bytearray(b"x"),
    "null bytes": f"{HEADER}    A[0] = 1\0\n",
    "a character that is not one of Unicode": f"{HEADER}    A[0] = '\ud800'\n",
    "nested too deeply for Python's parser": f"{HEADER}    A[0] = {'-' * 100_000}1\n",
    "was never closed": '@T.prim_func\ndef f(A: "T.Buffer(("):\n    A[0] = 1\n',
    "undefined variable open": '@T.prim_func\ndef f(A: "open(1)"):\n    A[0] = 1\n',
    "one value, not several": f"{HEADER}    a, b = T.Buffer\n",
    r"range\(0, 1000000000\)": "@R.function\ndef f(x: R.Object):\n    a, b = range(10**9)\n",
    "takes more than .* steps": "\n    ".join(
        ['@R.function\ndef f(x: R.Tensor((4,), "float32")):', *["x = (x, x)"] * 40, "return x"]
    ),
}


@pytest.mark.parametrize("fault", TEXTS)
def test_texts_that_are_refused(fault: str) -> None:
    with pytest.raises(ScriptError, match=fault):
        from_source(TEXTS[fault])


def test_a_long_range_is_a_loop() -> None:
    func = from_source(f"{HEADER}    for i in range(10**9):\n        A[0] = T.float32(i)\n")
    assert "range(1000000000)" in func.script()


ACCEPTED = {
    "[i * j for i in range(3) for j in range(i) if i + j != 2]": [0, 2],
    "list(sorted({2, 1} | {i for i in [3]}))": [1, 2, 3],
    "{k: v + 1 for k, v in {'a': 1}.items()}": {"a": 2},
    "sum(i for i in (1, 2, 3))": 6,
    "[(lambda a, b=2, *c, d=3, **e: [a, b, *c, d, e['f']])(1, f=5)]": [[1, 2, 3, 5]],
    "f'{3 + 4:>3}|{1.5!r}'": "  7|1.5",
    "[(n := 3), [m := n + i for i in range(2)], m]": [3, [3, 4], 4],
    "[*enumerate('ab'), *zip('a', 'b'), *reversed([1])]": [[0, "a"], [1, "b"], ["a", "b"], 1],
    "any(i > 1 for i in range(3)) and not all([0, 1])": True,
    "[10, 20][True] if 1 < 2 < 3 else 0": 20,
    "'Ab'.lower().startswith('a')": True,
    "int(T.CallEffectKind.Pure)": 1,
}


@pytest.mark.parametrize("expression", ACCEPTED)
def test_expressions_that_a_text_can_have(expression: str) -> None:
    text = f'{HEADER}    T.func_attr({{"x": {expression}}})\n    A[0] = T.float32(0)\n'
    assert from_source(text).attrs["x"] == ACCEPTED[expression]


def test_values_by_name_have_their_public_attributes() -> None:
    config = types.SimpleNamespace(tile=4, module=types, _hidden=1)
    text = f"{HEADER}    A[c.tile] = {{}}\n"
    names = {"c": config, "np": np, "T": T}
    assert "A[4] = T.float32(2)" in from_source(text.format("np.float32(2)"), names).script()
    for expression, fault in (
        ("c._hidden", "cannot use the attribute _hidden"),
        ("c.module.new_class", "cannot use the attribute new_class of a module"),
        ("np.ctypeslib", "cannot use the attribute ctypeslib of a module"),
        ("T.inspect", r"scripts have no T\.inspect"),
    ):
        with pytest.raises(ScriptError, match=fault):
            from_source(text.format(expression), names)


def test_a_decorated_function_has_its_own_names_and_python() -> None:
    sizes = {"n": [4, 8]}

    @T.prim_func
    def f(A: T.Buffer((max(size for size in sizes["n"]),), "float32")) -> None:
        T.func_attr({"names": ["%s" % n for n in sizes], "size": "{}".format(len(sizes))})  # noqa: UP031, UP032
        A[next(i for i in iter(int, 1) if i == 0)] = T.float32(sum([i := 2, i]))

    assert f.attrs["names"] == ["n"]
    assert f.attrs["size"] == "1"
    assert "A[0] = T.float32(4)" in f.script()
    assert f.buffer_map[f.params[0]].shape[0].value == 8


def test_arrays_by_name_are_collections() -> None:
    values = np.arange(3, dtype="float32")
    attrs = "{'x': [float(v) for v in values], 'n': values.size}"
    text = f"{HEADER}    T.func_attr({attrs})\n    A[0] = 0.0\n"
    func = te_sched.script.from_source(text, {"values": values})
    assert (func.attrs["x"], func.attrs["n"]) == ([0.0, 1.0, 2.0], 3)
    with pytest.raises(ScriptError, match="cannot use the attribute tofile of an ndarray"):
        from_source(text.replace("values.size", "values.tofile('x')"), {"values": values})


def test_conditions_of_vectors_are_combined_lane_by_lane() -> None:
    func = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n'
        "    T.evaluate((A[0:4] > 0) and (A[4:8] > 0))\n"
        "    T.evaluate((A[0:4] > 0) or (A[4:8] > 0))\n"
    )
    ops = [one.value.op.name for one in func.body.seq]
    assert ops == ["tir.bitwise_and", "tir.bitwise_or"]
