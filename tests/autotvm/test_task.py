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
from te_sched.autotvm.task.dispatcher import (
    ApplyConfig,
    DispatchContext,
    FallbackContext,
    clear_fallback_cache,
)
from te_sched.autotvm.task.task import (
    Task,
    args_to_workload,
    create,
    deserialize_args,
    lookup_task,
    serialize_args,
)
from te_sched.errors import DeclarationError, TeSchedError
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


def test_the_innermost_context_decides() -> None:
    task = task_of(8)
    one, other = task.config_space.get(3), task.config_space.get(5)
    with ApplyConfig(one) as outer:
        with ApplyConfig(other) as inner:
            assert autotvm.get_config() is other
            inner.update(None, (), one)
            assert autotvm.get_config() is one
        assert DispatchContext.current is outer
    assert isinstance(DispatchContext.current, FallbackContext)


def test_a_context_without_an_answer_asks_those_around_it() -> None:
    class Empty(DispatchContext):
        def _query_inside(self, target: Any, workload: Any) -> None:
            return None

    config = task_of(8).config_space.get(3)
    with ApplyConfig(config), Empty():
        assert autotvm.get_config() is config
    with Empty():
        assert autotvm.get_config().is_fallback


def test_a_fallback_is_updated() -> None:
    config, context = task_of(8).config_space.get(3), FallbackContext()
    context.update(None, ("a",), config)
    assert context.query(None, ("a",)) is config


def test_a_context_must_answer() -> None:
    with pytest.raises(DeclarationError, match="DispatchContext has no method _query_inside"):
        DispatchContext().query(None, ())
    with pytest.raises(DeclarationError, match="DispatchContext has no method update"):
        DispatchContext().update(None, (), autotvm.ConfigSpace())


# Arguments.


def test_arguments_are_serialized_and_declared_again() -> None:
    A = te.placeholder((2, 3), name="A", dtype="int8")
    args = [A, [1, (2, "x")], None, 2.5, te.const(3, "int32"), np.int64(4)]
    found = serialize_args(args)
    assert found == (("TENSOR", (2, 3), "int8"), (1, (2, "x")), None, 2.5, 3, 4)
    tensor, *rest = deserialize_args(found)
    assert (tensor.shape[1].value, tensor.dtype, rest[0]) == (3, "int8", (1, (2, "x")))
    assert args_to_workload([1]) == (1,)


# Templates in two functions.


@topi_integration.register_topi_compute("tests/scaled.topi")
def scaled(cfg: Any, data: te.Tensor) -> te.Tensor:
    return te.compute(data.shape, lambda i: data[i] * 2.0, name="scaled")


@topi_integration.register_topi_schedule("tests/scaled.topi")
def schedule_scaled(cfg: Any, outs: list[te.Tensor]) -> Any:
    s = te.create_schedule([one.op for one in outs])
    axis = outs[0].op.axis[0]
    cfg.define_split("tile", axis, num_outputs=2)
    cfg["tile"].apply(s, outs[0], axis)
    return s


def test_an_operator_and_its_schedule_share_a_configuration() -> None:
    A = te.placeholder((8,), name="A")
    task = create("tests/scaled.topi", (A,), "llvm")
    assert len(task.config_space) == 4
    workload = ("tests/scaled.topi", ("TENSOR", (8,), "float32"))
    assert task.workload == workload
    B = scaled(A)
    assert topi_integration.get_workload([te.compute((8,), lambda i: B[i] + 1.0)]) == workload
    with ApplyConfig(task.config_space.get(2)):
        s = schedule_scaled([B])
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, a * 2)


def test_a_schedule_rejects_operators_of_other_tasks() -> None:
    A = te.placeholder((8,), name="A")
    with pytest.raises(TeSchedError, match=r"do not come from task tests/scaled\.topi"):
        schedule_scaled([te.compute((8,), lambda i: A[i], name="B")])


def test_a_task_rejects_a_half_of_a_template() -> None:
    topi_integration.register_topi_compute("tests/half.topi", scaled.__wrapped__)
    with pytest.raises(TeSchedError, match="has no template of its own, and not both"):
        create("tests/half.topi", (te.placeholder((8,), name="A"),), "llvm")


# Refusals.


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
