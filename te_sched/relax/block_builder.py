"""`relax.BlockBuilder`: graphs are written one binding at a time, and normalized on the way.

    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.exp(x))
            out = builder.emit_output(y)
        builder.emit_func_output(out)
    module = builder.get()

Normal form: the arguments of a call are variables, constants and tuples of them, everything else is
bound to a variable; each expression has its struct info. Functions that are added once more, with
the same structure, are one function. Must not know operators, but for calling functions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial, wraps
from operator import is_, is_not
from typing import Any, ParamSpec, TypeVar, overload

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import GraphError, GraphTypeError, SourceLocation, kind_of, repr_of
from te_sched.ir.expr import Expr, ExprLike, IntImm, Var
from te_sched.ir.graph import (
    INFERENCES,
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphString,
    GraphTerm,
    GraphValue,
    GraphVar,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
    as_expr,
    as_struct_info,
    joined_blocks,
    update_struct_info,
)
from te_sched.ir.op import Op
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.source_lines import MATCH_CAST, SourceLines
from te_sched.ir.stmt import Attributes, BaseFunc, GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import (
    GraphExprLike,
    ObjectStructInfo,
    ShapeExpr,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    erase_unknown,
    erase_variables,
)
from te_sched.ir.structural import structural_equal
from te_sched.ir.structural_hash import structural_hash
from te_sched.ir.visitor import statements, walk
from te_sched.public_members import PublicClass, PublicObject
from te_sched.relax.core.sizes import own_variables, tensor_sizes, variables_in
from te_sched.relax.emit_te import EqualCalls, call_te
from te_sched.relax.operators.registry import OPERATORS, operator_of
from te_sched.relax.size_relations import Kind, SizeRelations
from te_sched.relax.struct_info import derive_call, struct_info_lca
from te_sched.signatures import checked_methods

_ATOMS = (Constant, ShapeExpr, PrimValue, GraphString, DataTypeImm, ExternFunc, Op)
LEAVES = (GraphVar, GlobalVar, *_ATOMS)
_KINDS_OF_ATOMS = frozenset(_ATOMS)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Term = TypeVar("_Term", bound=GraphTerm)
_STATE = threading.local()  # .builders: those with an open function in this thread


def _all_or_nothing(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """A method that writes bindings to the open block: none of them with an error, and also those
    of expressions that are nested more deeply than Python's calls."""

    @walks_deeply("write an expression of a graph", GraphError)
    @wraps(method)
    def write(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        builder: Any = args[0]
        with _Undo(builder._blocks):
            return method(*args, **kwargs)

    return write


class _Undo:
    """Removes, after an error, what was added to the open block inside of a `with`."""

    __slots__ = ("_block", "_count")

    def __init__(self, blocks: list[_OpenBlock]) -> None:
        self._block = block = blocks[-1] if blocks else None
        self._count = (0, 0) if block is None else (len(block.bindings), len(block.arguments))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._block is not None:
            self._block.cut(*self._count)


@checked_methods(GraphTypeError)
class BlockBuilder(PublicClass, PublicObject):
    """Writes functions of graphs, and normalizes expressions.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit(relax.op.exp(relax.op.exp(x)))
    ...     name = builder.emit_func_output(gv)
    >>> [one.var.name_hint for one in builder.get()["main"].body.blocks[0].bindings]
    ['gv', 'gv1']
    """

    _internal_members = (
        *("analyzer", "begin_inner_scope", "call_te", "calls", "normalize_argument", "relations"),
        *("require", "settings", "subroutine_scope", "undone_by_errors"),
    )

    def __init__(self, mod: IRModule | None = None) -> None:
        self.settings = AS_TVM  # of the simplifier of tensor expressions
        self._module = IRModule({}) if mod is None else mod.clone()
        self._names = UniqueNames(separator="")
        self._globals = UniqueNames(separator="")
        for name in self._module.functions:
            self._globals.take(str(name))
        self._alike: dict[object, list[_Added]] = {}  # functions by what a glance shows of them
        self._unseen = [GlobalVar(name) for name in self._module.functions]
        self._infos: dict[
            str, tuple[BaseFunc, StructInfo | None]
        ] = {}  # what is known of functions
        self._blocks: list[_OpenBlock] = []
        self._bindings: dict[GraphVar, GraphValue] = {}
        # What is in normal form: expressions, and blocks with the variables of sizes they define.
        self._normal: set[object] = set()
        self._normal_blocks: dict[BindingBlock, set[Var]] = {}
        self._scopes: list[set[Var] | None] = []
        self._function: _OpenFunction | None = None
        self.relations: SizeRelations | None = None  # collects those that are not proved
        self.calls: EqualCalls | None = None  # of functions of tensor expressions, in a pass
        # Of the user's model, where the bindings that are emitted come from it.
        self.location = SourceLocation()

    @cached_property
    def analyzer(self) -> Analyzer:
        """What is known of sizes."""
        return Analyzer()

    # Functions

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder of which a function is open in this thread."""
        builders: list[BlockBuilder] = getattr(_STATE, "builders", [])
        return builders[-1] if builders else None

    @contextmanager
    def function(
        self,
        name: Any,  # perhaps the parameters, as programs of 2022 write
        params: Any = None,
        attrs: Attributes | None = None,
        private: bool = False,
        pure: bool = True,
    ) -> Iterator[GlobalVar]:
        """Open a function, whose name is given; `emit_func_output` closes it, and continues the one
        around it.

        Parameters
        ----------
        params : its variables; they may be given at the end instead.
        attrs : its attributes.
        private : whether it cannot be called by name from outside of the module.
        pure : whether it has no effects.
        """
        if isinstance(params, str):  # as programs of 2022 write: the parameters first
            name, params = params, name
        attributes = dict(attrs or {})
        if not private:
            attributes.setdefault("global_symbol", name)
        opened = _OpenFunction(self._reserved(name), None, attributes, pure)
        if params is not None:
            opened.params = _parameters(params)
        builders = _STATE.__dict__.setdefault("builders", [])
        builders.append(self)
        outside = self._function, self._blocks
        self._function, self._blocks = opened, []
        depth = len(self._scopes)
        self.begin_scope(opened.params)
        self._begin_binding_block()
        try:
            yield GlobalVar(opened.name)
            if not opened.is_finished:
                raise GraphError(
                    f"function {name} has no result",
                    "",
                    "call builder.emit_func_output(value) at its end",
                )
        finally:
            builders.remove(self)
            self._function, self._blocks = outside
            del self._scopes[depth:]

    def emit_func_output(self, output: GraphExprLike | BaseFunc, params: Any = None) -> GlobalVar:
        """Finish the function that is open.

        Parameters
        ----------
        output : the result: an expression, or a list of them for a tuple.
        params : the parameters, if they were not given at the begin.
        """
        opened = self._function
        if opened is None:
            raise GraphError("no function is open", "", "use `with builder.function(name):`")
        if opened.is_finished:
            raise GraphError(f"function {opened.name} has a result already", "", "give one result")
        opened.is_finished = True  # also if the result is refused, which is the error then
        if params is not None and opened.params is not None:
            raise GraphError(
                f"the parameters of function {opened.name} are given twice", "", "give them once"
            )
        if params is not None:
            opened.params = _parameters(params)
            self._scopes[-1] = _sizes_in(opened.params)
        if opened.params is None:
            raise GraphError(
                f"function {opened.name} has no parameters",
                "",
                "give a list of variables, which may be empty",
            )
        body = self.normalize(as_expr(output))
        block = self._end_block()
        if block.bindings:
            opened.blocks.append(block)
        sequence = self.normalize(SeqExpr(tuple(opened.blocks), body))
        _check_outputs(sequence)
        func = GraphFunction(
            tuple(opened.params),
            sequence,
            None,
            opened.is_pure,
            opened.attrs,
            lines=opened.lines,
        )
        func = self.normalize(func)
        self._begin_binding_block()
        name = self._add(opened.name, func, is_new=True)
        return name

    def _reserved(self, name: str) -> str:
        """The name of a function that is written: functions it adds get others."""
        func = self._module.functions.get(name)
        if func is not None and "global_symbol" in func.attrs:
            raise GraphError(
                f"function {name} exists in the module already", "", "give it another name"
            )
        return self._globals.take(name)

    @contextmanager
    def testing_scope(self, def_vars: Sequence[Var] = ()) -> Iterator[None]:
        """A dataflow block of no function, in which variables of sizes are known, for tests."""
        self._scopes.append(set(def_vars))
        self._begin_dataflow_block()
        depth = len(self._blocks)
        try:
            yield
        finally:
            self._scopes.pop()
            del self._blocks[depth - 1 :]

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """Open a dataflow block in the function."""
        if self._function is None:
            raise GraphError(
                "a dataflow block stands outside of a function", "", "open a function first"
            )
        before = self._end_block()
        if before.bindings:
            self._function.blocks.append(before)
        self._begin_dataflow_block()
        depth = len(self._blocks)
        try:
            yield
        except BaseException:
            del self._blocks[depth - 1 :]
            raise
        block = self._end_block()
        if block.bindings:
            self._function.blocks.append(block)
        self._begin_binding_block()

    # Bindings

    @_all_or_nothing
    def emit(self, expr: GraphExprLike | BaseFunc, name_hint: str = "") -> GraphVar:
        """Bind the value of an expression to a variable, which is returned."""
        value = as_expr(expr)
        value = self._bound_argument(value) or self._normalized(value)
        return self._emit(value, name_hint, is_output=False)

    def undone_by_errors(self) -> _Undo:
        """Bindings of the open block: none of those inside with an error."""
        return _Undo(self._blocks)

    def _emit(self, expr: GraphValue, name_hint: str, is_output: bool) -> GraphVar:
        block = self._block()
        is_inside = block.is_dataflow and not is_output
        hint = name_hint or ("lv" if is_inside else "gv")
        kind = DataflowVar if is_inside else GraphVar
        var = kind(self._names.take(hint), _known_of(expr))
        if isinstance(expr, GraphCall) and isinstance(expr.op, Op):
            self._note_line(str(expr.op))
        block.bindings.append(VarBinding(var, expr))
        self._bindings[var] = expr
        return var

    def _note_line(self, operator: str) -> None:
        """Note where the call of an operator comes from."""
        if self._function is not None:
            self._function.lines.add("operator", operator, self.location)

    def call_te(self, func: Callable[..., object], *args: object, **kwargs: object) -> GraphCall:
        """A call of a function of tensor expressions, which is added to the module.

        `primfunc_name_hint` names the function, `primfunc_attrs` are added to it; other arguments
        are those of `func`, with graph values in place of tensors and sizes.
        """
        make = partial(call_te, self.add_func, self.settings, self.analyzer)
        calls = self.calls
        return (
            make(func, *args, **kwargs)
            if calls is None
            else calls.call(make, func, *args, **kwargs)
        )

    def emit_te(
        self, func: Callable[..., object], *args: object, name_hint: str = "", **kwargs: object
    ) -> GraphVar:
        """Bind the result of `call_te` to a variable, which is returned."""
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def match_cast(
        self, value: GraphExprLike | BaseFunc, struct_info: StructInfo, name_hint: str = ""
    ) -> GraphVar:
        """Bind a value that has a struct info when it runs, which defines variables of sizes."""
        normalized: GraphValue = self.normalize(as_expr(value))
        info = as_struct_info(struct_info)
        block = self._block()
        kind = DataflowVar if block.is_dataflow else GraphVar
        var = kind(self._names.take(name_hint or ("lv" if block.is_dataflow else "gv")), info)
        self.emit_normalized(MatchCast(var, normalized, info))
        self._note_line(MATCH_CAST)
        return var

    def emit_output(self, output: GraphExprLike | BaseFunc, name_hint: str = "") -> GraphVar:
        """Bind a value to a variable that is visible outside of the dataflow block."""
        if not self._block().is_dataflow:
            raise GraphError(
                "emit_output stands outside of a dataflow block",
                "",
                "use it inside of `with builder.dataflow():`",
            )
        return self._emit(self.normalize(as_expr(output)), name_hint, is_output=True)

    def emit_normalized(self, binding: Binding) -> None:
        """Append a binding of which the value is in normal form."""
        self._append(binding)

    def _append(self, binding: Binding) -> None:
        if isinstance(binding, VarBinding) and binding.var.struct_info_ is None:
            update_struct_info(binding.var, _known_of(binding.value))
        self._block().bindings.append(binding)
        if isinstance(binding, VarBinding):
            self._bindings[binding.var] = binding.value
        elif isinstance(binding, MatchCast):
            self._define(_sizes_in([binding]))

    def lookup_binding(self, var: GraphVar) -> GraphValue | None:
        """The value that a variable was bound to; None for parameters."""
        return self._bindings.get(var)

    def _block(self) -> _OpenBlock:
        if not self._blocks:
            raise GraphError(
                "no block is open", "", "use `with builder.function(name):`, then emit"
            )
        return self._blocks[-1]

    def _begin_dataflow_block(self) -> None:
        self._blocks.append(_OpenBlock(True))

    def _begin_binding_block(self) -> None:
        self._blocks.append(_OpenBlock(False))

    def _end_block(self, old: BindingBlock | None = None) -> BindingBlock:
        """Close the open block: the old one if it has the same bindings."""
        opened = self._blocks.pop()
        kind = DataflowBlock if opened.is_dataflow else BindingBlock
        bindings = opened.bindings
        is_kept = type(old) is kind and len(old.bindings) == len(bindings)
        if old is None or not is_kept or not all(map(is_, old.bindings, bindings)):
            old = kind(tuple(bindings))
        if all([self._is_normal(binding.value) for binding in bindings]):
            casts = [binding for binding in bindings if type(binding) is MatchCast]
            self._normal_blocks[old] = _sizes_in(casts)
        return old

    def _is_normal(self, value: GraphValue) -> bool:
        """Whether the value of a binding is in normal form: a sequence becomes bindings."""
        return _is_leaf(value) or (value in self._normal and type(value) is not SeqExpr)

    def current_block_is_dataflow(self) -> bool:
        """Whether the innermost open block is a dataflow block."""
        return self._block().is_dataflow

    def begin_scope(self, params: Sequence[GraphVar] | None = None) -> None:
        """Open a scope of variables of sizes: those of parameters, and those around."""
        size_vars = set() if params is None else _sizes_in(params)
        around = self._scopes[-1] if self._scopes and params is None else None
        self._scopes.append(size_vars | (around or set()))
        for var in size_vars:
            self.analyzer.mark_nonnegative(var)

    def begin_inner_scope(self) -> None:
        """Open a scope inside of the current one."""
        self.begin_scope()

    def end_scope(self) -> None:
        """Close a scope."""
        self._scopes.pop()

    def sequence(self, write: Callable[[], GraphExpr], params: Sequence[GraphVar] = ()) -> SeqExpr:
        """The bindings that a function emits and the value that it returns, in a scope of their
        own: a branch of a condition, or the body of a function of parameters.

        >>> from te_sched import relax
        >>> builder = BlockBuilder()
        >>> with builder.function("main", []):
        ...     body = builder.sequence(lambda: builder.emit(relax.const(1)))
        ...     name = builder.emit_func_output(relax.const(2))
        >>> len(body.blocks[0].bindings)
        1
        """
        self.begin_scope()
        self._define(_sizes_in(params))
        self._begin_binding_block()
        depth = len(self._blocks)
        try:
            value = write()
            block = self._end_block()
        except BaseException:
            del self._blocks[depth - 1 :]
            raise
        finally:
            self.end_scope()
        return SeqExpr((block,) if block.bindings else (), value)

    def has_value(self, size: Expr) -> bool:
        """Whether the variables of a size have values in the scope that is open."""
        scope = self._scopes[-1] if self._scopes else None
        return scope is None or scope.issuperset(variables_in(size))

    @contextmanager
    def subroutine_scope(
        self, params: Sequence[GraphVar], is_dataflow: bool
    ) -> Iterator[list[BindingBlock]]:
        """A block of another function than the open one; it is in the list at the end."""
        blocks: list[BindingBlock] = []
        depth = len(self._blocks)
        self.begin_scope(params)
        self._blocks.append(_OpenBlock(is_dataflow))
        try:
            yield blocks
            blocks.append(self._end_block())
        finally:
            del self._blocks[depth:]
            self.end_scope()

    def require(self, kind: Kind, size: ExprLike, other: ExprLike, subject: str) -> None:
        """Note that inference needs a relation of sizes, which is checked when a function runs if
        it is not proved: see `SizeRelation`.
        """
        if self.relations is not None:
            self.relations.require(kind, size, other, subject)

    def _define(self, variables: set[Var]) -> None:
        if self._scopes and self._scopes[-1] is not None:
            self._scopes[-1] |= variables

    # Functions of the module

    def get(self) -> IRModule:
        """The module as far as it is written."""
        return self._module

    def finalize(self) -> IRModule:
        """The module; its functions have their names as symbols."""
        return self._module

    def get_unique_name(self, name_prefix: str) -> str:
        """A name for a variable that was not used yet."""
        return self._names.take(name_prefix)

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function to the module; the name of one of the same structure, if there is one."""
        return self._add(func_name, func, is_new=False)

    def _add(self, name: str, func: BaseFunc, is_new: bool) -> GlobalVar:
        if not is_new:
            for other in self._equal_candidates(func):
                if structural_equal(self._module[other], func):
                    return other
        else:
            self._forget_normal()
        taken = GlobalVar(name if is_new else self._globals.take(name))
        self._module.update_func(taken, func)
        taken = self._global(taken)
        self._unseen.append(taken)
        return taken

    def _equal_candidates(self, func: BaseFunc) -> list[GlobalVar]:
        """The functions that may be equal to a function; hashes are computed to choose from several
        only.
        """
        kind, left = type(func), []
        for name in self._unseen:
            candidate = self._module[name]
            if type(candidate) is kind:
                self._alike.setdefault(_glance(candidate), []).append(_Added(name, candidate))
            else:  # a graph may have large constants
                left.append(name)
        self._unseen = left
        alike = self._alike.get(_glance(func), []) if self._alike else []
        if len(alike) > 1:
            own = structural_hash(func)
            alike = [added for added in alike if added.hash == own]
        return [added.name for added in alike]

    def update_func(self, gv: str, updated_func: BaseFunc) -> None:
        """Exchange a function of the module."""
        self._module.update_func(GlobalVar(gv), updated_func)
        self._unseen.append(GlobalVar(gv))
        self._forget_normal()

    def _forget_normal(self) -> None:
        """Forget what is in normal form: a function that calls name has changed."""
        self._normal.clear()
        self._normal_blocks.clear()

    def _global(self, name: str) -> GlobalVar:
        """The name of a function, with what is known of it."""
        global_var = GlobalVar(name)
        func = self._module.functions.get(name)
        global_var.struct_info_ = getattr(func, "struct_info", None)
        return global_var

    def _known_global(self, name: GlobalVar) -> GlobalVar:
        """The name with what is known of its function now: a pass may have exchanged it."""
        func = self._module.functions.get(name)
        if func is None:
            return name
        entry = self._infos.get(name)
        if entry is None or entry[0] is not func:
            entry = self._infos[name] = (func, getattr(func, "struct_info", None))
        info = entry[1]
        if name.struct_info_ is None:
            name.struct_info_ = info
        elif name.struct_info_ is not info:
            if not structural_equal(name.struct_info_, info):
                name = GlobalVar(name)
            name.struct_info_ = info  # the same object, which is not compared again
        return name

    # Normal form

    def _normal_form(self, expr: object) -> object:
        """The expression in normal form, as `normalize`, whose arguments are checked too."""
        return expr if _is_leaf(expr) else self._normalized_whole(expr)

    @_all_or_nothing
    def _normalized_whole(self, expr: object) -> object:
        return self._normalized(expr)

    @overload
    def normalize(self, expr: GraphFunction) -> GraphFunction: ...
    @overload
    def normalize(self, expr: SeqExpr) -> SeqExpr: ...
    @overload
    def normalize(self, expr: GraphExpr) -> GraphExpr: ...
    @overload
    def normalize(self, expr: GraphValue) -> GraphValue: ...
    @overload
    def normalize(self, expr: object) -> GraphTerm: ...
    def normalize(self, expr: object) -> object:
        """The expression in normal form, with its struct info; it may be nested deeply.

        With an error, the open block is as it was.
        """
        return self._normal_form(expr)

    @overload
    def normalize_argument(self, expr: GraphExpr) -> GraphExpr: ...
    @overload
    def normalize_argument(self, expr: GraphValue) -> GraphValue: ...
    @overload
    def normalize_argument(self, expr: object) -> GraphTerm: ...
    @_all_or_nothing
    def normalize_argument(self, expr: object) -> object:
        """An argument in normal form: bound to a variable unless it is a leaf.

        An expression that is an argument once more in a block is the same variable.
        """
        return self._normalized_argument(expr)

    @overload
    def _normalized(self, expr: GraphFunction) -> GraphFunction: ...
    @overload
    def _normalized(self, expr: SeqExpr) -> SeqExpr: ...
    @overload
    def _normalized(self, expr: GraphExpr) -> GraphExpr: ...
    @overload
    def _normalized(self, expr: GraphValue) -> GraphValue: ...
    @overload
    def _normalized(self, expr: object) -> GraphTerm: ...
    def _normalized(self, expr: object) -> object:
        method = _NORMALIZERS.get(type(expr))
        if method is None:
            if isinstance(expr, GlobalVar):
                return self._known_global(expr)
            if isinstance(expr, Op | ShapeExpr | BaseFunc | GraphExpr):
                return expr
            raise GraphError(
                f"{repr_of(expr)} is not an expression of a graph",
                f"it is {kind_of(expr)}",
                "give calls of operators, variables, constants, tuples",
            )
        return method(self, expr)

    @overload
    def _normalized_argument(self, expr: GraphExpr) -> GraphExpr: ...
    @overload
    def _normalized_argument(self, expr: GraphValue) -> GraphValue: ...
    @overload
    def _normalized_argument(self, expr: object) -> GraphTerm: ...
    def _normalized_argument(self, expr: object) -> object:
        argument = self._bound_argument(expr)
        if argument is not None:
            return argument
        value = self._normalized(expr)
        if isinstance(value, (*LEAVES, Tuple)) or not self._blocks:
            return value
        var = self._emit(value, "", is_output=False)
        self._blocks[-1].arguments[id(expr)] = (expr, var)
        return var

    def _bound_argument(self, expr: object) -> GraphVar | None:
        """The variable that an expression was bound to as an argument in the open block."""
        blocks = self._blocks
        entry = blocks[-1].arguments.get(id(expr)) if blocks else None
        return None if entry is None else entry[1]

    def _arguments(self, values: Sequence[GraphExpr]) -> tuple[GraphExpr, ...]:
        return tuple(
            [value if _is_leaf(value) else self._normalized_argument(value) for value in values]
        )

    def _normalize_variable(self, expr: GraphVar) -> GraphExpr:
        """A variable, or an empty tuple in place of one without a value."""
        info = expr.struct_info_
        is_void = isinstance(info, TupleStructInfo) and not info.fields
        return Tuple((), info) if is_void else expr

    def _normalize_tuple(self, expr: Tuple) -> Tuple:
        if expr in self._normal:
            return expr
        fields = self._arguments(expr.fields)
        if any(map(is_not, fields, expr.fields)):
            expr = Tuple(fields)
        if expr.struct_info_ is None:
            update_struct_info(expr, TupleStructInfo(tuple([_known_of(field) for field in fields])))
        self._normal.add(expr)
        return expr

    def _normalize_item(self, expr: TupleGetItem) -> TupleGetItem:
        if expr in self._normal:
            return expr
        value = self._normalized_argument(expr.tuple_value)
        if value is not expr.tuple_value:
            expr = TupleGetItem(value, expr.index)
        if expr.struct_info_ is None:
            info = value.struct_info
            if isinstance(info, TupleStructInfo):
                update_struct_info(expr, info.fields[expr.index])
            else:
                update_struct_info(expr, ObjectStructInfo())
        self._normal.add(expr)
        return expr

    def _normalize_call(self, call: GraphCall) -> GraphTerm:
        if call in self._normal:
            return call
        written = call
        op = call.op if isinstance(call.op, Op) else self._normalized_argument(call.op)
        args = self._arguments(call.args)
        if op is not call.op or any(map(is_not, args, call.args)):
            call = GraphCall(op, args, call.attrs, call.sinfo_args)
        if isinstance(op, Op):
            operator = operator_of(op)
            rewrite = op.get_attr("FNormalize")
            if rewrite is not None:
                new: GraphTerm = rewrite(self, call)
                if new is not call:
                    return self._normalized(new)
            if call.struct_info_ is None:
                try:
                    update_struct_info(call, _checked_sizes(call, operator.infer(call, self)))
                except GraphError as error:
                    error.call = written
                    raise
        elif call.struct_info_ is None:
            op_info = getattr(op, "struct_info_", None) or ObjectStructInfo()
            update_struct_info(call, derive_call(call, op_info, self))
        self._normal.add(call)
        return call

    def _normalize_if(self, expr: If) -> If:
        if expr in self._normal:
            return expr
        cond = self._normalized_argument(expr.cond)
        _check_condition(cond)
        branches = [self._scoped(branch) for branch in (expr.true_branch, expr.false_branch)]
        old = (expr.cond, expr.true_branch, expr.false_branch)
        if any(new is not part for new, part in zip((cond, *branches), old, strict=True)):
            expr = If(cond, branches[0], branches[1])
        if expr.struct_info_ is None:
            infos = [branch.struct_info for branch in branches]
            update_struct_info(expr, struct_info_lca(infos[0], infos[1], self.analyzer))
        self._normal.add(expr)
        return expr

    def _scoped(self, expr: GraphExpr) -> SeqExpr:
        """A body in a scope of its own: a sequence in normal form."""
        sequence = self.sequence(lambda: self._normalized(expr))
        body = sequence.body
        if not isinstance(body, SeqExpr):
            return self._normalized(sequence)
        if not sequence.blocks:
            return body
        return self._normalized(SeqExpr((*sequence.blocks, *body.blocks), body.body))

    def _normalize_sequence(self, expr: SeqExpr) -> SeqExpr:
        blocks: list[BindingBlock] = []
        for block in expr.blocks:
            blocks += self._normalize_block(block)
        if expr in self._normal:
            return expr
        self._begin_binding_block()
        try:
            body = self._normalized_argument(expr.body)
        finally:
            last = self._end_block()
        if last.bindings:
            blocks.append(last)
        blocks = joined_blocks(blocks)
        same = len(blocks) == len(expr.blocks) and all(
            new is old for new, old in zip(blocks, expr.blocks, strict=True)
        )
        if not same or body is not expr.body:
            expr = SeqExpr(tuple(blocks), body)
        if expr.struct_info_ is None:
            update_struct_info(expr, self._outside(body.struct_info_, blocks))
        self._normal.add(expr)
        return expr

    def _outside(
        self, info: StructInfo | None, blocks: Sequence[BindingBlock]
    ) -> StructInfo | None:
        """A struct info without the variables of sizes that blocks define, and without variables
        of the graph.
        """
        info = None if info is None else erase_variables(info)
        own = {
            var
            for block in blocks
            for binding in block.bindings
            if isinstance(binding, MatchCast)
            for var in _sizes_in([binding])
        }
        if info is None or not own:
            return info
        around = self._scopes[-1] if self._scopes else set()
        used = set(variables_in(info))
        hidden = own - (around or set())
        return erase_unknown(info, used - hidden) if used & hidden else info

    def _normalize_block(self, block: BindingBlock) -> list[BindingBlock]:
        """The blocks that a block becomes: sequences in its bindings are spliced into it."""
        defined = self._normal_blocks.get(block)
        if defined is not None:
            self._define(defined)
            return [block]
        is_dataflow = isinstance(block, DataflowBlock)
        self._blocks.append(_OpenBlock(is_dataflow))
        blocks: list[BindingBlock] = []
        try:
            for binding in block.bindings:
                value = self._normalized(binding.value)
                if isinstance(value, SeqExpr):
                    self._splice(value, blocks, is_dataflow)
                    value = value.body
                if value is binding.value:
                    self._append(binding)
                elif isinstance(binding, MatchCast):
                    self._append(MatchCast(binding.var, value, binding.struct_info))
                else:
                    self._append(VarBinding(binding.var, value))
        finally:
            last = self._end_block(block)
        return [*blocks, last]

    def _splice(self, value: SeqExpr, blocks: list[BindingBlock], is_dataflow: bool) -> None:
        """Put the blocks of a sequence before the binding of its result."""
        for inner in value.blocks:
            if isinstance(inner, DataflowBlock) == is_dataflow:
                self._blocks[-1].bindings += inner.bindings
                continue
            hidden = [node for node in walk(inner) if isinstance(node, DataflowVar)]
            if is_dataflow and hidden:
                raise GraphError(
                    f"variable {hidden[0].name_hint} is used outside of its dataflow block",
                    "a sequence in a dataflow block has bindings of an ordinary block",
                    "emit them outside of the dataflow block",
                    in_tvm="Malformed AST",
                )
            before = self._end_block()
            blocks += [before] if before.bindings else []
            blocks.append(inner)
            self._blocks.append(_OpenBlock(is_dataflow))

    def _normalize_function(self, func: GraphFunction) -> GraphFunction:
        if func.body is None or func in self._normal:
            return func
        self.begin_scope(func.params)
        self._begin_binding_block()
        try:
            body = self._normalized(func.body)
        finally:
            self._end_block()
            self.end_scope()
        if body is func.body and func.ret_struct_info is not None:
            self._normal.add(func)
            return func
        func = GraphFunction(
            func.params,
            body,
            func.ret_struct_info,
            func.is_pure,
            func.attrs,
            written_name=func.written_name,
            lines=func.lines,
        )
        self._normal.add(func)
        return func


class _Added:
    """A function of a module, with its structural hash once that is asked for."""

    def __init__(self, name: GlobalVar, func: BaseFunc) -> None:
        self.name, self._func = name, func

    @cached_property
    def hash(self) -> int:
        """The structural hash of the function."""
        return structural_hash(self._func)


def _glance(func: BaseFunc) -> object:
    """What functions of the same structure have in common, and most others do not."""
    if isinstance(func, PrimFunc):
        buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
        nodes = statements(func.body)
        return (
            len(func.params),
            *[(buffer.dtype, *map(_number, buffer.shape)) for buffer in buffers],
            *[(type(node), *_operation(getattr(node, "value", None))) for node in nodes],
        )
    if isinstance(func, GraphFunction) and isinstance(func.body, SeqExpr):
        bindings = [binding for block in func.body.blocks for binding in block.bindings]
        return len(func.params), *[_operation(binding.value) for binding in bindings]
    return type(func)


def _number(size: Expr) -> int | None:
    return size.value if type(size) is IntImm else None


def _operation(value: object) -> tuple[object, ...]:
    """The kind of a value and of its operands."""
    operands = [getattr(value, name, None) for name in ("op", "a", "b", "value")]
    return type(value), *[part if isinstance(part, str) else type(part) for part in operands]


class _OpenBlock:
    """A block that is being written."""

    def __init__(self, is_dataflow: bool) -> None:
        self.is_dataflow = is_dataflow
        self.bindings: list[Binding] = []
        self.arguments: dict[int, tuple[object, GraphVar]] = {}  # expressions by identity, bound

    def cut(self, bindings: int, arguments: int) -> None:
        """Remove all but the first bindings and arguments."""
        del self.bindings[bindings:]
        for key in list(self.arguments)[arguments:]:
            del self.arguments[key]


class _OpenFunction:
    """A function that is being written."""

    def __init__(
        self, name: str, params: list[GraphVar] | None, attrs: dict[str, object], is_pure: bool
    ) -> None:
        self.name, self.params, self.attrs, self.is_pure = name, params, attrs, is_pure
        self.blocks: list[BindingBlock] = []
        self.lines = SourceLines()
        self.is_finished = False


def _parameters(params: Any) -> list[GraphVar]:
    variables = [params] if isinstance(params, GraphVar) else list(params)
    for var in variables:
        if not isinstance(var, GraphVar):
            raise GraphError(
                f"a parameter is {repr_of(var)}", f"it is {kind_of(var)}", "give variables"
            )
    return variables


def _sizes_in(nodes: Iterable[GraphVar | MatchCast]) -> set[Var]:
    """The variables in the sizes of parameters, or of matched struct infos."""
    infos = [
        node.struct_info if isinstance(node, MatchCast) else node.struct_info_ for node in nodes
    ]
    return {var for info in infos for var in own_variables(info)}


def _check_outputs(sequence: SeqExpr) -> None:
    """Refuse variables of dataflow blocks that are used outside of their block."""
    blocks = {
        binding.var: block
        for block in sequence.blocks
        for binding in block.bindings
        if isinstance(binding.var, DataflowVar)
    }
    for part in (*sequence.blocks, sequence.body) if blocks else ():
        for var in walk(part):
            if type(var) is DataflowVar and blocks.get(var, part) is not part:
                raise GraphError(
                    f"variable {var.name_hint} is used outside of its dataflow block",
                    "it is not an output of the block",
                    f"make it one, in `with builder.dataflow():`: builder.emit_output("
                    f"{var.name_hint})",
                )


def _check_condition(cond: GraphExpr) -> None:
    """Refuse a tensor of several elements."""
    info = cond.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return
    if any(isinstance(size, IntImm) and size.value != 1 for size in info.shape.values):
        raise GraphError(
            f"a condition is {info}, expected one value",
            "a branch is taken for a whole tensor",
            "use relax.op.where(condition, a, b) to choose element by element",
        )


def _is_leaf(expr: object) -> bool:
    """Whether an expression is its own normal form wherever it stands: a variable, but not of a
    tuple, which may be empty, a constant, an operator, ...
    """
    kind = type(expr)
    if kind is DataflowVar or kind is GraphVar:
        return type(expr.struct_info_) is not TupleStructInfo  # type: ignore[attr-defined]
    return kind in _KINDS_OF_ATOMS


def _known_of(expr: GraphTerm) -> StructInfo:
    info = None if isinstance(expr, Op) else expr.struct_info_
    return ObjectStructInfo() if info is None else info


_NORMALIZERS: dict[type, Callable[[BlockBuilder, Any], GraphTerm]] = {
    GraphVar: BlockBuilder._normalize_variable,
    DataflowVar: BlockBuilder._normalize_variable,
    Tuple: BlockBuilder._normalize_tuple,
    TupleGetItem: BlockBuilder._normalize_item,
    GraphCall: BlockBuilder._normalize_call,
    If: BlockBuilder._normalize_if,
    SeqExpr: BlockBuilder._normalize_sequence,
    GraphFunction: BlockBuilder._normalize_function,
}


def _inferred(call: GraphCall) -> StructInfo | None:
    """What is known of a call of an operator by its arguments; None for unknown operators."""
    operator = OPERATORS.get(str(call.op))
    if operator is None or None in [getattr(arg, "struct_info_", None) for arg in call.args]:
        return None
    return _checked_sizes(call, operator.infer(call, BlockBuilder()))


def _checked_sizes(call: GraphCall, info: StructInfo) -> StructInfo:
    """What is inferred of a call; GraphError if a size is known to be negative."""
    for size in tensor_sizes(info):
        if isinstance(size, IntImm) and size.value < 0:
            raise GraphError(
                f"a size of the result of {call.op} is {size.value}",
                f"it is {info}",
                "give sizes of 0 or more",
            )
    return info


INFERENCES.append(_inferred)

_tell_of_absent_names(__name__)
