"""Scopes of names, assignments and the dispatch of statements."""

from __future__ import annotations

import re

import pytest

from te_sched.errors import ScriptError
from te_sched.script import from_source
from tests.script.wrong_scripts import IN_FUNCTION, check, failed

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


@pytest.mark.parametrize(("code", "fault", "under"), STATEMENTS)
def test_statements(code: str, fault: str, under: str | None) -> None:
    check(f"{IN_FUNCTION}    {code}\n", fault, under)


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


def test_several_names_take_several_values() -> None:
    head = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n"
    text = f"{head}    first, *rest = [1, 2, 3]\n    A[first] = rest[1]\n"
    assert "A[first] = 3" in from_source(text).script()
    with pytest.raises(ScriptError, match="is one value, not several"):
        from_source(text.replace("[1, 2, 3]", "A[0]"))
