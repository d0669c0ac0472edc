"""Resource usage, read from reports as ptxas prints them."""

from __future__ import annotations

import pytest

from te_sched.codegen.cuda.resources import ResourceUsage, read_usage

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    800 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 4096+0 bytes smem, 368 bytes cmem[0], \
8 bytes cmem[2]
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Used 8 registers, 352 bytes cmem[0]
"""


def test_every_kernel_of_a_report() -> None:
    assert read_usage(REPORT) == {
        "first": ResourceUsage(24, 4096, 800, 16, 24, 376, 1),
        "second": ResourceUsage(8, constant_bytes=352),  # nothing is left of the first
    }


def test_functions_that_are_not_kernels_are_not_counted() -> None:
    lines = REPORT.splitlines()
    assert read_usage("\n".join(lines[3:5])) == {}
    assert read_usage("") == {}


@pytest.mark.parametrize(
    ("numbers", "usage"),
    [
        ("Used 40 registers", ResourceUsage(40)),
        ("Used 40 registers, 128 bytes smem", ResourceUsage(40, 128)),
        ("Used 40 registers, used 16 barriers, 0+64 bytes smem", ResourceUsage(40, barriers=16)),
    ],
)
def test_numbers_that_are_left_out_are_zero(numbers: str, usage: ResourceUsage) -> None:
    assert read_usage(f"Compiling entry function 'f' for 'sm_90'\n{numbers}") == {"f": usage}
