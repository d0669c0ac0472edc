"""The schedule primitives, one by one: the program, its loops before the primitive, and after it.

    python -m tutorials.01_primitives              all of them
    python -m tutorials.01_primitives split tile   some of them

In each program the primitive is what stands between the first `yield` and the second.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

import te_sched
from tests.golden import corpus


def lesson(tvm: Any, program: corpus.Program) -> str:
    """What there is to see of one primitive."""
    loops = [
        corpus.function_of(str(tvm.lower(schedule, args, simple_mode=True)))
        for schedule, args in program.steps(tvm)
    ]
    title = inspect.getdoc(program.module) or program.name
    parts = [
        f"{title}\n{'=' * len(title)}",
        inspect.getsource(program.module.steps).rstrip(),
        *(f"# {name}\n{text}" for name, text in zip(program.step_names(), loops, strict=True)),
    ]
    return "\n\n".join(parts) + "\n"


def main(words: Sequence[str]) -> None:
    for program in corpus.programs("primitives"):
        if not words or any(word in program.name for word in words):
            print(lesson(te_sched, program))


if __name__ == "__main__":
    main(sys.argv[1:])
