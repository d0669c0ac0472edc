"""Properties of GPUs, and the nvcc compiler."""

from __future__ import annotations

import pytest

from te_sched.compat import nvcc
from te_sched.errors import BuildError


def test_versions_are_two_numbers() -> None:
    assert nvcc.parse_compute_version("8.6") == (8, 6)
    assert nvcc.parse_compute_version("9") == (9, 0)


def test_newer_devices_have_more() -> None:
    versions = ("5.2", "5.3", "6.0", "6.1", "7.0", "9.0")
    assert [nvcc.have_fp16(version) for version in versions] == [False, *[True] * 5]
    assert [nvcc.have_int8(version) for version in versions] == [*[False] * 3, *[True] * 3]
    assert [nvcc.have_tensorcore(version) for version in versions] == [*[False] * 4, *[True] * 2]


def test_a_compiler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="compile CUDA source with nvcc"):
        nvcc.compile_cuda("__global__ void f() {}")
