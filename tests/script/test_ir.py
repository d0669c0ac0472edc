"""The words of scripts for modules."""

from __future__ import annotations

import pytest

from te_sched.errors import ScriptError
from te_sched.ir.structural import structural_difference
from te_sched.script import from_source


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
