"""Functions with parameters replaced: by values, by expressions, by buffers of known shape.

Must not know passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, Subject, repr_of
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.expr import Buffer, Expr, ExprLike, Var
from te_sched.ir.stmt import LetStmt, PrimFunc, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import Substitute, replace, variables_of


class _Specialized(Substitute):
    """Replaces variables; operators are applied again, which folds constants."""

    def visit_Expr(self, node: Expr) -> Expr:
        new: Any = self.generic(node)
        build = ops.BUILDERS.get(type(node))
        result: Expr = new if new is node or build is None else build(new.a, new.b)
        return result


@walks_deeply("specialize a function", DeclarationError)
def specialize(func: PrimFunc, param_map: Mapping[Var, ExprLike | Buffer]) -> PrimFunc:
    """The function with some parameters replaced; `func` stays as it is.

    Parameters
    ----------
    param_map : for a parameter its value, a number or an expression; for the parameter of a buffer
        a buffer of the same dtype and rank, whose shape, strides and offset replace its symbols.

    Raises
    ------
    DeclarationError for variables that are not parameters, and for buffers that do not fit.

    >>> from te_sched.script import from_source
    >>> func = from_source('''
    ... @T.prim_func
    ... def double(a: T.handle, n: T.int32):
    ...     A = T.match_buffer(a, (n,))
    ...     for i in range(n):
    ...         A[i] = A[i] * 2.0
    ... ''')
    >>> print(func.specialize({func.params[1]: 16}))
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def double(A: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = A[i] * T.float32(2)
    """
    if not isinstance(param_map, Mapping):
        raise DeclarationError(
            f"specialize() got {repr_of(param_map)}, expected a dictionary",
            "",
            "give values by parameter: func.specialize({func.params[0]: 16})",
        )
    values: dict[Var, Expr] = {}
    for param, argument in param_map.items():
        if not any(param is other for other in func.params):
            raise DeclarationError(
                f"{repr_of(param)} is not a parameter of {func.__name__}", *_advice(func, param)
            )
        buffer = func.buffer_map.get(param)
        if buffer is None:
            values[param] = _value(param, argument)
        else:
            _match(buffer, argument, values)
    return _specialized(func, values) if values else func


def _advice(func: PrimFunc, wanted: object) -> tuple[str, str]:
    """Why a value is not a parameter, and what to give instead."""
    for number, param in enumerate(func.params):
        buffer = func.buffer_map.get(param)
        ends = () if buffer is None else (*buffer.shape, *buffer.strides, buffer.elem_offset)
        if buffer is not None and any(wanted is var for var in variables_of(*ends)):
            sizes = ", ".join("16" if size is wanted else str(size) for size in buffer.shape)
            comma = "," * (len(buffer.shape) == 1)
            return (
                f"it is a size of buffer {buffer.name}, which a buffer of a known shape determines",
                f"give that: func.specialize({{func.params[{number}]: tir.decl_buffer(({sizes}"
                f'{comma}), "{buffer.dtype}")}})',
            )
    return "", "give values by parameter: func.specialize({func.params[0]: 16})"


def _value(param: Var, argument: Any) -> Expr:
    value = ops.convert(argument)
    if value.dtype != param.dtype:
        value = ops.cast(param.dtype, value) if param.dtype != "handle" else value
    return value


def _match(buffer: Buffer, argument: object, values: dict[Var, Expr]) -> None:
    """Add the values of the symbols of a buffer that another buffer gives."""
    if not isinstance(argument, Buffer):
        raise _misfit(buffer, f"{repr_of(argument)} is not a buffer", "give tir.decl_buffer(shape)")
    if argument.dtype != buffer.dtype or len(argument.shape) != len(buffer.shape):
        raise _misfit(
            buffer,
            f"it has {len(argument.shape)} dimensions of {argument.dtype}",
            f"give {len(buffer.shape)} dimensions of {buffer.dtype}",
        )
    if buffer.scope() != argument.scope():
        raise _misfit(buffer, f"its scope is {argument.scope()}", f"give scope={buffer.scope()!r}")
    pairs = list(zip(buffer.shape, argument.shape, strict=True))
    if buffer.strides or argument.strides:
        if len(buffer.strides) != len(argument.strides):
            raise _misfit(buffer, "its strides are of another number", "give as many strides")
        pairs += zip(buffer.strides, argument.strides, strict=True)
    pairs.append((buffer.elem_offset, argument.elem_offset))
    for old, new in pairs:
        _match_one(buffer, old, new, values)
    if argument.data is not buffer.data:
        values.setdefault(buffer.data, argument.data)


def _match_one(buffer: Buffer, old: Expr, new: Expr, values: dict[Var, Expr]) -> None:
    if type(old) is Var and old not in values:
        if new is not old:
            values[old] = new if new.dtype == old.dtype else ops.cast(old.dtype, new)
        return
    expected = _Specialized(values).visit(old)
    if not structural_equal(expected, new) and type(expected) is type(new) is E.IntImm:
        raise _misfit(buffer, f"{old} is {expected} and not {new}", f"give {expected}")


def _misfit(buffer: Buffer, why: str, help: str) -> DeclarationError:
    fault = f"the buffer given for {buffer.name} does not fit"
    return DeclarationError(fault, why, help, Subject("buffer", buffer.name))


def _specialized(func: PrimFunc, values: dict[Var, Expr]) -> PrimFunc:
    lets = {var: value for var, value in values.items() if _is_pointer_expression(var, value)}
    mapper = _Specialized({var: value for var, value in values.items() if var not in lets})
    body = mapper.visit(func.body)
    for var, value in reversed(lets.items()):
        body = _bound(var, mapper.visit(value), body)
    buffers = {param: mapper.visit(buffer) for param, buffer in func.buffer_map.items()}
    params = tuple([param for param in func.params if param not in values])
    return replace(func, params=params, buffer_map=buffers, body=body)


def _bound(var: Var, value: Expr, body: Stmt) -> Stmt:
    """The body with a variable for a value, after the declarations that do not use it."""
    if isinstance(body, DeclBuffer) and body.buffer.data is not var:  # its sizes do not use it
        return replace(body, body=_bound(var, value, body.body))
    return LetStmt(var, value, body)


def _is_pointer_expression(var: Var, value: Expr) -> bool:
    """Whether a pointer gets a value that is not a variable; buffers need one."""
    return var.dtype == "handle" and type(value) is not Var


PrimFunc.specialize = specialize  # type: ignore[method-assign, assignment]
