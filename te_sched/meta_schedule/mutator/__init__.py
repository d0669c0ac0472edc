"""Mutators, by TVM's names."""

from __future__ import annotations

import sys

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.component import named
from te_sched.meta_schedule.mutator.base import Mutator as Mutator
from te_sched.meta_schedule.mutator.base import PyMutator as PyMutator
from te_sched.meta_schedule.mutator.changing import MutateComputeLocation as MutateComputeLocation
from te_sched.meta_schedule.mutator.changing import MutateParallel as MutateParallel
from te_sched.meta_schedule.mutator.changing import MutateThreadBinding as MutateThreadBinding
from te_sched.meta_schedule.mutator.changing import MutateTileSize as MutateTileSize
from te_sched.meta_schedule.mutator.changing import MutateUnroll as MutateUnroll
from te_sched.signatures import check_arguments


def create(kind: str) -> dict[Mutator, float]:
    """The mutators of a kind of target, with their chances.

    >>> {type(one).__name__: chance for one, chance in create("cuda").items()}
    {'MutateTileSize': 0.9, 'MutateUnroll': 0.08, 'MutateThreadBinding': 0.02}
    """
    processors: dict[Mutator, float] = {
        MutateTileSize(): 0.9,
        MutateComputeLocation(): 0.05,
        MutateUnroll(): 0.03,
        MutateParallel(max_jobs_per_core=16): 0.02,
    }
    gpus = {MutateTileSize(): 0.9, MutateUnroll(): 0.08, MutateThreadBinding(): 0.02}
    kinds = {"llvm": processors, "hexagon": processors, "cuda": gpus, "cuda-tensorcore": gpus}
    mutators: dict[Mutator, float] = named("kind of target", kinds, kind)
    return mutators


Mutator.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "MutateComputeLocation",
    "MutateParallel",
    "MutateThreadBinding",
    "MutateTileSize",
    "MutateUnroll",
    "Mutator",
    "PyMutator",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
