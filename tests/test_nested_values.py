"""Programs, graphs and values that are nested more deeply than Python recurses.

Every public function that may recurse over them either recurses further or fails with an error of
te_sched: `checked` and `walks_deeply` see to it, and the call graph says where one is missing.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

import te_sched
from te_sched import relax, te, tir
from te_sched.deep_recursion import WRAPPERS
from te_sched.errors import GraphError
from te_sched.views.loop_tree import loop_tree
from tests.call_graph import CallGraph

# Functions whose recursion does not follow what users nest, or only as deep as a type or a class.
SHALLOW = {
    "te_sched.deep_recursion:": "the probe of the room for a thread",
    "te_sched.errors:": "the parts of an error",
    "te_sched.signatures:": "annotations",
    "te_sched.ir.dtypes:": "a dtype of lanes",
    "te_sched.ir.graph:Tuple.__post_init__": "asks for the class of a value",
    "te_sched.ir.graph:_expressions": "asks for the class of a value",
    "te_sched.ir.ops:": "operands are converted once",
    "te_sched.arith.build:": "operands are converted once",
    "te_sched.arith.analyzer:Analyzer.settings": "of the rewriter",
    "te_sched.codegen.": "a target and its host; the protected compiler",
    "te_sched.runtime.": "arrays of other libraries",
    "te_sched.target:": "functions by target",
    "te_sched.pass_context:": "a context makes the default one",
    "te_sched.instrument:": "passes inside of passes",
    "te_sched.cli.": "commands",
    "te_sched.compat.": "modules of the names of TVM",
    "te_sched.autotvm.": "contexts, and the knobs of a space",
    "te_sched.relax.frontend.nn.": "modules inside of modules, which classes nest",
    "te_sched.relax.testing.nn:": "modules inside of modules, which classes nest",
    "te_sched.tir.block_scope:": "a reference makes that of its parent when asked",
}
# Public functions that only run as parts of others, which are protected.
PARTS = (
    "te_sched.meta_schedule.",  # rules, mutators and so on run in a search
    "te_sched.dlight.",  # rules run in ApplyDefaultSchedule.scheduled
    "te_sched.tir.analysis.OOBChecker",  # makes a pass
    "te_sched.tir.transform.",  # they make passes, which `passes._run` runs
    *("te_sched.relax.transform.", "te_sched.relax.backend.", "te_sched.transform."),
    "te_sched.relax.PyExpr",  # methods that `visit_expr` calls
    "te_sched.relax.ExprFunctor.",
    "te_sched.relax.expr_functor.",
    "te_sched.relax.utils.ArgsConverter",  # converts the arguments of a function that is checked
    *("te_sched.script.parser.", "te_sched.script.words.", "te_sched.script.graph_words."),
    *("te_sched.script.tir.", "te_sched.script.relax."),  # words run while a script is read
    "te_sched.ir.expr.Shuffle.",  # looks at constants
    "te_sched.relax.dpl.",  # `search` and `matches` run in what matches
    "te_sched.arith.",  # `compat.arith` has the public analyzer
)


def is_protected(function: Any) -> bool:
    while function is not None:
        if getattr(function, "__code__", None) in WRAPPERS:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def function_of(member: Any) -> FunctionType | None:
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if isinstance(member, property):
        member = member.fget
    return member if isinstance(member, FunctionType) else None


def modules() -> Iterator[Any]:
    for module in pkgutil.walk_packages(te_sched.__path__, "te_sched."):
        if not module.name.startswith(("te_sched.compat", "te_sched.__main__")):
            try:
                yield importlib.import_module(module.name)
            except ImportError:  # of what is not installed
                continue


def public_functions(found: list[Any]) -> Iterator[tuple[str, FunctionType]]:
    """The functions and methods of the names in `__all__`, with their public names."""
    for module in found:
        for name in getattr(module, "__all__", ()):
            value, place = getattr(module, name, None), f"{module.__name__}.{name}"
            if isinstance(value, FunctionType):
                yield place, value
            elif isinstance(value, type) and value.__module__.startswith("te_sched"):
                for base in value.__mro__:
                    members = vars(base) if base.__module__.startswith("te_sched") else {}
                    for key, member in members.items():
                        function = function_of(member)
                        if function and (key[0] != "_" or key.startswith("__")):
                            yield f"{place}.{key}", function


def name_in_graph(function: Any) -> str:
    inner = inspect.unwrap(function)
    return f"{inner.__module__}:{inner.__qualname__}"


def protected_where_defined(graph: CallGraph) -> set[str]:
    found = set()
    for name in graph.functions:
        module, _, path = name.partition(":")
        value: Any = sys.modules.get(module)
        for part in path.split("."):
            value = vars(value).get(part) if hasattr(value, "__dict__") else None
        if is_protected(function_of(value)):
            found.add(name)
    return found


def test_public_functions_that_recurse_are_protected() -> None:
    graph, loaded = CallGraph(), list(modules())
    protected = protected_where_defined(graph)
    recursive = {
        name
        for group in graph.recursive(without=protected)
        if not all(name.endswith("__init__") for name in group)  # objects that make each other
        for name in group
        if not name.startswith((*SHALLOW,))
    }
    assert len(recursive) > 800
    reaching = graph.reaching(recursive, protected)
    unprotected = {
        place: reaching[name_in_graph(function)]
        for place, function in public_functions(loaded)
        if name_in_graph(function) in reaching
        and not is_protected(function)
        and not place.startswith(PARTS)
    }
    assert not unprotected


DEPTH = 1200  # Python's limit is 1000


@pytest.fixture(autouse=True)
def _usual_limit() -> Iterator[None]:
    """Python's limit: libraries that other tests import may have raised it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def nested(make: Any, value: Any) -> Any:
    for _ in range(DEPTH):
        value = make(value)
    return value


def tensor() -> Any:
    return relax.Var("x", relax.TensorStructInfo((4,), "float32"))


def nested_info() -> Any:
    return nested(lambda info: relax.TupleStructInfo([info]), tensor().struct_info)


def test_list_of_lists_becomes_a_tuple() -> None:
    value = relax.convert_to_expr(nested(lambda value: [value], tensor()))
    assert isinstance(value, relax.Tuple)


def test_struct_infos_are_analyzed() -> None:
    info = nested_info()
    n = tir.Var("n", "int64")
    other = nested(lambda info: relax.TupleStructInfo([info]), relax.TensorStructInfo((n,), "int8"))
    assert relax.analysis.struct_info_base_check(info, other).name == "FAIL_L0"
    assert relax.analysis.tir_vars_in_struct_info(other) == [n]
    assert relax.analysis.struct_info_lca(info, info) == info
    assert str(info).count("R.Tuple(") == DEPTH


def test_struct_infos_of_other_depths_differ_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools such as pytest compare the arguments of all frames of an endless recursion."""
    info = nested_info()
    comparing = sys.modules["te_sched.ir.structural_hash"]  # the module, not the function
    monkeypatch.setattr(comparing, "structural_equal", None)
    part = info
    while isinstance(part, relax.TupleStructInfo):
        part = part.fields[0]
        assert info != part
    assert info == info
    ret = relax.ObjectStructInfo()
    assert relax.FuncStructInfo([info], ret) != relax.FuncStructInfo([info.fields[0]], ret)


def test_patterns_are_matched_and_copied() -> None:
    pattern = nested(lambda part: relax.dpl.is_tuple([part]), relax.dpl.wildcard())
    assert pattern.dup().match(nested(lambda part: relax.Tuple([part]), tensor()))


def test_expressions_are_analyzed() -> None:
    i, n = te.var("i"), te.var("n")
    total: Any = i
    for k in range(DEPTH):
        total = tir.Add(total, n) if k % 2 else tir.Max(total, n)
    assert te_sched.arith.detect_linear_equation(total, [i]) is None


def test_statements_are_shown() -> None:
    pointer = te.var("A", "handle")
    A = tir.decl_buffer((4,), "int32", "A")
    store: Any = tir.BufferStore(A, 1, [0])
    for k in range(DEPTH):
        store = tir.IfThenElse(te.var(f"c{k}") > 0, store)
    params = [pointer]
    func = tir.PrimFunc(params, store, buffer_map={pointer: A})
    assert loop_tree(func)


def test_visitor_rejects_a_graph_that_is_nested_too_deeply() -> None:
    """It may have side effects, so that it is not called again."""
    visitor = type("Visitor", (relax.PyExprVisitor,), {})()
    with pytest.raises(GraphError, match="visit an expression of a graph"):
        visitor.visit_expr(nested(lambda part: relax.Tuple([part]), tensor()))
