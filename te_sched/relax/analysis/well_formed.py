"""Whether graphs are well formed: what every pass may rely on.

variables       are bound once, before they are used; DataflowVars in dataflow blocks only
normal form     arguments of calls, conditions and results are variables, constants, ...
sizes           their variables are defined before they are used, in one function each
names           functions that are called exist; symbols are the names of functions
effects         pure functions and dataflow blocks call nothing that has effects
struct infos    are known, and agree with what is inferred
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable

from te_sched.errors import GraphError, counted
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    Binding,
    DataflowBlock,
    DataflowVar,
    GraphCall,
    GraphFunction,
    GraphValue,
    GraphVar,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    StructInfo,
    TupleStructInfo,
)
from te_sched.ir.visitor import substitute, walk
from te_sched.ir.written_parameters import written_parameters
from te_sched.relax.analysis.purity import is_impure_call
from te_sched.relax.analysis.symbolic import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)
from te_sched.relax.block_builder import LEAVES, BlockBuilder
from te_sched.relax.core.sizes import bind_sizes, own_variables
from te_sched.relax.operators.registry import operator_of
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check


def well_formed(obj: IRModule | GraphFunction, check_struct_info: bool = True) -> bool:
    """Whether a module or a function is well formed; what is wrong goes to the standard error.

    Parameters
    ----------
    obj : a module; in a function alone, the names of other functions are not checked.
    check_struct_info : whether to check struct infos, too.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> well_formed(relax.Function([x], x)), well_formed(relax.Function([], x))
    (True, False)
    """
    try:
        check_well_formed(obj, check_struct_info)
    except GraphError as error:
        print(f"Warning: This IR is not well formed: {error}", file=sys.stderr)
        return False
    return True


def check_well_formed(obj: IRModule | GraphFunction, check_struct_info: bool = True) -> None:
    """Raise a GraphError if a module or a function is not well formed."""
    fault = first_fault(obj, check_struct_info)
    if fault is not None:
        raise fault[0]


def first_fault(
    obj: IRModule | GraphFunction, check_struct_info: bool = True
) -> tuple[GraphError, GraphVar | GraphFunction | None] | None:
    """The first error of a module or a function, with the variable in whose binding or declaration
    it is, or the function; None if it is well formed.
    """
    checker = _Checker(obj if isinstance(obj, IRModule) else None, check_struct_info)
    try:
        if isinstance(obj, IRModule):
            _check_module(checker, obj)
        else:
            checker.function(obj, str(obj.attrs.get("global_symbol", "main")))
    except GraphError as error:
        return error, checker.current
    return None


def _check_module(checker: _Checker, obj: IRModule) -> None:
    for name, func in obj.functions.items():
        checker.current = func if isinstance(func, GraphFunction) else None
        symbol = func.attrs.get("global_symbol")
        if symbol is not None and str(symbol) != name:
            raise _malformed(
                f"function {name} has the global symbol {str(symbol)!r}",
                "a function can be called from outside by its name in the module",
                "use relax.transform.NormalizeGlobalVar()",
            )
        if isinstance(func, GraphFunction):
            checker.function(func, name)
        checker.current = None


def _malformed(fault: str, why: str = "", help: str = "") -> GraphError:
    return GraphError(fault, why, help or "use relax.transform.Normalize() or correct the graph")


def _missing(name: GlobalVar, module: IRModule) -> GraphError:
    return _malformed(
        f"function {name} is not in the module",
        f"it has {', '.join(module.functions)}",
        "add it: builder.add_func(func, name); a mutator adds functions to self.builder_.get()",
    )


class _Checker:
    """Checks functions one after the other."""

    def __init__(self, module: IRModule | None, checks_infos: bool) -> None:
        self._module, self._checks_infos = module, checks_infos
        self._builder = BlockBuilder(module)
        self._bound: set[GraphVar] = set()  # all that were bound
        self._visible: set[GraphVar] = set()
        self._sizes: set[Var] = set()  # those that have a value here
        self._owners: dict[Var, GraphFunction] = {}  # the function in which a size is defined
        self._outermost: GraphFunction | None = None
        self._is_dataflow = False
        self._is_pure = True
        # The variable whose binding is checked, or the function.
        self.current: GraphVar | GraphFunction | None = None

    # Functions

    def function(self, func: GraphFunction, name: str) -> None:
        """Check a function."""
        before = (self._visible, self._sizes, self._is_dataflow, self._is_pure, self._outermost)
        outer, self.current = self.current, func
        self._visible, self._sizes = set(self._visible), set(self._sizes)
        self._outermost = self._outermost or func
        self._is_dataflow = False
        forced = bool(func.attrs.get("relax.force_pure", False))
        if forced and not func.is_pure:
            raise _malformed(
                f"function {name} has the attribute relax.force_pure, but is not pure",
                "the attribute says that its effects do not count",
                "declare it with is_pure=True",
            )
        self._is_pure = func.is_pure and not forced
        self._parameters(func)
        if func.body is not None:
            if not isinstance(func.body, SeqExpr):
                raise _malformed(f"the body of function {name} is not a sequence of blocks")
            self._sequence(func.body)
        self._result(func, name)
        self._visible, self._sizes, self._is_dataflow, self._is_pure, self._outermost = before
        self.current = outer

    def _parameters(self, func: GraphFunction) -> None:
        for param in func.params:
            self.current = param
            if isinstance(param, DataflowVar):
                raise _malformed(f"parameter {param.name_hint} is a DataflowVar")
            if param.struct_info_ is None:
                raise _malformed(f"parameter {param.name_hint} has no struct info")
            self._define(param)
            self._define_sizes(param.struct_info_)
        for param in func.params:
            self.current = param
            self._info(param.struct_info_, f"parameter {param.name_hint}")
        self.current = func

    def _result(self, func: GraphFunction, name: str) -> None:
        ret = func.ret_struct_info
        if ret is None:
            raise _malformed(f"the struct info of the result of function {name} is not known")
        if not self._checks_infos:
            return
        if func.body is not None:
            self._agree(ret, func.body.struct_info_, f"the result of function {name}")
        param_vars = {
            var
            for param in func.params
            if not isinstance(param.struct_info_, FuncStructInfo)
            for var in tir_vars_in_struct_info(param.struct_info)
        }
        outer = set(self._owners) if func is not self._outermost else set()
        self._require(own_variables(ret), param_vars | outer, f"the result of function {name}")

    # Variables and sizes

    def _define(self, var: GraphVar) -> None:
        if var in self._bound:
            raise _malformed(f"variable {var.name_hint} is bound more than once")
        self._bound.add(var)
        self._visible.add(var)

    def _define_sizes(self, info: StructInfo) -> None:
        if isinstance(info, FuncStructInfo):
            return
        for size in definable_tir_vars_in_struct_info(info):
            owner = self._owners.setdefault(size, self._outermost)  # type: ignore[arg-type]
            if owner is not self._outermost:
                raise _malformed(
                    f"variable {size} of sizes is defined in two functions",
                    "a function has variables of its own",
                    'make another one: tir.Var(name, "int64")',
                )
            self._sizes.add(size)

    def _require(self, used: Iterable[Var], scope_vars: Collection[Var], where: str) -> None:
        for size in used:
            if size not in scope_vars:
                raise _malformed(
                    f"{where} has size {size}, which is not defined there",
                    "parameters and casts (match_cast) define variables of sizes",
                    "define it before it is used",
                )

    def _info(self, info: StructInfo | None, where: str) -> None:
        """Check a struct info of a value."""
        if info is None:
            if self._checks_infos:
                raise _malformed(f"the struct info of {where} is not known")
            return
        self._require(own_variables(info), self._sizes, where)
        for part in walk(info):
            if isinstance(part, GraphVar):
                self._use(part)

    def _use(self, var: GraphVar) -> None:
        if var not in self._visible:
            raise _malformed(f"variable {var.name_hint} is used where it is not defined")

    # Sequences

    def _sequence(self, seq: SeqExpr) -> None:
        inside: set[GraphVar] = set()
        around = self.current
        for block in seq.blocks:
            is_dataflow = isinstance(block, DataflowBlock)
            outer, self._is_dataflow = self._is_dataflow, is_dataflow
            for binding in block.bindings:
                self._binding(binding)
            self._is_dataflow = outer
            inside |= {
                binding.var for binding in block.bindings if isinstance(binding.var, DataflowVar)
            }
            self._visible -= inside
        self.current = around
        self._leaf(seq.body, "the result of a sequence")
        self._known(seq)

    def _binding(self, binding: Binding) -> None:
        var, value = binding.var, binding.value
        self.current = var
        if isinstance(var, DataflowVar) and not self._is_dataflow:
            raise _malformed(f"DataflowVar {var.name_hint} is bound outside of a dataflow block")
        if isinstance(value, GraphFunction):
            self._define(var)  # it may call itself
            self.function(value, var.name_hint)
        else:
            self._value(value)
            if isinstance(binding, MatchCast):
                self._define_sizes(binding.struct_info)
                self._info(binding.struct_info, f"the cast of {var.name_hint}")
            self._define(var)
        self._info(var.struct_info_, f"variable {var.name_hint}")
        if self._checks_infos and not isinstance(binding, MatchCast):
            self._agree(var.struct_info_, value.struct_info_, f"variable {var.name_hint}")

    def _agree(
        self, declared: StructInfo | None, value_info: StructInfo | None, where: str
    ) -> None:
        """Check that a declared struct info does not contradict what is known of the value. R.Tuple
        without fields stands for any tuple.
        """
        if declared is None or value_info is None:
            return
        is_open = isinstance(declared, TupleStructInfo) and not declared.fields
        if is_open and isinstance(value_info, TupleStructInfo):
            return
        if struct_info_base_check(declared, value_info) is BaseCheckResult.FAIL_L0:
            raise _malformed(
                f"{where} is {value_info}, declared as {declared}",
                "what is declared contradicts the value",
                "declare a wider struct info, or convert the value",
            )

    # Expressions

    def _value(self, value: GraphValue) -> None:
        """Check a value that is bound to a variable."""
        if isinstance(value, SeqExpr):
            raise _malformed(f"a sequence of blocks is a value: {value}")
        if isinstance(value, PrimFunc):
            raise _malformed("a PrimFunc is a value", "it has no name", "add it to the module")
        if isinstance(value, GraphCall):
            self._call(value)
        elif isinstance(value, If):
            self._branches(value)
        elif isinstance(value, Tuple):
            for field in value.fields:
                self._leaf(field, "an element of a tuple")
        elif isinstance(value, TupleGetItem):
            self._leaf(value.tuple_value, "a tuple of which an element is taken")
        else:
            self._leaf(value, "a value")
        self._known(value)

    def _known(self, value: GraphValue) -> None:
        if self._checks_infos:
            self._info(getattr(value, "struct_info_", None), f"{value}")

    def _leaf(self, value: GraphValue, what: str) -> None:
        if isinstance(value, GraphVar):
            self._use(value)
        elif isinstance(value, GlobalVar):
            self._global(value)
        elif isinstance(value, Tuple):
            for field in value.fields:
                self._leaf(field, what)
        elif not isinstance(value, LEAVES) or isinstance(value, PrimFunc):
            raise _malformed(f"{what} is not a variable or constant: {value}")
        elif not isinstance(value, Op):
            used = [part for part in walk(value) if type(part) is Var]
            self._require(used, self._sizes, what)

    def _global(self, name: GlobalVar) -> None:
        if self._module is not None and name not in self._module.functions:
            raise _missing(name, self._module)

    def _branches(self, value: If) -> None:
        if self._is_dataflow:
            raise _malformed("a dataflow block has a branch")
        self._leaf(value.cond, "a condition")
        for branch in (value.true_branch, value.false_branch):
            visible, sizes = set(self._visible), set(self._sizes)
            if not isinstance(branch, SeqExpr):
                raise _malformed("a branch is not a sequence of blocks")
            self._sequence(branch)
            self._visible, self._sizes = visible, sizes

    def _call(self, call: GraphCall) -> None:
        if isinstance(call.op, GraphFunction):
            raise _malformed(f"a function is called where it is defined: {call}")
        if not isinstance(call.op, Op):
            self._leaf(call.op, "a called function")
        for arg in call.args:
            self._leaf(arg, f"an argument of {call.op}")
        for info in call.sinfo_args:
            self._info(info, f"the struct info that {call.op} is given")
        if is_impure_call(call) and (self._is_pure or self._is_dataflow):
            context = "a dataflow block" if self._is_dataflow else "a pure function"
            raise _malformed(
                f"{context} has a call with effects: {call}",
                "",
                "declare the function with pure=False, and move the call out of dataflow blocks",
            )
        if self._checks_infos:
            self._check_call(call)

    def _check_call(self, call: GraphCall) -> None:
        if isinstance(call.op, Op):
            inferred = operator_of(call.op).infer(call, self._builder)
            self._agree(call.struct_info_, inferred, f"{call}")
        if str(call.op) in _CALLS_OF_FUNCTIONS and self._module is not None:
            func = called_prim_func(call, self._module)
            if func is not None:
                check_prim_func_call(call, func.struct_info)
                check_written_inputs(call, func)


_CALLS_OF_FUNCTIONS = (
    *("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad"),
    "relax.call_dps_packed",
)


def _callee(call: GraphCall) -> object:
    return getattr(call.args[0], "global_symbol", call.args[0])


def called_prim_func(call: GraphCall, module: IRModule) -> PrimFunc | None:
    """The function of blocks that a `call_tir` or its like calls, if it is in the module."""
    name = _callee(call)
    func = module.functions.get(name) if isinstance(name, str) else None
    return func if isinstance(func, PrimFunc) else None


def check_written_inputs(call: GraphCall, func: PrimFunc) -> None:
    """Raise a GraphError if a function writes an input whose place no result takes."""
    if not isinstance(call.args[1], Tuple):
        return
    count = len(call.args[1].fields)
    results = call.attrs.inplace_indices if str(call.op) == "relax.call_tir_inplace" else ()
    written = written_parameters(func)
    for index, param in enumerate(func.params[:count]):
        if param in written and index not in [int(result) for result in results]:
            name = func.buffer_map[param].name
            raise _malformed(
                f"{_callee(call)} writes {name}, which {call.op} gives it as an input",
                f"{call.args[1].fields[index]} has other readers, which expect its value",
                f"declare that a result takes its place: relax.op.call_tir_inplace(..., "
                f"inplace_indices=[{index}], ...), or write a copy",
            )


def check_prim_func_call(call: GraphCall, info: FuncStructInfo) -> None:
    """Raise a GraphError if the arguments and results of a `call_tir` do not fit the PrimFunc."""
    name, arguments = call.args[0], call.args[1]
    arg_infos = (
        [arg.struct_info for arg in arguments.fields] if isinstance(arguments, Tuple) else None
    )
    if arg_infos is None or info.params is None:
        return
    results = list(call.sinfo_args)
    if len(results) == 1 and isinstance(results[0], TupleStructInfo):
        results = list(results[0].fields)
    first = len(arg_infos)
    for index, result in zip(_inplace(call, len(results)), results, strict=True):
        if index == -1:
            arg_infos.append(result)
        elif struct_info_base_check(arg_infos[index], result) is BaseCheckResult.FAIL_L0:
            raise _malformed(f"{name} writes {result} in place of {arg_infos[index]}")
    written = range(first, len(arg_infos))
    if len(call.args) > 2 and isinstance(call.args[2], ShapeExpr):
        arg_infos += [PrimStructInfo(value=size) for size in call.args[2].values]
    if len(arg_infos) != len(info.params):
        raise _malformed(
            f"{name} has {len(info.params)} parameters, the call gives {len(arg_infos)}",
            f"{counted(len(arg_infos) - len(written), 'argument')}, and "
            f"{counted(len(written), 'result')} by out_sinfo",
            "give an argument for each input, and out_sinfo for each output, as a list if there "
            "are several",
        )
    values: dict[Var, Expr] = {}
    for param, arg_info in zip(info.params, arg_infos, strict=True):
        bind_sizes(param, arg_info, values)
    for index, (param, arg_info) in enumerate(zip(info.params, arg_infos, strict=True)):
        expected = substitute(param, values)
        if struct_info_base_check(expected, arg_info) is BaseCheckResult.FAIL_L0:
            is_result = index in written
            raise _malformed(
                f"{name} is called with {arg_info}, expected {expected}",
                f"that is its parameter {index}{', a result' if is_result else ''}",
                "correct out_sinfo" if is_result else "pass a value of this struct info",
            )


def _inplace(call: GraphCall, count: int) -> list[int]:
    """For each result the argument in whose place it is written, or -1."""
    if str(call.op) != "relax.call_tir_inplace":
        return [-1] * count
    return [int(index) for index in call.attrs.inplace_indices]


def check_calls(module: IRModule) -> None:
    """Raise a GraphError if a call of a function of the module does not fit it, or if there is no
    such function.

    Kernels of static graphs are called without checks of shapes.
    """
    graphs = [func for func in module.functions.values() if isinstance(func, GraphFunction)]
    for call in (node for graph in graphs for node in walk(graph) if isinstance(node, GraphCall)):
        if str(call.op) not in _CALLS_OF_FUNCTIONS:
            if isinstance(call.op, GlobalVar) and call.op not in module.functions:
                raise _missing(call.op, module)
            continue
        func = called_prim_func(call, module)
        if func is not None:
            check_prim_func_call(call, func.struct_info)
            check_written_inputs(call, func)
