"""The decorators of functions: `@T.prim_func` and `@R.function`, and their frames.

Must not know what the statements of a function become: `script.parser` reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import PrimFunc
from te_sched.script.frames import PrimFuncFrame
from te_sched.script.graph_frames import GraphFunctionFrame
from te_sched.script.parser import decorate_function


@overload
def prim_func(
    func: Callable[..., Any], private: bool = False, check_well_formed: bool = True
) -> PrimFunc: ...


@overload
def prim_func(
    func: None = None, private: bool = False, check_well_formed: bool = True
) -> PrimFuncFrame: ...


def prim_func(func: Any = None, private: bool = False, check_well_formed: bool = True) -> Any:
    """A function of loops and blocks, written in Python: a decorator, or the frame of one.

    Parameters
    ----------
    private : leave out the attribute "global_symbol", by which other modules call it.
    check_well_formed : refuse variables that are not defined.

    >>> from te_sched.script import tir as T
    >>> from te_sched.script.frames import ScriptBuilder
    >>> with ScriptBuilder() as builder, prim_func():
    ...     T.func_name("f")
    ...     T.evaluate(1)
    >>> print(builder.get())
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def f():
        T.evaluate(1)
    """
    if func is not None:
        return decorate_function(func, check_well_formed)
    frame = PrimFuncFrame(private)
    frame.decorate = lambda function: decorate_function(function, check_well_formed)
    return frame


prim_func.is_of_loops = True  # type: ignore[attr-defined]


@overload
def function(
    func: Callable[..., Any],
    pure: bool = True,
    private: bool = False,
    check_well_formed: bool = True,
) -> GraphFunction: ...


@overload
def function(
    func: None = None, pure: bool = True, private: bool = False, check_well_formed: bool = True
) -> GraphFunctionFrame: ...


def function(
    func: Any = None, pure: bool = True, private: bool = False, check_well_formed: bool = True
) -> Any:
    """A function of a graph, written in Python: a decorator, or the frame of one.

    Parameters
    ----------
    pure : whether it has no effects.
    private : leave out the attribute "global_symbol", by which other modules call it.
    check_well_formed : refuse variables that are not defined.

    >>> from te_sched import relax
    >>> from te_sched.script import relax as R
    >>> from te_sched.script.frames import ScriptBuilder
    >>> with ScriptBuilder() as builder, function():
    ...     R.func_name("f")
    ...     x = R.arg("x", relax.TensorStructInfo([4], "float32"))
    ...     R.func_ret_value(R.emit(relax.op.add(x, x)))
    >>> print(builder.get())
    # from tvm.script import relax as R
    <BLANKLINE>
    @R.function
    def f(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        gv: R.Tensor((4,), dtype="float32") = R.add(x, x)
        return gv
    """
    if func is not None:
        return decorate_function(func, check_well_formed)
    frame = GraphFunctionFrame(pure, private)
    frame.decorate = lambda function: decorate_function(function, check_well_formed)
    return frame


function.is_of_graphs = True  # type: ignore[attr-defined]
