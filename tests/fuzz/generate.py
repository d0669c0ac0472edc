"""The case of a kind and a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz import blocks, hostile, models, shapes, special, tensorir
from tests.fuzz.case import Case
from tests.fuzz.declaring import Declarations
from tests.fuzz.extremes import Extremes, bind_threads
from tests.fuzz.kernels import generate_kernel
from tests.fuzz.looking_up import Indices
from tests.fuzz.mischief import Mischief
from tests.fuzz.scheduling import Careful
from tests.fuzz.sizes import generate_sizes
from tests.peer.differential.dataflow import Dataflow
from tests.peer.differential.generate import generate as generate_threads
from tests.peer.differential.gpu_kernels import generate_kernels
from tests.peer.differential.program import Program


def generate(kind: str, number: int) -> Case:
    """The case of a seed."""
    return _GENERATORS[kind](random.Random(f"{kind} {number}"), number)


def _legal(rng: random.Random, number: int) -> Case:
    program = _declare(number, Declarations(rng))
    return Case("legal", replace(program, steps=Careful(rng, program, gpu=False).run()))


def _indices(rng: random.Random, number: int) -> Case:
    program = _declare(number, Indices(rng))
    steps = Careful(rng, program, gpu=False).run()
    return Case("indices", replace(program, steps=steps), sanitize=rng.random() < 0.25)


def _calls(rng: random.Random, number: int) -> Case:
    program = _declare(number, Declarations(rng))
    steps = Careful(rng, program, gpu=False).run()
    calls = Mischief(rng, program).spoil_call()
    return Case("calls", replace(program, steps=steps[: rng.choice((0, 0, 3, 9))]), calls=calls)


def _illegal(rng: random.Random, number: int) -> Case:
    program = _declare(number, Declarations(rng))
    steps = Careful(rng, program, gpu=False).run()
    mischief = Mischief(rng, program)
    what = rng.random()
    if what < 0.2:
        return Case("illegal", replace(mischief.spoil_declarations(), steps=steps))
    given: tuple[str, ...] = ()
    if what < 0.3:
        given = mischief.spoil_arguments()
    steps = steps if rng.random() < 0.7 else ()
    steps = mischief.spoil_schedule(steps, rng.choice((1, 1, 2, 3, 5, 8)))
    return Case("illegal", replace(program, steps=steps), given)


def _declare(number: int, flow: Dataflow) -> Program:
    flow.declare(flow.rng.choice((1, 1, 2, 2, 3, 4, 5)))
    program = Program(number, tuple(flow.values), flow.outputs(), sizes=dict(flow.sizes)).pruned()
    text = program.text()
    sizes = {n: size for n, size in program.sizes.items() if f"({n}" in text or f" {n}" in text}
    return replace(program, sizes=sizes)


def _values(rng: random.Random, number: int) -> Case:
    extremes = Extremes(rng)
    program = extremes.program(number)
    fillers = extremes.fillers(program)
    if rng.random() < 0.25:
        program = replace(program, steps=bind_threads(program))
        return Case("values", program, calls=fillers, target="cuda")
    steps = Careful(rng, program, gpu=False).run()
    return Case("values", replace(program, steps=steps), calls=fillers)


def _gpu(rng: random.Random, number: int) -> Case:
    is_kernel = rng.random() < 0.5
    program = generate_kernels(number) if is_kernel else generate_threads(number, gpu=True)
    if rng.random() < 0.4:
        return Case("gpu", program, target="cuda")
    steps = Mischief(rng, program).spoil_schedule(program.steps, rng.choice((1, 1, 2, 4)))
    return Case("illegal", replace(program, steps=steps), target="cuda")


_GENERATORS: dict[str, Callable[[random.Random, int], Case]] = {
    "legal": _legal,
    "illegal": _illegal,
    "calls": _calls,
    "gpu": _gpu,
    "values": _values,
    "kernels": generate_kernel,
    "sizes": generate_sizes,
    "indices": _indices,
    "hostile": hostile.generate,
    "blocks": blocks.generate,
    "models": models.generate,
    "special": special.generate,
    "shapes": shapes.generate,
    "tensorir": tensorir.generate,
}
KINDS = tuple(_GENERATORS)
