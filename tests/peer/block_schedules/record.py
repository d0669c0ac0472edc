"""Runs random steps in TVM and prints what it does, an event in JSON a line.

python -m tests.peer.block_schedules.record FIRST COUNT
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import tvm

from tests.peer.block_schedules.sources import instance, is_right
from tests.peer.block_schedules.steps import State, namespace, step


def state_of(schedule: Any) -> State:
    """The blocks whose names are unique, with the extents of their loops (1 if unknown)."""
    probe, names = schedule.copy(), []

    def note(node: Any) -> None:
        if isinstance(node, tvm.tir.Block):
            names.append(str(node.name_hint))

    tvm.tir.stmt_functor.post_order_visit(schedule.mod["main"].body, note)
    found = [name for name in names if names.count(name) == 1 and name != "root"]
    loops = {name: probe.get_loops(probe.get_block(name)) for name in found}
    return {name: [extent_of(probe.get(one)) for one in many] for name, many in loops.items()}


def extent_of(loop: Any) -> int:
    """A constant extent, or 1."""
    return int(loop.extent) if isinstance(loop.extent, tvm.tir.IntImm) else 1


def record(seed: int) -> None:
    """Print what TVM does in a program."""
    rng = random.Random(seed)
    program, for_gpu = instance(rng), rng.random() < 0.25
    schedule = tvm.tir.Schedule(tvm.script.from_source(program.text), seed=1)
    send(seed=seed, gpu=for_gpu)
    send(script=schedule.mod.script())
    for _ in range(rng.randint(2, 8)):
        try:
            state = state_of(schedule)
        except Exception:  # a refused primitive of TVM may leave a schedule that it cannot read
            break
        if not state:
            break
        call = step(rng, state, for_gpu)
        send(step=call)
        try:
            eval(call, namespace(tvm, schedule))
        except Exception as error:  # any of TVM's
            send(refused=str(error))
        else:
            send(script=schedule.mod.script())
    send(trace=str(schedule.trace))
    send(lowering=True)
    try:
        send(lowered=tvm.lower(schedule.mod).script())
    except Exception as error:
        send(lowered="", why=str(error)[-400:])
    else:
        if not for_gpu:
            send(running=True)
            send(right=is_right(tvm, schedule.mod, program, "llvm"))
    send(end=True)


def send(**event: Any) -> None:
    """Print an event, at once: the next call may end the process."""
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        record(number)
