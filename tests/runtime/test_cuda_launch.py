"""The host's side of launches, with a driver that only writes down what it is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.lower.device.kernel import is_kernel
from te_sched.lower.device.pipeline import device_passes
from te_sched.runtime.build import build_functions
from te_sched.runtime.cuda_launch import Launcher, host_functions


class Kernels:
    """What the driver would launch."""

    def __init__(self) -> None:
        self.launches: list[Any] = []

    def launch(self, name: str, grid: Any, block: Any, shared: int, args: Any, stream: int) -> None:
        self.launches.append((name, grid, block, shared, [arg.value for arg in args], stream))


@pytest.fixture
def launcher() -> Launcher:
    found = Launcher.__new__(Launcher)
    found.kernels, found._rooms = Kernels(), {}  # type: ignore[assignment]
    found.allocate, found.free = (lambda size: 4096 + int(size)), (lambda address: 0)  # type: ignore[method-assign]
    return found


def test_host_launches_kernels_with_their_arguments(launcher: Launcher) -> None:
    n = te.var("n")
    A = te.placeholder((n, 64), name="A")
    B = te.compute((n, 64), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((n, 64), lambda i, j: B[i, 63 - j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        s[stage].bind(stage.op.axis[0], te.thread_axis("blockIdx.x"))
        s[stage].bind(stage.op.axis[1], te.thread_axis("threadIdx.x"))
    program = device_passes(te_sched.lower(s, [A, C])["main"])
    assert sum(map(is_kernel, program.functions.values())) == 2
    module = build_functions(host_functions(program, launcher, "test.launch"), "llvm")
    a, c = np.zeros((5, 64), "float32"), np.zeros((5, 64), "float32")
    module(a, c)
    first, second = launcher.kernels.launches  # type: ignore[attr-defined]
    assert [one[:4] for one in (first, second)] == [
        ("main_kernel", (5, 1, 1), (64, 1, 1), 0),
        ("main_kernel_1", (5, 1, 1), (64, 1, 1), 0),
    ]
    room = 4096 + 5 * 64 * 4
    assert {a.ctypes.data, room} <= set(first[4])
    assert {c.ctypes.data, room} <= set(second[4])


def test_empty_grids_are_not_launched(launcher: Launcher) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    program = device_passes(te_sched.lower(s, [A, B])["main"])
    module = build_functions(host_functions(program, launcher, "test.empty"), "llvm")
    empty = np.zeros(0, "float32")
    module(empty, empty.copy())
    assert launcher.kernels.launches == []  # type: ignore[attr-defined]
