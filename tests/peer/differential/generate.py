"""A random program from a seed."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.peer.differential.dataflow import Dataflow
from tests.peer.differential.lookups import Lookups
from tests.peer.differential.program import Program
from tests.peer.differential.scheduling import Scheduler


def generate(number: int, gpu: bool = False) -> Program:
    """The random program of a seed; one in five, or all with `gpu`, are for GPU threads."""
    rng = random.Random(number)
    flow = Lookups(rng) if number % 8 == 5 else Dataflow(rng)
    flow.declare(rng.choice((1, 2, 2, 3, 3, 4, 5)))
    program = Program(number, tuple(flow.values), flow.outputs(), sizes=dict(flow.sizes)).pruned()
    text = program.text()
    sizes = {
        name: size
        for name, size in program.sizes.items()
        if f"({name}" in text or f" {name}" in text
    }
    program = replace(program, sizes=sizes)
    steps = Scheduler(rng, program, gpu=rng.random() < 0.2 or gpu).run()
    return replace(program, steps=steps)
