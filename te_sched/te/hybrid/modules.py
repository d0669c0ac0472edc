"""Hybrid scripts as text: made by `te.hybrid.build`, saved to files and loaded from them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from te_sched import files
from te_sched.errors import CallError, TeSchedError
from te_sched.public_members import PublicObject
from te_sched.python_expressions import BINARY, check_operation
from te_sched.signatures import checked
from te_sched.te.hybrid.runtime import HYBRID_GLOBALS
from te_sched.te.hybrid.scripts import Script
from te_sched.te.hybrid.translate import OPERATORS, TEXT_ATTRIBUTES, assigned_names

_BUILTINS = {function.__name__: function for function in (range, len, min, max, abs)}
# The language of a script that is loaded. It must stay closed: no call of anything but words, no
# attribute of objects but these.
_NODES = (
    *(ast.For, ast.If, ast.Assign, ast.AugAssign, ast.Assert, ast.Return, ast.Pass),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.Not, ast.IfExp),
    *(ast.Constant, ast.Name, ast.Tuple, ast.Subscript, ast.Attribute, ast.Call),
    *(ast.Expr, ast.keyword, ast.expr_context),
    *OPERATORS,
)


class HybridModule(PublicObject):
    """A hybrid script as text, with a name.

    Called with tensors it declares the operation, with numpy arrays it runs as Python.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] * 2, name="B")
    >>> module = te.hybrid.build(te.create_schedule(B.op), [A], [B], "double")
    >>> print(module.get_source())
    def double(A):
        B = output_tensor((4,), 'float32')
        for i in range(4):
            B[i] = A[i] * 2.0
        return B
    >>> module(np.arange(4, dtype="float32"))
    array([0., 2., 4., 6.], dtype=float32)
    >>> module(A)
    Tensor(shape=[4], op.name=double)
    """

    @checked
    def __init__(self, src: str | None = None, name: str | None = None) -> None:
        self.name = name or ""
        self._script: Script | None = None
        if src is not None:
            self._read(src, f"<{name or 'hybrid script'}>")

    def __call__(self, *args: Any) -> Any:
        """The output tensors for tensors and variables; the values for arrays and numbers."""
        try:
            return self._loaded()(*args)
        except (TeSchedError, AssertionError):  # of an `assert` of the script
            raise
        except Exception as error:
            raise CallError(
                f"hybrid script {self.name} fails: {type(error).__name__}: {error}",
                "",
                "give other arguments, or correct the script",
            ) from error

    def __repr__(self) -> str:
        return f"<te.hybrid.HybridModule {self.name}>"

    def get_source(self) -> str:
        """The text of the script."""
        return self._loaded().source

    def save(self, path: Any) -> None:
        """Write the text to a file."""
        files.write(path, self.get_source() + "\n", "save a hybrid script to", mark="def ")

    def load(self, path: Any) -> None:
        """Read the text of a file: one function, which uses only what hybrid scripts have.

        Raises
        ------
        CallError where the file cannot be read, or has anything else.
        """
        text = files.read_text(path, "load", "give a file that HybridModule.save wrote")
        self._read(text.rstrip(), str(path))

    def _loaded(self) -> Script:
        if self._script is None:
            raise CallError("the HybridModule has no script", "", "load a file, or give its text")
        return self._script

    def _read(self, source: str, file: str) -> None:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise _refused(file, f"it is not Python: {error}") from None
        self.name = _checked_name(tree, file)
        names: dict[str, Any] = {**HYBRID_GLOBALS, "__builtins__": _BUILTINS, **_OPERATIONS}
        exec(compile(_limited(tree), file, "exec"), names)
        self._script = Script(names[self.name], source)


class _Limited(ast.NodeTransformer):
    """Writes the operators that make large values as calls, which check their operands."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._call(node, node.op, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self.visit(ast.copy_location(ast.BinOp(read, node.op, node.value), node))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _call(self, node: ast.AST, kind: ast.operator, left: ast.expr, right: ast.expr) -> ast.AST:
        name = f"_{type(kind).__name__}"
        if name not in _OPERATIONS:
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [left, right], [])
        return ast.copy_location(call, node)


def _operation(kind: type) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        check_operation(kind, a, b)
        return BINARY[kind](a, b)

    return combine


_OPERATIONS = {
    f"_{kind.__name__}": _operation(kind) for kind in (ast.Add, ast.Mult, ast.Mod, ast.LShift)
}


def _limited(tree: ast.Module) -> ast.Module:
    """A script in which the size of what operators make is limited."""
    limited: ast.Module = ast.fix_missing_locations(_Limited().visit(tree))
    return limited


def _checked_name(tree: ast.Module, file: str) -> str:
    """The name of a script's function; CallError if the text has anything else."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or len(tree.body) != 1:
        raise _refused(file, "it is not one function")
    function = functions[0]
    parameters = function.args
    header = ast.unparse(function).partition("\n")[0]
    if (
        header
        != f"def {function.name}({', '.join([parameter.arg for parameter in parameters.args])}):"
    ):
        raise _refused(file, "its parameters are more than names", function)
    own = {*(parameter.arg for parameter in parameters.args), *assigned_names(function)}
    words = {*HYBRID_GLOBALS, *_BUILTINS} - own
    for stmt in function.body:
        for node in ast.walk(stmt):
            if not isinstance(node, _NODES):
                raise _refused(file, f"hybrid scripts have no {type(node).__name__}", node)
            if isinstance(node, ast.Attribute) and node.attr not in TEXT_ATTRIBUTES:
                raise _refused(file, f"hybrid scripts have no attribute {node.attr}", node)
            if isinstance(node, ast.Name) and node.id not in own | words:
                raise _refused(file, f"name {node.id} is not defined", node)
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) not in words:
                raise _refused(file, f"it calls {ast.unparse(node.func)}", node)
    return function.name


def _refused(file: str, why: str, node: ast.AST | None = None) -> CallError:
    line = getattr(node, "lineno", None)
    where = f"{file}:{line}" if line is not None else file
    return CallError(
        f"cannot load {where} as a hybrid script: {why}",
        "",
        "give the text of one plain function, as HybridModule.save writes it",
    )
