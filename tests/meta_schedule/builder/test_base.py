"""Inputs and results of builders, and builders by name."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.builder.base import Builder, BuilderInput, BuilderResult
from tests.meta_schedule.programs import LLVM, MODULE


@pytest.mark.parametrize("params", [None, {}, {"w": 3}])
def test_inputs_have_their_own_parameters(params):
    made = BuilderInput(MODULE, LLVM, params)
    assert (made.mod, made.target, made.params) == (MODULE, LLVM, params)
    if params is not None:
        params["x"] = 1
        assert "x" not in made.params


def test_results_have_a_path_or_a_message():
    made = BuilderResult(None, "cannot be built")
    assert (made.artifact_path, made.error_msg) == (None, "cannot be built")


def test_builders_are_created_by_name():
    builder = Builder()
    assert ms.builder.create(builder) is builder
    builder.close()
    with pytest.raises(DeclarationError, match="class Builder has no method build"):
        builder.build([])
