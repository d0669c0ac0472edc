"""Options of script(), whose texts are TVM 0.19's."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.ir.paths import ObjectPath
from te_sched.ir.printer.style import Style, UnderlinedLine
from te_sched.script import from_source

FUNC = from_source(
    """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("x"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + T.float32(1)
"""
)


def lines(**options: object) -> list[str]:
    return FUNC.script(**options).splitlines()


def test_without_sugar() -> None:
    assert lines(syntax_sugar=False)[3:] == [
        "def f(A_handle: T.handle):",
        "    A = T.match_buffer(A_handle, (4, 4))",
        '    with T.block("root"):',
        "        T.reads()",
        "        T.writes()",
        "        for i in range(4):",
        "            for j in range(4):",
        '                with T.block("x"):',
        "                    vi = T.axis.spatial(4, i)",
        "                    vj = T.axis.spatial(4, j)",
        "                    T.reads(A[vi, vj])",
        "                    T.writes(A[vi, vj])",
        "                    A[vi, vj] = A[vi, vj] + T.float32(1)",
    ]


def test_prefixes_and_indentation() -> None:
    text = lines(tir_prefix="TT", indent_spaces=2)
    assert text[0] == "# from tvm.script import tir as TT"
    assert text[3] == 'def f(A: TT.Buffer((4, 4), "float32")):'
    assert text[4:6] == ['  # with T.block("root"):', "  for i, j in TT.grid(4, 4):"]


def test_types_that_are_not_printed() -> None:
    text = lines(int_dtype="int64", buffer_dtype="int8", float_dtype="float32")
    assert text[5] == "    for i, j in T.grid(T.int32(4), T.int32(4)):"
    assert text[-1].endswith("A[vi, vj] + 1.0")


def test_underlined_and_annotated() -> None:
    loop = FUNC.body.block.body
    text = lines(obj_to_underline=[loop.body.body], obj_to_annotate={loop: "the loops"})
    assert text[5] == "    # the loops"
    assert text[7:9] == ['        with T.block("x"):', "        ^^^^^^^^^^^^^^^^^^"]


def test_line_numbers_and_context() -> None:
    made = [f"x{n}" for n in range(10)]
    made[4] = UnderlinedLine("x4")
    assert Style(num_context_lines=2).finished(made) == [
        *("(... 2 lines skipped ...)", "x2", "x3", "x4", "^^", "x5", "x6"),
        "(... 3 lines skipped ...)",
    ]
    numbered = Style(print_line_numbers=True).finished([*"abcdefghi", "j"])
    assert numbered == [*(f" {n} {text}" for n, text in enumerate("abcdefghi", 1)), "10 j"]


def test_empty_lines_between_functions_are_not_counted() -> None:
    made = ["import", "", "class", "  f", "", "  g", "  h", "  i"]
    numbered = Style(print_line_numbers=True).finished(made)
    assert numbered == ["1 import", "2 ", "3 class", "4   f", "", "5   g", "6   h", "7   i"]
    made[5] = UnderlinedLine("  g")
    near = Style(num_context_lines=1).finished(made)
    assert near[:2] == ["(... 3 lines skipped ...)", "  f"]
    assert near[2:] == ["", "  g", "  ^", "  h", "  i"]


def test_uses_of_a_buffer_are_underlined() -> None:
    store = FUNC.body.block.body.body.body.block.body
    text = lines(obj_to_underline=[store.buffer])
    place = text.index("            A[vi, vj] = A[vi, vj] + T.float32(1)")
    assert text[place + 1] == "            ^           ^"


def test_comments_are_not_underlined() -> None:
    text = lines(obj_to_underline=[FUNC])
    place = text.index('    # with T.block("root"):')
    assert text[place + 1 : place + 3] == ["    for i, j in T.grid(4, 4):", "    " + "^" * 25]


def test_variables_of_an_expression() -> None:
    assert (tir.Var("i") + 1).script(verbose_expr=True) == "i = T.int32()\ni + 1"
    n, i = tir.Var("n"), tir.Var("i")
    whole = [tir.Range.from_min_extent(i, 2)]
    region = tir.BufferRegion(tir.decl_buffer((n,), name="A"), whole).script(verbose_expr=True)
    assert region.splitlines()[1:] == ["A = T.Buffer((n,))", "i = T.int32()", "A[i:i + 2]"]


def test_names_with_addresses() -> None:
    assert tir.Var("i").script(show_object_address=True, verbose_expr=True).startswith("i_0x")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"tir_prefx": "T"}, r"script\(\) has no option tir_prefx"),
        ({"tir_prefix": 3}, r"option tir_prefix of script\(\) is 3"),
        ({"tir_prefix": "2"}, "tir_prefix is '2', expected an identifier"),
    ],
)
def test_wrong_options(options: dict[str, object], fault: str) -> None:
    with pytest.raises(DeclarationError, match=fault):
        FUNC.script(**options)


def test_an_expression_is_underlined_where_it_stands() -> None:
    func = from_source(
        "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n + 1)\n    T.evaluate(n * n)\n"
    )
    shown = func.script(obj_to_underline=[func.params[0]], tir_prefix="TIR", indent_spaces=2)
    assert shown.splitlines()[3:] == [
        "def f(n: TIR.int32):",
        "  TIR.evaluate(n + 1)",
        "               ^",
        "  TIR.evaluate(n * n)",
        "               ^   ^",
    ]


def test_parts_are_found_by_their_paths() -> None:
    root = ObjectPath.root()
    value = root.attr("body").attr("block").attr("body").attr("body").attr("body")
    store = value.attr("block").attr("body")
    shown = lines(path_to_underline=[store.attr("value").attr("b")])
    assert shown[-1].strip() == "^^^^^^^^^^^^"
    assert shown[-2][len(shown[-1]) - 12 :] == "T.float32(1)"
    shown = lines(path_to_annotate={store: "a store"})
    assert shown[-1].endswith("T.float32(1)  # a store")
    shown = lines(path_to_underline=[root])
    assert shown[3].startswith("^^^^")
    assert sum("^" in line for line in shown) == len(shown[2:]) // 2
    with pytest.raises(DeclarationError, match=r"the program has nothing at <root>.body.seq\[3\]"):
        lines(path_to_underline=[root.attr("body").attr("seq").array_index(3)])
