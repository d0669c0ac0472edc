"""Tasks of searches."""

import contextlib

import pytest

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.tune_context import TuneContext, normalized_module
from te_sched.target import Target
from tests.meta_schedule.programs import LLVM, MODULE, matmul, space


@pytest.mark.parametrize(
    ("method", "missing"),
    [("generate_design_space", "module"), ("post_tuning", "search strategy")],
)
def test_contexts_name_the_part_that_they_lack(method, missing):
    with pytest.raises(DeclarationError, match=f"task 'main' has no {missing}"):
        getattr(TuneContext(target=LLVM), method)()
    with pytest.raises(DeclarationError, match="task 'main' has no space generator"):
        TuneContext(MODULE, target=LLVM).generate_design_space()
    with pytest.raises(DeclarationError, match="cannot search for schedules of an int"):
        TuneContext(3)


def test_a_function_becomes_a_module():
    module = normalized_module(matmul.with_attr("global_symbol", "product"))
    assert list(module.functions) == ["main"]
    assert module["main"].attrs["global_symbol"] == "product"
    assert module["main"].attrs["tir.noalias"]
    assert normalized_module(te.create_prim_func(_copy()))["main"].attrs["global_symbol"] == "main"
    assert normalized_module(module) is module


def _copy():
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: A[i], name="B")]


@pytest.mark.parametrize(
    ("given", "current", "expected"),
    [("c", "cuda", "c"), (None, "cuda", "cuda"), (None, None, "llvm")],
)
def test_the_target_is_the_given_one_the_current_one_or_llvm(given, current, expected):
    with Target(current) if current else contextlib.nullcontext():
        assert TuneContext(MODULE, target=given).target.kind.name == expected


def test_seeds_follow_from_the_random_state():
    def forks(state):
        context = TuneContext(MODULE, rand_state=state)
        return [context.fork_seed() for _ in range(3)]

    assert forks(7) == forks(7)
    assert len({*forks(7), *forks(8)}) == 6
    assert forks(-1) != forks(-1)
    assert forks(None) != forks(None)


def test_copies_have_parts_of_their_own():
    context = TuneContext(
        MODULE, target=LLVM, space_generator=space(), search_strategy="replay-trace", num_threads=3
    )
    copy = context.clone()
    assert (copy.mod, copy.target, copy.num_threads) == (context.mod, LLVM, 3)
    assert copy.space_generator is not context.space_generator
    context.pre_tuning(1)
    copy.pre_tuning(1)  # whose search has not begun
    assert len(copy.generate_measure_candidates()) == 1
    copy.post_tuning()


def test_arguments_are_checked():
    with pytest.raises(DeclarationError, match="argument task_name of TuneContext is 3"):
        TuneContext(MODULE, task_name=3)
