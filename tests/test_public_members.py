"""Attributes that objects lack: te_sched's errors, which Python's protocols do not meet."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import te_sched
from scripts.names import CLASSES
from te_sched import arith, nd, relax, te, tir
from te_sched.errors import AbsentNameError, DeclarationError, OperandError
from te_sched.public_members import PublicObject, is_function

A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] + 1, name="B")


class Counter(PublicObject):
    __slots__ = ("count",)
    searched = 0

    def __dir__(self) -> list[str]:
        type(self).searched += 1
        return ["count"]

    @property
    def failing(self) -> int:
        raise AttributeError("inner fault")


def function() -> tir.PrimFunc:
    return te.create_prim_func([A, B])


def graph() -> te_sched.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return builder.get()


def traced() -> Any:
    schedule = tir.Schedule(function())
    schedule.get_block("B")
    return schedule.trace


OBJECTS = [
    (lambda: te_sched.build(te.create_schedule(B), [A, B]), "time_evaluatr", "time_evaluator"),
    (relax.BlockBuilder, "emitt", "emit"),
    (lambda: te_sched.target.Target("llvm"), "knd", "kind"),
    (te_sched.cpu, "max_threads_per_blok", "max_threads_per_block"),
    (graph, "update_fun", "update_func"),
    (function, "bodi", "body"),
    (lambda: graph()["main"], "parms", "params"),
    (lambda: next(iter(function().buffer_map.values())), "shap", "shape"),
    (lambda: B.op.axis[0], "knd", "kind"),
    (traced, "inst", "insts"),
    (lambda: traced().insts[0], "input", "inputs"),
    (lambda: te.create_schedule(B).trace, "entrys", "entries"),
    (lambda: relax.build(graph()), "sttats", "stats"),
    (te_sched.transform.PassContext, "opt_levl", "opt_level"),
    (tir.transform.Simplify, "inffo", "info"),
    (te_sched.dlight.gpu.Matmul, "aply", "apply"),
    (lambda: A[0], "dtyp", "dtype"),
    (relax.PyExprMutator, "visit_exprr", "visit_expr"),
]


@pytest.mark.parametrize(("make", "name", "nearest"), OBJECTS)
def test_the_nearest_attribute_is_suggested(make: Any, name: str, nearest: str) -> None:
    with pytest.raises(AbsentNameError, match=f"has no attribute {name!r}") as caught:
        getattr(make(), name)
    assert f"did you mean {nearest!r}?" in caught.value.help
    assert caught.value.about[-1].file == __file__


def test_the_main_classes_refuse_attributes() -> None:
    read_often = [arith.Analyzer, nd.NDArray, te_sched.runtime.Function]
    assert [kind for kind in CLASSES.values() if not issubclass(kind, PublicObject)] == read_often


def test_hasattr_works_out_no_help() -> None:
    counter, before = Counter(), Counter.searched
    assert not hasattr(counter, "coun")
    assert getattr(counter, "coun", None) is None
    assert Counter.searched == before
    with pytest.raises(AbsentNameError, match=r"did you mean 'count'\?"):
        counter.coun  # noqa: B018
    assert Counter.searched == before + 1


@pytest.mark.parametrize("name", ["__array_interface__", "_repr_svg_", "_", "count"])
def test_names_that_python_looks_for_are_plain_errors(name: str) -> None:
    """Also a slot of an object that `__init__` has not filled."""
    with pytest.raises(AttributeError, match=name) as caught:
        getattr(Counter(), name)
    assert type(caught.value) is AttributeError


def test_a_property_that_fails_keeps_its_error() -> None:
    with pytest.raises(AttributeError, match=r"^inner fault$"):
        Counter().failing  # noqa: B018


def test_objects_without_near_names_list_theirs() -> None:
    with pytest.raises(AbsentNameError, match=r"use one of name, same_as$"):
        tir.schedule.LoopRV().extent  # noqa: B018


@pytest.mark.parametrize("make", [function, graph, traced, te_sched.cpu, lambda: A, lambda: B.op])
def test_objects_are_copied_and_pickled(make: Any) -> None:
    value = make()
    for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(twin) is type(value)
        with pytest.raises(AbsentNameError, match="nonsense"):
            twin.nonsense  # noqa: B018


def test_errors_are_pickled_with_their_help() -> None:
    with pytest.raises(AbsentNameError) as caught:
        A.shap  # noqa: B018
    twin = pickle.loads(pickle.dumps(caught.value))
    assert str(twin) == str(caught.value)
    assert "did you mean 'shape'?" in twin.help


def test_functions_of_modules_and_machines_are_named() -> None:
    with pytest.raises(AbsentNameError, match=r"use module\['main'\]"):
        graph().main  # noqa: B018
    machine = relax.VirtualMachine(relax.build(graph()), te_sched.cpu())
    with pytest.raises(AbsentNameError, match=r"call its functions by name: machine\['main'\]\(x"):
        machine.main  # noqa: B018


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (function, r"function main is called before it is built(.|\n)*te_sched.build\(main\)"),
        (
            lambda: te_sched.IRModule({"f": function()}),
            r"a module is called.*(.|\n)*te_sched.build",
        ),
        (graph, r"a module is called(.|\n)*VirtualMachine\(executable, device\)\['main'\]"),
        (lambda: tir.Schedule(function()), r"te_sched.build\(sch.mod\)"),
        (lambda: tir.Schedule(function()).mod, r"a module is called before it is built"),
        (lambda: te.create_schedule(B), r"te_sched.build\(s, \[A, B\]\), and call the result"),
        (lambda: relax.build(graph()), r"VirtualMachine\(executable, device\)\['main'\]\("),
    ],
)
def test_programs_are_built_before_they_are_called(make: Any, message: str) -> None:
    program = make()
    with pytest.raises(OperandError, match=message):
        program(np.ones(8, "float32"))
    assert not is_function(program)
    with pytest.raises(DeclarationError, match="is not a pass"):
        te_sched.transform.Sequential([program])


@pytest.mark.parametrize("array", [np.ones(4, "float32"), nd.array(np.ones(4, "float32"))])
def test_functions_of_graphs_reject_arrays(array: Any) -> None:
    message = r"is not an expression of a graph(.|\n)*relax.const(.|\n)*relax.build"
    for take in (graph()["main"], relax.GlobalVar("main"), relax.Tuple):
        with pytest.raises(DeclarationError, match=message):
            take(array)


def test_dir_shows_no_private_names() -> None:
    schedule = te.create_schedule(B)
    shown = (schedule, schedule[B], tir.Schedule(function()), A, tir.Schedule, te.Stage)
    private = [name for one in shown for name in dir(one) if name[0] == "_" and name[:2] != "__"]
    assert private == []


ITEMS = [
    (lambda: tir.Schedule(function()), "tir.Schedule", r"use sch.get\(handle\)"),
    (lambda: tir.Schedule(function()).get_block("B"), "BlockRV", r"use sch.get\(block\)"),
    (lambda: tir.Schedule(function()).get_loops("B")[0], "LoopRV", r"use sch.get\(loop\)"),
    (lambda: te.create_schedule(B)[B], "Stage", "leaf_iter_vars"),
    (lambda: te.create_schedule(B).trace, "Trace", "trace.entries"),
    (lambda: B.op, "ComputeOp", "its tensors are outputs"),
    (Counter, "Counter", "use one of count"),
]


@pytest.mark.parametrize(("make", "kind", "help"), ITEMS)
def test_objects_without_items_refuse_indices(make: Any, kind: str, help: str) -> None:
    with pytest.raises(OperandError, match=rf"^{kind!r} object cannot be indexed") as caught:
        make()[0]
    assert re.search(help, caught.value.help)
    assert caught.value.about[-1].file == __file__
    assert isinstance(caught.value, TypeError)


def test_objects_without_items_are_not_iterable() -> None:
    assert not isinstance(Counter(), Iterable)
    with pytest.raises(OperandError, match="cannot be indexed or iterated"):
        list(Counter())
    assert np.array(Counter()).shape == ()
