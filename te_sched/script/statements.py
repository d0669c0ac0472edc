"""What the readers of scripts share: scopes of names, assignments and the dispatch of statements.

Must not know what the statements of a script mean.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from te_sched.errors import DeclarationError, ScriptError, repr_of
from te_sched.ir.expr import Var
from te_sched.script.evaluate import ScriptEvaluator
from te_sched.script.frames import ForFrame, Frame


class StatementReader(ScriptEvaluator):
    """Executes the statements of one script."""

    statements: ClassVar[Mapping[type, Callable[[Any, Any], None]]]  # by class of the tree
    kind_of_scripts: ClassVar[str]
    known_statements: ClassVar[str]
    # Advice on other statements: why there are none, and what to write.
    advice_on_statements: ClassVar[Mapping[type, tuple[str, str]]] = {}

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names that are forgotten afterwards."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    @contextmanager
    def framed(self, node: Any, frame: Frame) -> Iterator[Any]:
        """A frame that is open; what goes wrong when it opens or closes is an error of the node."""
        value = self._checked(node, frame.__enter__)
        try:
            yield value
        except BaseException as error:
            frame.__exit__(type(error), error, None)
            raise
        try:
            frame.__exit__(None, None, None)
        except ScriptError as error:
            if error.excerpt:
                raise
            raise self.source.error(node, error) from None

    def define(self, node: Any, name: str, value: Any) -> None:
        """Give a name a value in the innermost scope."""
        self.scopes[-1][name] = value

    def assign(self, target: Any, value: Any, bind: Callable[[Any, str, Any], Any]) -> None:
        """Assign to names, tuples and stars of them, as Python does."""
        for name, item in self.unpack(target, value):
            self.define(name, name.id, bind(name, name.id, item))

    def unpacked(self, target: Any, value: Any) -> list[Any]:
        """The values that are assigned to several names."""
        if isinstance(value, Frame) and not isinstance(value, ForFrame):
            value = self.enter(value)
        try:
            return super().unpacked(target, value)
        except (TypeError, DeclarationError):
            raise self.source.error(
                target,
                f"{'a variable' if isinstance(value, Var) else repr_of(value)} is one value, not "
                "several",
                "give it one name",
            ) from None

    def enter(self, frame: Frame) -> Any:
        """Open a frame that reaches to the end of the frame around it."""
        return frame.__enter__()

    def body(self, nodes: list[Any]) -> None:
        """Execute statements."""
        for node in nodes:
            self.statement(node)

    def statement(self, node: Any) -> None:
        """Execute a statement."""
        method = self.statements.get(type(node))
        if method is None:
            why, help = self.advice_on_statements.get(type(node), ("", ""))
            name = _STATEMENTS.get(type(node), type(node).__name__.lower())
            raise self.source.error(
                node,
                ScriptError(
                    f"{name!r} cannot stand in {self.kind_of_scripts}",
                    why,
                    help or f"use {self.known_statements}",
                ),
            )
        method(self, node)

    def node_of(self, error: Exception, node: Any) -> Any:
        """The part of a node that an error is about, or the node."""
        del error
        return node

    def _checked(self, node: Any, action: Callable[..., Any], *args: Any) -> Any:
        """Do something that may fail; the error shows the node."""
        try:
            return action(*args)
        except RecursionError:
            raise
        except ScriptError as error:
            if error.excerpt:
                raise
            raise self.source.error(node, error) from None
        except Exception as error:
            raise self.source.error(self.node_of(error, node), error) from None


# Python's words for statements that are not the names of their classes.
_STATEMENTS: dict[type, str] = {
    **{ast.AugAssign: "+=", ast.AnnAssign: "=", ast.FunctionDef: "def", ast.ClassDef: "class"},
    **{ast.AsyncFunctionDef: "async def", ast.AsyncFor: "async for", ast.AsyncWith: "async with"},
    **{ast.ImportFrom: "import", ast.TryStar: "try", ast.Delete: "del"},
}


def header_of(node: ast.FunctionDef | ast.ClassDef) -> ast.Pass:
    """The first line of a definition, as a node."""
    header = ast.copy_location(ast.Pass(), node)
    header.lineno, header.end_lineno = node.lineno, node.lineno
    return header
