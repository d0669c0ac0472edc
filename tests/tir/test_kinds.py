"""Kinds of loops and of effects of calls."""

from __future__ import annotations

from te_sched import tir
from te_sched.tir.kinds import CallEffectKind, ForKind


def test_kinds_of_loops_are_those_of_their_field() -> None:
    loop = tir.For(tir.Var("i"), 0, 4, ForKind.UNROLLED, tir.Evaluate(0))
    assert loop.kind == ForKind.UNROLLED == "unrolled"
    assert tir.For(tir.Var("i"), 0, 4, 2, tir.Evaluate(0)).kind == ForKind.VECTORIZED


def test_stronger_effects_are_larger() -> None:
    order = [CallEffectKind.ExprAnnotation, CallEffectKind.Pure, CallEffectKind.ReadState]
    assert order == sorted(order)
    assert CallEffectKind.Opaque is CallEffectKind.UpdateState
