"""Texts of graphs."""

from __future__ import annotations

from te_sched import relax


def described(func: relax.Function) -> list[str]:
    """The bindings of a function, without struct infos."""
    return [
        f"{one.var.name_hint}{'' if isinstance(one.var, relax.DataflowVar) else '*'} = {one.value}"
        for block in func.body.blocks
        for one in block.bindings
    ]
