"""`@R.function`: the statements of a script become bindings of a graph.

An assignment binds a value to a new variable with its name, which may have been used before. Sizes
are variables of the whole function; a string in an annotation names one, and `n = T.int64()` in the
body is the same variable.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from te_sched.errors import ScriptError, did_you_mean, repr_of
from te_sched.ir.expr import Operand, Var
from te_sched.ir.graph import (
    Binding,
    DataflowVar,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphVar,
    VarBinding,
    as_expr,
    update_struct_info,
)
from te_sched.ir.op import Op
from te_sched.ir.source_lines import MATCH_CAST, SourceLines
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    ShapeExpr,
    StructInfo,
    TupleStructInfo,
)
from te_sched.ir.visitor import walk
from te_sched.relax.constant import const
from te_sched.script import graph_frames as frames
from te_sched.script.annotations import (
    Annotation,
    Callable_,
    Object,
    PendingStructInfo,
    Shape,
    Tensor,
    Tuple,
    expanded,
    is_name,
    new_size,
    struct_info_of,
)
from te_sched.script.evaluate import word_of_graphs
from te_sched.script.frames import Frame, ScriptBuilder, rename
from te_sched.script.graph_frames import (
    BranchFrame,
    DataflowFrame,
    GraphFunctionFrame,
    MatchCastValue,
    is_void,
)
from te_sched.script.source import Source, advice_on_parameter
from te_sched.script.statements import StatementReader, header_of

# Annotations that scripts of 2022 write without `R.`.
_WORDS = {word.__name__: word for word in (Tensor, Shape, Tuple, Object, Callable_)}
_GRAPH_VALUES = (GraphExpr, ShapeExpr, Op, GlobalVar, MatchCastValue)


class GraphParser(StatementReader):
    """Executes the statements of a function of a graph."""

    kind_of_scripts = "an R.function"
    known_statements = "assignments, with R.dataflow(), if, return and calls"
    advice_on_statements: ClassVar[Mapping[type, tuple[str, str]]] = {
        ast.For: (
            "each statement of a graph is one binding",
            "write a statement for each iteration, or emit them in a loop of Python with a "
            "relax.BlockBuilder; loops over elements are those of a T.prim_func (R.call_tir)",
        ),
        ast.While: (
            "each statement of a graph is one binding",
            "let a function of the module call itself in a branch of an if",
        ),
        ast.AugAssign: ("values of graphs do not change", "assign to a name: x = x + y"),
    }

    def __init__(self, source: Source, names: Mapping[str, Any], is_trusted: bool = True) -> None:
        super().__init__(source, names, is_trusted)
        self.symbols: dict[str, Var] = {}
        self.is_macro, self.returned = False, None
        # Where variables are bound or declared, and results of functions declared.
        self.places: dict[Any, Any] = {}
        self.unchecked: set[str] = set()  # functions with check_well_formed=False
        self.lines = SourceLines()  # of the function that is read
        self.written: dict[GraphCall, Any] = {}  # calls of operators, and their expressions
        self._inner: set[str] = set()  # names of dataflow blocks that are not outputs
        self._in_size = False  # whether a string in an annotation is read

    def reader_of_macro(self, source: Source, names: Mapping[str, Any]) -> GraphParser:
        """The reader of the statements of a macro."""
        reader = GraphParser(source, names)
        reader.is_macro, reader.symbols, reader.lines = True, self.symbols, self.lines
        return reader

    # Functions

    def function(self, node: ast.FunctionDef) -> GraphFunction:
        """The function of a definition."""
        options = self._options(node)
        if not options.get("check_well_formed", True):
            self.unchecked.add(node.name)
        frame = GraphFunctionFrame(options.get("pure", True), options.get("private", False))
        frame.name = node.name
        outside, self.symbols = self.symbols, {**self.symbols}
        lines, self.lines = self.lines, frame.lines
        try:
            with self.scope(), self.framed(header_of(node), frame):
                result = self._signature(node, frame)
                frame.ret_struct_info = result
                self.body(node.body)
        finally:
            self.symbols, self.lines = outside, lines
        assert frame.made is not None
        self.places[frame.made] = node.returns or header_of(node)
        self._place_parts(node, frame.made)
        return frame.made

    def _place_parts(self, node: ast.FunctionDef, function: GraphFunction) -> None:
        """Variables without a name in the script are parts of the next statement."""
        last: Any = next(
            (statement for statement in reversed(node.body) if isinstance(statement, ast.Return)),
            node,
        )
        unnamed: list[GraphVar] = []
        for part in walk(function.body):
            if not isinstance(part, Binding):
                continue
            unnamed.append(part.var)
            if part.var in self.places:
                self.places.update(dict.fromkeys(unnamed, self.places[part.var]))
                unnamed = []
        self.places.update(dict.fromkeys(unnamed, getattr(last, "value", None) or header_of(last)))

    def declaration(self, node: ast.FunctionDef) -> FuncStructInfo:
        """What is known of a function by its signature."""
        outside, self.symbols = self.symbols, {**self.symbols}
        try:
            params, result = self._types(node)
        finally:
            self.symbols = outside
        is_pure = self._options(node).get("pure", True)
        return FuncStructInfo(tuple(params), result or ObjectStructInfo(), is_pure)

    def _options(self, node: ast.FunctionDef) -> dict[str, bool]:
        options: dict[str, bool] = {}
        for decorator in node.decorator_list:
            for word in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if word.arg not in ("pure", "private", "check_well_formed"):
                    raise self.source.error(
                        word,
                        f"R.function has no option {word.arg}",
                        "use pure=, private= and check_well_formed=",
                    )
                options[word.arg] = bool(self.value(word.value))
        return options

    def _signature(self, node: ast.FunctionDef, frame: GraphFunctionFrame) -> StructInfo | None:
        """Define the parameters; returns the declared struct info of the result."""
        params, result = self._types(node)
        for arg, info in zip(node.args.args, params, strict=True):
            var = GraphVar(arg.arg, info)
            frame.add_parameter(var)
            self.define(arg, arg.arg, var)
            self.places[var] = arg
        return result

    def _types(self, node: ast.FunctionDef) -> tuple[list[StructInfo], StructInfo | None]:
        """The struct infos of parameters and result, and the variables of sizes in them."""
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
            raise self.source.error(
                node, f"parameters of {node.name} have defaults or stars", "name each parameter"
            )
        pairs: list[tuple[Any, Any]] = []
        for arg in args.args:
            if arg.annotation is None:
                raise self.source.error(
                    arg,
                    f"parameter {arg.arg} has no struct info",
                    advice_on_parameter(
                        arg, 'annotate it: x: R.Tensor((4, "n"), "float32"), R.Object, ...'
                    ),
                )
            pairs.append((arg.annotation, self._annotation(arg.annotation)))
        for annotation, value in pairs:
            if isinstance(value, PendingStructInfo):
                self._define_sizes(annotation, value)
        params = [self._checked(where, self._resolved, value) for where, value in pairs]
        if node.returns is None:
            return params, None
        if isinstance(node.returns, ast.Constant) and node.returns.value is None:
            return params, TupleStructInfo(())
        result = self._annotation(node.returns)
        return params, self._checked(node.returns, self._resolved, result)

    def _define_sizes(self, node: Any, value: PendingStructInfo) -> None:
        del node
        for name in value.names_of_sizes():
            if is_name(name) and name not in self.symbols and not self._is_size(name):
                self.symbols[name] = new_size(name)

    def _is_size(self, name: str) -> bool:
        """Whether a name is a size of this function, or of those around it in the script."""
        return any(isinstance(scope.get(name), Var) for scope in self.scopes)

    def _annotation(self, node: Any) -> Any:
        return self._checked(node, expanded, self.value(self.source.expression(node)))

    def _resolved(self, annotation: Any) -> StructInfo:
        info: StructInfo = struct_info_of(annotation, self._size)
        return info

    def _size(self, text: str) -> Any:
        """The size that a string in an annotation is."""
        if text in self.symbols:
            return self.symbols[text]
        self.scopes.append(dict(self.symbols))
        self._in_size = True
        try:
            tree = self.source.expression(ast.Constant(text, lineno=1, col_offset=0))
            return self.value(tree)
        except ScriptError as error:
            error.excerpt = ""  # that of the annotation is shown
            raise
        finally:
            self._in_size = False
            self.scopes.pop()

    def struct_info(self, node: Any) -> StructInfo:
        """The struct info of an annotation in a body."""
        info: StructInfo = self._checked(node, self._resolved, self._annotation(node))
        return info

    # Names

    def bind_value(self, node: Any, name: str, value: Any) -> Any:
        """What a name stands for after an assignment."""
        return self._bound(node, name, value, None)

    def _bound(self, node: Any, name: str, value: Any, annotation: StructInfo | None) -> Any:
        if type(value) is Var:
            return self._size_variable(node, name, value)
        if isinstance(value, Frame | ModuleFunctions | StructInfo | PendingStructInfo | Annotation):
            return value
        if isinstance(value, Operand):  # a size or number, for what follows
            return value
        if isinstance(value, bool | int | float):
            value = const(value)
        is_value = isinstance(value, (*_GRAPH_VALUES, str))
        if not is_value and not isinstance(value, list | tuple):
            return value
        if isinstance(value, MatchCastValue):
            value = MatchCastValue(value.value, self._resolved(value.struct_info))
        var = self._checked(node, frames.emit, value, annotation)
        rename(var, name)
        self.places[var] = node
        return var

    def _size_variable(self, node: Any, name: str, var: Var) -> Var:
        symbol = self.symbols.get(name)
        if symbol is None or symbol is var:
            if not var.name:
                rename(var, name)
            self.symbols.setdefault(name, var)
            return var
        if symbol.dtype != var.dtype:
            raise self.source.error(
                node,
                f"size {name} has dtype {var.dtype}, expected {symbol.dtype}",
                "write T.int64()",
            )
        return symbol

    def lookup(self, name: str) -> Any:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.symbols:
            return self.symbols[name]
        try:
            return super().lookup(name)
        except NameError:
            if name in _WORDS:
                return _WORDS[name]
            raise

    def about_undefined(self, name: str) -> tuple[str, str]:
        """A name of a dataflow block is known in the block alone, unless it is an output; sizes are
        variables.
        """
        if name not in self._inner:
            why, help = super().about_undefined(name)
            return why, f"{help}: {name} = T.int64()" if self._in_size else help
        why = "it is bound in a dataflow block, and is not an output of the block"
        return why, f"name it in R.output: R.output({name}, ...)"

    def attribute(self, holder: Any, name: str) -> Any:
        """An attribute; of the module a function."""
        if not isinstance(holder, ModuleFunctions):
            return super().attribute(holder, name)
        if name in holder.functions:
            return holder.functions[name]
        names = list(holder.functions)
        raise ScriptError(
            f"the module has no function {name}",
            "",
            f"use one of {', '.join(names)}{did_you_mean(name, names)}",
        )

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Call a function; words of annotations take others with names of sizes."""
        expand = getattr(function, "expand", None)
        if expand is not None:
            return expand(self, args, named)
        is_word = isinstance(function, Annotation)
        resolved = [self._argument(argument, is_word) for argument in args]
        if isinstance(function, GlobalVar):
            return GraphCall(function, tuple([as_expr(value) for value in resolved]))
        arguments = {name: self._argument(argument, is_word) for name, argument in named.items()}
        try:
            return super().call(function, resolved, arguments)
        except TypeError as error:
            if getattr(function, "__module__", "") != self.names.get("__name__"):
                _refuse_values_of_graphs(function, [*resolved, *arguments.values()], error)
            raise

    def value(self, node: Any) -> Any:
        """The value of an expression; the lines of calls of operators are noted."""
        value = super().value(node)
        if type(value) is GraphCall and isinstance(value.op, Op):
            self.lines.add("operator", str(value.op), self.source.place(node))
            self.written[value] = node
        elif type(value) is MatchCastValue:
            self.lines.add("operator", MATCH_CAST, self.source.place(node))
        return value

    def node_of(self, error: Exception, node: Any) -> Any:
        """The call that an error of inference is about."""
        return self.written.get(getattr(error, "call", None), node)  # type: ignore[arg-type]

    def _argument(self, value: Any, is_of_word: bool) -> Any:
        """An argument: struct infos with names of sizes as struct infos; those of words, which may
        define sizes, if all of their sizes are known.
        """
        if type(value) in (list, tuple):
            return type(value)([self._argument(item, is_of_word) for item in value])
        is_pending = isinstance(value, PendingStructInfo)
        if is_pending and not (is_of_word and any(map(self._is_new, value.names))):
            return self._resolved(value)
        return value

    def _is_new(self, name: str) -> bool:
        return is_name(name) and name not in self.symbols and not self._is_size(name)

    # Statements

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.source.error(
                node, "one statement assigns twice", "write a statement for each assignment"
            )
        self._checked(node, self.assign, node.targets[0], self.value(node.value), self.bind_value)
        if isinstance(node.targets[0], ast.Name):
            self._written_at(node.value, self.lookup(node.targets[0].id))

    def unpacked(self, target: Any, value: Any) -> list[Any]:
        """The values that are assigned to several names; those of a tuple of the graph."""
        if isinstance(value, GraphExpr) and not isinstance(value, GraphVar):
            value = self._checked(target, frames.emit, value)
        return super().unpacked(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise self.source.error(
                node, "an annotation has no name or value", "write x: R.Tensor = value"
            )
        value = self.value(node.value)
        annotation = self.struct_info(node.annotation)
        name = node.target.id
        self.define(node, name, self._bound(node, name, value, annotation))
        self._written_at(node.value, self.lookup(name))

    def _written_at(self, node: Any, value: Any) -> None:
        """Faults of a new variable of the graph are in its value."""
        if isinstance(value, GraphVar) and value in self.places:
            self.places[value] = node

    def _expression(self, node: ast.Expr) -> None:
        value = self.value(node.value)
        if value is None or (isinstance(value, str | tuple | list) and not value):
            return
        if isinstance(value, str | Frame):
            return
        if isinstance(value, GraphExpr):
            value = self._checked(
                node, frames.function_frame("a statement").builder.normalize, value
            )
            if is_void(value):
                rename(self._checked(node, frames.emit, value), "_")
                return
        raise self.source.error(
            node,
            "the value of a statement is not used",
            "assign it to a name; calls without a value can stand alone",
        )

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            raise self.source.error(node, "a return has no value", "return a value")
        value = self.value(node.value)
        if self.is_macro:
            self.returned = value
            return
        if self._is_in_branch():
            raise self.source.error(
                node, "a branch of a condition returns", "return once, at the end of the function"
            )
        frame = frames.function_frame("return")
        if frame.result is not None:
            raise self.source.error(
                node, f"function {frame.name} returns twice", "return once, at the end"
            )
        result = self._checked(node, as_expr, value)
        result = self._checked(node, frame.builder.normalize, result)
        block = frames.open_dataflow()
        if block is not None:
            result = self._checked(node, self._returned_from, block, result)
        frame.result = result

    def _is_in_branch(self) -> bool:
        for frame in reversed(ScriptBuilder.current().frames):
            if isinstance(frame, BranchFrame):
                return True
            if isinstance(frame, GraphFunctionFrame):
                return False
        return False

    def _returned_from(self, block: DataflowFrame, result: Any) -> Any:
        """The result of a function that is returned inside of a dataflow block: an output."""
        result = block.around.builder.normalize_argument(result)
        used = frames.variables_in(result)
        own = [
            binding.var for binding in block.around.builder._block().bindings if binding.var in used
        ]
        block.outputs = None
        block.output(own)
        block.returned = result
        return result

    def _with(self, node: ast.With) -> None:
        if len(node.items) != 1:
            raise self.source.error(node, "a with has two frames", "use `with R.dataflow():`")
        frame = self.value(node.items[0].context_expr)
        if not isinstance(frame, DataflowFrame):
            opened = node.items[0].context_expr
            raise self.source.error(
                opened,
                f"{ast.unparse(opened) if callable(frame) else repr_of(frame)} opens nothing",
                "use `with R.dataflow():`",
            )
        with self.scope(), self.framed(node, frame):
            self.body(node.body)
            inner = set(self.scopes[-1])
        function = frames.function_frame("R.dataflow")
        if frame.returned is not None:
            function.result = frames.RenameVariables(frame.renamed).visit(frame.returned)
        for old in frame.outputs or ():
            self.define(node, old.name_hint, frame.renamed[old])
            self.places[frame.renamed[old]] = self.places.get(old, node)
        self._inner |= inner - {variable.name_hint for variable in frame.outputs or ()}

    def _if(self, node: ast.If) -> None:
        condition = self.value(node.test)
        if isinstance(condition, bool | int | None):
            self.body(node.body if condition else node.orelse)
            return
        if not node.orelse:
            raise self.source.error(
                node, "a condition has no else", "bind the same variable in both branches"
            )
        branches = []
        for suffix, body in (("then", node.body), ("else", node.orelse)):
            branch = BranchFrame(suffix)
            with self.scope(), self.framed(body[0], branch):
                self.body(body)
            branches.append(branch)
        var = self._checked(node, frames.emit_condition, condition, branches)
        self.define(node, var.name_hint, var)

    def _function(self, node: ast.FunctionDef) -> None:
        if not is_graph_function(self, node):
            raise self.source.error(
                header_of(node),
                "a function of loops stands inside of a function of a graph",
                "define it in the module",
            )
        kind = GraphVar if frames.open_dataflow() is None else DataflowVar
        var = kind(node.name, self.declaration(node))
        self.define(node, node.name, var)
        func = self.function(node)
        builder = frames.function_frame("a function").builder
        update_struct_info(var, func.struct_info_)  # with the sizes of the function itself
        builder.emit_normalized(VarBinding(var, func))


GraphParser.statements = {
    ast.With: GraphParser._with,
    ast.If: GraphParser._if,
    ast.Return: GraphParser._return,
    ast.Expr: GraphParser._expression,
    ast.Assign: GraphParser._assign,
    ast.AnnAssign: GraphParser._annotated,
    ast.FunctionDef: GraphParser._function,
    ast.Pass: lambda parser, node: None,
    ast.Nonlocal: lambda parser, node: None,  # names of the enclosing scope, which are read anyway
}


class ModuleFunctions:
    """The functions of a module while it is read: `cls.f` names one."""

    def __init__(self, functions: Mapping[str, GlobalVar]) -> None:
        self.functions = functions


def _refuse_values_of_graphs(function: Any, values: Sequence[Any], error: TypeError) -> None:
    """Refuse a call of a function of another library with values of a graph."""
    value = next((value for value in values if isinstance(value, GraphExpr)), None)
    name = getattr(function, "__name__", "")
    home = str(getattr(function, "__module__", None) or type(function).__module__)
    library = home.partition(".")[0].lstrip("_")
    if value is None or not name or library == "te_sched":
        return
    what = value.name_hint if isinstance(value, GraphVar) else "a value of a graph"
    word = word_of_graphs(name)
    advice = f"use R.{word}" if word else "use operators: dir(R) and dir(R.nn) list them"
    raise ScriptError(
        f"function {name} of {library} cannot be called with {what}",
        f"values of a graph are known when it runs: {type(error).__name__}: {error}",
        f"{advice}; R.call_pure_packed calls a registered function of Python",
    ) from None


def is_graph_function(reader: StatementReader, node: Any) -> bool:
    """Whether a definition is decorated with `R.function`."""
    return has_decorator(reader, node, "is_of_graphs")


def has_decorator(reader: StatementReader, node: Any, *marks: str) -> bool:
    """Whether a definition has a decorator with one of the attributes that mark functions."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        try:
            value = reader.value(target)
        except ScriptError:
            continue
        if any(getattr(value, mark, False) for mark in marks):
            return True
    return False
