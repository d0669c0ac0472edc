"""Mutators by kind of target."""

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError


def test_mutators_of_a_kind_have_probabilities():
    chosen = ms.Mutator.create("llvm")
    assert all(isinstance(one, ms.Mutator) for one in chosen)
    assert sum(chosen.values()) == pytest.approx(1.0)
    with pytest.raises(DeclarationError, match="'tpu' is not a kind of target"):
        ms.Mutator.create("tpu")
    with pytest.raises(DeclarationError, match="class Mutator has no method apply"):
        ms.Mutator().apply(None)
