"""Target strings: their kinds, options and refusals."""

from __future__ import annotations

import pytest

from te_sched import target
from te_sched.codegen.target import Target, as_target, check_available, target_after_program
from te_sched.errors import BuildError


@pytest.mark.parametrize("option", ["-vector-width=100", "-vector-width=x", "-fast-math=maybe"])
def test_meaningless_options_are_refused(option: str) -> None:
    with pytest.raises(BuildError, match=option.partition("=")[0].strip("-")):
        Target(f"llvm {option}")


def test_flag_is_no_other_options_value() -> None:
    target = Target("llvm -fast-math -opt-level=2")
    assert target.fast_math
    assert target.opt_level == 2
    assert (Target("llvm").fast_math, Target("llvm").opt_level) == (False, 3)


def test_targets_are_equal_by_what_they_mean() -> None:
    assert Target("llvm -keys=cpu") == Target("cpu") == Target({"kind": "llvm"})
    assert Target("llvm -keys=x") != Target("llvm") != Target("llvm", host="llvm")
    assert Target("nvidia/nvidia-a100") != Target("cuda -max_threads_per_block=1024 -arch=sm_80")


def test_scopes_nest_also_of_one_target():
    outer, inner = Target("llvm"), Target("cuda")
    with outer:
        with inner, outer:
            assert Target.current() is outer
        assert Target.current() is outer
    assert Target.current() is None


def test_spellings():
    of_mapping = Target({"kind": "llvm", "mcpu": "znver4", "libs": ["cblas", "mkl"]}, host="llvm")
    assert (of_mapping.kind.name, of_mapping.mcpu, of_mapping.libs) == (
        "llvm",
        "znver4",
        ["cblas", "mkl"],
    )
    assert of_mapping.host == Target("llvm")
    assert Target(of_mapping).host == Target("llvm")
    assert Target("opencl -device=mali").keys == ("mali", "gpu")
    assert Target("nvidia/geforce-rtx-3090").kind == "cuda"
    assert Target("nvidia/geforce-rtx-3090").arch == "sm_86"
    assert Target("nvidia/nvidia-a100 -arch=sm_90").arch == "sm_90"
    assert Target("apple/m1-gpu-restricted").kind == "metal"
    assert Target("apple/m2-gpu").max_threads_per_block == 1024
    assert Target("metal").max_threads_per_block == Target("rocm").max_num_threads == 256
    assert Target("opencl").max_shared_memory_per_block == 16384
    assert Target("aws/cpu/c5.9xlarge").export()["num-cores"] == 18
    assert Target("cuda").max_threads_per_block == 1024
    assert Target(Target("cuda -arch=sm_80").export()).arch == "sm_80"
    assert target.cuda(arch="sm_90").max_num_threads == 1024


@pytest.mark.parametrize("text", ["llvm -keys=a\0b", "cuda -arch=\ud800", {"kind": "llvm\0"}])
def test_target_rejects_zeros_and_halves_of_characters(text):
    with pytest.raises(BuildError, match="a null character or a lone surrogate"):
        Target(text)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (
            "llvm -mcpu znver4 -fast-math -mattr=+avx2,-fma",
            {"mcpu": "znver4", "fast-math": "1", "mattr": "+avx2,-fma"},
        ),
        ("cpu", {}),
        ("llvm -model='two words'", {"model": "two words"}),
        (f"llvm -model={'7' * 5000}", {"model": "7" * 5000}),
        ("aws/cpu/c5.large -mcpu=x", {"keys": "x86,cpu", "mcpu": "x", "num-cores": "1"}),
    ],
)
def test_options_are_read_and_written_again(text: str, options: dict[str, str]) -> None:
    target = Target(text)
    assert (target.kind, target.options) == ("llvm", options)
    again = Target(target.export())
    assert again == target
    assert hash(again) == hash(target)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("", "'' is not a target kind"),
        ("lvm", "'lvm' is not a target kind(?s:.*)llvm"),
        ("llvm -mcp=x", "'-mcp=x' is not an option of llvm(?s:.*)mcpu"),
        ("llvm 'x", "it cannot be parsed: No closing quotation"),
        ("llvm -opt-level=4", "opt-level must be 0 to 3, got '4'"),
        ({"mcpu": "x"}, "the mapping has no 'kind'"),
        (3, "expected a string"),
        ("llvm -num-cores=0", "num-cores must be an integer of at least 1, got '0'"),
        ("cuda -max_num_threads=x", "max_num_threads must be an integer of at least 1, got 'x'"),
        ("metal -thread_warp_size", "thread_warp_size must be an integer of at least 1, got ''"),
        ("cuda -registers_per_block=-8", "registers_per_block must be an integer of at least 1"),
        (f"llvm -num-cores={'9' * 5000}", "num-cores must be an integer of at least 1, got a str"),
        (f"llvm -vector-width={'64' * 3000}", "vector-width must be a multiple of 64 from 64 to"),
    ],
)
def test_target_rejects(target: object, fault: str) -> None:
    with pytest.raises(BuildError, match=fault):
        Target(target)


def test_targets_after_programs() -> None:
    mapping = {"kind": "cuda"}
    assert target_after_program(mapping, None, "build") == (None, mapping)
    assert target_after_program([1], "llvm", "build") == ([1], "llvm")
    assert target_after_program({"x": 1}, None, "build") == ({"x": 1}, None)
    with pytest.raises(BuildError, match="build has two targets: 'cuda' and 'llvm'"):
        target_after_program("cuda", "llvm", "build")


def test_the_target_in_scope_is_the_default() -> None:
    assert as_target(None) == Target("llvm")
    with Target("cuda") as target:
        assert as_target(None) is as_target(target) is target
        assert as_target("llvm").kind == "llvm"
    check_available(target)
    with pytest.raises(BuildError, match=r"generates no code for vulkan \(target 'vulkan -x'\)"):
        check_available(Target("vulkan -x"))


def test_limits_are_those_of_gpus() -> None:
    limits = [
        (target.max_num_threads, target.thread_warp_size, target.max_shared_memory_per_block)
        for target in map(Target, ("llvm", "cuda -thread_warp_size=16", "vulkan"))
    ]
    assert limits == [(1, 1, 1), (1024, 16, 49152), (256, 1, 32768)]
    assert [Target(kind).get_target_device_type() for kind in ("llvm", "cuda", "ext_dev")] == [
        1,
        2,
        0,
    ]
