"""Tags of machines."""

from __future__ import annotations

import pytest

from te_sched.codegen.target_tags import CUDA_TAG, kind_and_options, tags
from te_sched.target import list_tags


@pytest.mark.parametrize(
    ("tag", "kind", "options"),
    [
        ("nvidia/geforce-gtx-titan-x", "cuda", {"max_threads_per_block": "1024", "arch": "sm_52"}),
        ("nvidia/geforce-rtx-3080-ti", "cuda", {"max_threads_per_block": "1024", "arch": "sm_86"}),
        ("nvidia/of-tomorrow", "cuda", {"max_threads_per_block": "1024"}),
        (
            "aws/cpu/c5.24xlarge",
            "llvm",
            {"keys": "x86,cpu", "mcpu": "cascadelake", "num-cores": "48"},
        ),
    ],
)
def test_tags_are_a_kind_and_options(tag: str, kind: str, options: dict[str, str]) -> None:
    assert kind_and_options(tag) == (kind, options)


def test_options_of_a_tag_are_the_callers_own() -> None:
    for tag in ("raspberry-pi/4b-aarch64", "apple/m1-gpu", "nvidia/nvidia-a100"):
        kind_and_options(tag)[1]["mcpu"] = "x"
        assert kind_and_options(tag)[1].get("mcpu") != "x"


def test_names_are_whole_words() -> None:
    names = [tag.removeprefix(CUDA_TAG) for tag in tags()]
    assert len(names) == len(set(names)) > 100
    assert not [name for name in names if name.endswith("-") or f"geforce-{name}" in names]
    assert kind_and_options("llvm") is None
    assert kind_and_options("apple/m9-gpu") is None


def test_targets_are_listed_by_their_tags() -> None:
    targets = list_tags()
    assert list(targets) == tags()
    assert {target.tag for target in targets.values()} == set(tags())
    assert all(target.arch for target in targets.values() if target.kind == "cuda")
