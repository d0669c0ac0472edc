"""Examples of nodes."""

from __future__ import annotations

from te_sched import tir
from te_sched.tir.constructors import Constructor
from te_sched.tir.node_examples import example_of


def test_every_node_that_is_constructed_has_an_example() -> None:
    constructed = {name for name in dir(tir) if isinstance(getattr(tir, name), Constructor)}
    for name in constructed:
        kind = getattr(tir, name).kind.__name__
        assert f"tir.{kind}" in example_of(kind), name
