"""The pass `RunCodegen`: libraries compile their functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.errors import GraphError, kind_of
from te_sched.ir.graph import ExternFunc, GraphCall, GraphExpr, GraphFunction, Tuple
from te_sched.ir.op import Op
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.visitor import replace
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.struct_info import derive_call
from te_sched.relax.transform.library_functions import CODEGEN
from te_sched.runtime.registry import get_global_func, register_func, registered_names
from te_sched.signatures import is_sequence


class RunCodegen(ModulePass):
    """The pass that has libraries compile the functions with the attribute "Codegen", and calls
    the results.

    A library is a registered function "relax.ext.NAME". It gets a list of its functions, its
    options and an empty mapping, and returns as many functions of Python, which get the arguments
    and the arrays for the results. They are registered under the names of the functions, with a
    number behind names that are taken: other modules may call what has them.

    Parameters
    ----------
    target_options : options by library.
    entry_functions : accepted for compatibility with TVM: functions that are not called stay.

    >>> from te_sched import register_func, relax
    >>> from te_sched.relax.dpl import is_op, wildcard
    >>> def compiled(functions, options, constants):
    ...     def negate(x, out):
    ...         out[:] = -x.numpy()
    ...     return [negate for _ in functions]
    >>> register_func("relax.ext.doclib", compiled, override=True) is compiled
    True
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     with builder.dataflow():
    ...         y = builder.emit_output(relax.op.negative(x))
    ...     gv = builder.emit_func_output(y)
    >>> pattern = ("doclib.negative", is_op("relax.negative")(wildcard()))
    >>> partition = relax.transform.FuseOpsByPattern([pattern], annotate_codegen=True)
    >>> module = RunCodegen()(partition(builder.get()))
    >>> module["main"].body.blocks[0].bindings[0].value.op
    'relax.call_dps_packed'
    """

    def __init__(
        self,
        target_options: Mapping[str, Mapping[str, object]] | None = None,
        entry_functions: Sequence[str] | None = None,
    ) -> None:
        del entry_functions
        self.target_options = dict(target_options or {})

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        libraries: dict[str, list[str]] = {}
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction) and CODEGEN in func.attrs:
                libraries.setdefault(str(func.attrs[CODEGEN]), []).append(str(name))
        symbols: dict[str, str] = {}
        for library, names in libraries.items():
            functions = [mod[name] for name in names]
            kernels = _compile(library, functions, self.target_options.get(library, {}))
            symbols |= dict(zip(names, kernels, strict=True))
        return _calling_libraries(mod, symbols) if symbols else mod


def _compile(
    library: str, functions: list[GraphFunction], options: Mapping[str, object]
) -> list[str]:
    """Have a library compile functions, and register what it returns; under which names."""
    compiler: Callable[..., Any] | None = get_global_func(f"relax.ext.{library}", True)
    symbols = [
        str(function.attrs.get("global_symbol", function.__name__)) for function in functions
    ]
    if compiler is None:
        raise GraphError(
            f"library {library} is not registered",
            f"it should compile {', '.join(symbols)}",
            f'register it: te_sched.register_func("relax.ext.{library}", compile_functions)',
        )
    kernels = compiler(functions, dict(options), {})
    is_complete = (
        is_sequence(kernels) and len(kernels) == len(functions) and all(map(callable, kernels))
    )
    if not is_complete:
        raise GraphError(
            f"library {library} returns {kind_of(kernels)} for {len(functions)} functions",
            f"it was asked to compile {', '.join(symbols)}",
            "return a list with a function of Python for each",
        )
    return [registered(*pair) for pair in zip(symbols, kernels, strict=True)]


def registered(symbol: str, function: Callable[..., object]) -> str:
    """The name under which a function was registered, which no other function has."""
    name = UniqueNames(tuple(registered_names())).take(symbol)
    register_func(name, function)
    return name


def _calling_libraries(mod: IRModule, symbols: Mapping[str, str]) -> IRModule:
    calls = _LibraryCalls(mod, symbols)
    kept: dict[str, object] = {
        str(name): calls.visit_expr(func) if isinstance(func, GraphFunction) else func
        for name, func in mod.functions.items()
        if str(name) not in symbols
    }
    return replace(mod, functions=kept)


class _LibraryCalls(PyExprMutator):
    """Calls what libraries have compiled."""

    def __init__(self, mod: IRModule, symbols: Mapping[str, str]) -> None:
        super().__init__()
        self._mod, self._symbols = mod, symbols

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, by `call_dps_packed` if a library has compiled the function."""
        call = self.visit_expr_post_order(op)
        callee = call.op
        if not isinstance(callee, GlobalVar) or str(callee) not in self._symbols:
            return call
        info = derive_call(call, self._mod[callee].struct_info, self.builder_)
        args = (ExternFunc(self._symbols[str(callee)]), Tuple(call.args))
        return GraphCall(Op.get("relax.call_dps_packed"), args, None, (info,))
