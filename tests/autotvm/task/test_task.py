"""Templates, tasks and dispatch contexts."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import autotvm, target, te
from te_sched.autotvm.task import topi_integration
from te_sched.autotvm.task.dispatcher import clear_fallback_cache
from te_sched.autotvm.task.task import (
    Task,
    args_to_workload,
    create,
    deserialize_args,
    lookup_task,
    serialize_args,
)
from te_sched.errors import DeclarationError, TeSchedError
from tests.autotvm.task.scaled import scaled
from tests.autotvm.templates import expected_product, product, task_of


def test_a_task_has_the_space_of_its_template() -> None:
    task = task_of(8)
    assert len(task.config_space) == 16
    assert (task.flop, task.workload) == (1024, ("tests/product", 8))
    text = "Task(func_name=tests/product, args=(8,), kwargs={}, workload=('tests/product', 8))"
    assert str(task) == text


@pytest.mark.parametrize("index", [0, 6, 15])
def test_a_task_makes_the_schedule_of_a_configuration(index: int) -> None:
    task = task_of(8)
    config = task.config_space.get(index)
    s, args = task.instantiate(config)
    assert config.flop == 1024
    a, b, c = expected_product(8)
    found = np.zeros((8, 8), "float32")
    te_sched.build(s, args)(a, b, found)
    np.testing.assert_allclose(found, c, rtol=1e-5)


def test_a_template_may_be_given_in_place_of_its_name() -> None:
    assert create(product, (4,), "llvm", "llvm").target_host.kind == "llvm"


def test_a_template_without_a_name_has_that_of_its_function() -> None:
    @autotvm.template
    def tests_unnamed(n: int) -> Any:
        return product(n)

    assert tests_unnamed.task_name == "tests_unnamed"
    assert create("tests_unnamed", (4,), "llvm").flop == 128


def test_a_task_is_sent_to_other_processes_without_its_template() -> None:
    task = pickle.loads(pickle.dumps(task_of(8)))
    assert len(task.config_space) == 16
    assert task.func is lookup_task("tests/product")


def test_a_template_has_a_fallback_outside_of_contexts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = []

    @autotvm.template("tests/fallback")
    def template(n: int) -> None:
        found.append(autotvm.get_config())

    with caplog.at_level(logging.WARNING, "autotvm"):
        template(2)
        template(2)
    assert found[0].is_fallback
    assert found[0] is found[1]
    assert caplog.text.count("Cannot find config for target=None") == 1
    clear_fallback_cache(None, ("tests/fallback", 2))
    template(2)
    assert found[2] is not found[1]


def test_arguments_are_serialized_and_declared_again() -> None:
    A = te.placeholder((2, 3), name="A", dtype="int8")
    args = [A, [1, (2, "x")], None, 2.5, te.const(3, "int32"), np.int64(4)]
    found = serialize_args(args)
    assert found == (("TENSOR", (2, 3), "int8"), (1, (2, "x")), None, 2.5, 3, 4)
    tensor, *rest = deserialize_args(found)
    assert (tensor.shape[1].value, tensor.dtype, rest[0]) == (3, "int8", (1, (2, "x")))
    assert args_to_workload([1]) == (1,)


def test_a_task_rejects_a_half_of_a_template() -> None:
    topi_integration.register_topi_compute("tests/half.topi", scaled.__wrapped__)
    with pytest.raises(TeSchedError, match="has no template of its own, and not both"):
        create("tests/half.topi", (te.placeholder((8,), name="A"),), "llvm")


def test_a_name_is_registered_once() -> None:
    with pytest.raises(DeclarationError, match="another function is registered for task tests/pr"):
        autotvm.template("tests/product", lambda n: None)


def test_a_template_is_a_function_with_a_name() -> None:
    with pytest.raises(DeclarationError, match="cannot register 5 as a template"):
        autotvm.template("tests/five", 5)
    with pytest.raises(DeclarationError, match="cannot register 5 as a template"):
        autotvm.template(5)


def test_a_missing_template_is_refused() -> None:
    with pytest.raises(TeSchedError, match=r"(?s)no template 'tests/produc'.*tests/product"):
        create("tests/produc", (4,), "llvm")
    assert Task("tests/produc", (4,)).workload == ("tests/produc", 4)


def test_a_template_rejects_keyword_arguments() -> None:
    with pytest.raises(DeclarationError, match="has no keyword arguments, got n"):
        product(n=4)


def test_a_template_must_return_a_schedule() -> None:
    @autotvm.template("tests/nothing")
    def nothing(n: int) -> None:
        autotvm.get_config()

    with pytest.raises(DeclarationError, match="template tests/nothing returned None"):
        create("tests/nothing", (4,), "llvm")


def test_arguments_of_other_types_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for argument in ({}, endless):
        with pytest.raises(DeclarationError, match="a task cannot have argument"):
            serialize_args([argument])


def test_the_target_is_in_scope_while_a_space_is_defined() -> None:
    seen = []

    @autotvm.template("tests/target")
    def template(n: int) -> Any:
        seen.append(target.Target.current())
        return product(n)

    create("tests/target", (4,), "llvm -mcpu=core-avx2")
    assert seen[0].mcpu == "core-avx2"


def test_template_that_returns_one_tensor_is_refused():
    @autotvm.template("tests/one_tensor")
    def one_tensor(n):
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
        return te.create_schedule(B.op), B

    with pytest.raises(DeclarationError, match=r"returned a tuple(.|\n)*list of its"):
        autotvm.task.create("tests/one_tensor", args=(8,), target="llvm")
