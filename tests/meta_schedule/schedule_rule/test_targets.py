"""What rules need to know of targets."""

from __future__ import annotations

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule.schedule_rule import targets
from te_sched.target import Target


@pytest.mark.parametrize(
    ("text", "cores"), [("llvm -num-cores=8", 8), ("llvm -num-cores=1", 1), ("llvm", 5)]
)
def test_processors_of_a_target(text: str, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "cpu_count", lambda: 5)
    assert targets.cores_of(Target(text)) == cores


def test_rules_need_a_target() -> None:
    for function in (targets.given, targets.cores_of, targets.kind_of_target):
        with pytest.raises(DeclarationError, match="the task has no target"):
            function(None)
    assert not targets.can_copy_asynchronously(None)


@pytest.mark.parametrize(
    ("text", "kind", "copies"),
    [
        ("llvm", "llvm", False),
        ("cuda -arch=sm_70", "cuda", False),
        ("cuda -arch=sm_75", "cuda-tensorcore", False),
        ("cuda -arch=sm_80", "cuda-tensorcore", True),
        ("cuda -arch=sm_90a", "cuda-tensorcore", True),
        ("vulkan", "cuda", False),
    ],
)
def test_kinds_of_targets(text: str, kind: str, copies: bool) -> None:
    assert targets.kind_of_target(Target(text)) == kind
    assert targets.can_copy_asynchronously(Target(text)) == copies


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("llvm", "llvm"),
        ("llvm -mcpu=skylake-avx512", "avx512"),
        ("llvm -mattr=+avx2,+avx512f", "avx512"),
        ("llvm -mcpu=cascadelake", "vnni"),
        ("llvm -mcpu=skylake-avx512 -mattr=+avx512vnni", "vnni"),
        ("llvm -mtriple=aarch64-linux-gnu", "asimd"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprod", "dotprod"),
        ("cuda -arch=sm_80", "cuda-tensorcore"),
    ],
)
def test_rules_of_targets(text: str, rules: str) -> None:
    assert targets.rules_of_target(Target(text)) == rules


def test_other_targets_have_no_rules() -> None:
    with pytest.raises(DeclarationError, match="no rules for target c"):
        targets.rules_of_target(Target("c"))
