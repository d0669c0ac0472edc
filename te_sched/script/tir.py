"""The names of TVMScript for functions of loops and blocks: `from te_sched.script import tir as T`.

A face: the words are those of `script.words`, the decorators those of `script.parser`.
"""

from __future__ import annotations

from typing import Any

from te_sched.script import words as _words
from te_sched.script.frames import PrimFuncFrame
from te_sched.script.parser import decorate_function as _decorate_function
from te_sched.script.parser import macro as macro

globals().update({name: one for name, one in vars(_words).items() if not name.startswith("_")})


def prim_func(func: Any = None, private: bool = False, check_well_formed: bool = True) -> Any:
    """A function of loops and blocks, written in Python: a decorator, or the frame of one.

    Parameters
    ----------
    private : leave out the attribute "global_symbol", by which other modules call it.
    check_well_formed : refuse variables that are not defined.

    >>> from te_sched.script.frames import ScriptBuilder
    >>> with ScriptBuilder() as builder, prim_func():
    ...     _words.func_name("f")
    ...     _words.evaluate(1)
    >>> print(builder.get())
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def f():
        T.evaluate(1)
    """
    if func is not None:
        return _decorate_function(func, private, check_well_formed)
    frame = PrimFuncFrame(private)
    frame.decorate = lambda function: _decorate_function(function, private, check_well_formed)
    return frame


prim_func.is_of_loops = True  # type: ignore[attr-defined]
