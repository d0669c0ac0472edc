"""The table of storage scopes."""

from __future__ import annotations

import pytest

from te_sched.ir.storage_scopes import (
    BLOCK_SCOPES,
    KERNEL_SCOPES,
    STORAGE_RANKS,
    barrier_of,
    default_scope,
    is_storage_scope,
    storage_scope,
)

AXES = ("blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread", "vthread.x", "cthread")
THREADS = frozenset(AXES[1:])


# Of which axes TVM 0.19 relaxes regions: compute_at and the compaction of buffers agree.
@pytest.mark.parametrize(
    ("scope", "axes"),
    [
        ("global", set(AXES)),
        ("global.vtcm", set(AXES)),
        ("shared", THREADS),
        ("shared.dyn", THREADS),
        ("warp", {"threadIdx.x"}),
        ("local", set()),
        ("local.L0A", set()),
        ("wmma.accumulator", set()),
        ("m16n8k8.matrixA", set()),
        ("texture", set()),
        ("unknown", set()),
    ],
)
def test_threads_have_memory_in_common_as_in_tvm(scope: str, axes: set[str]) -> None:
    assert {axis for axis in AXES if storage_scope(scope).is_common(axis)} == axes


def test_a_tag_follows_a_rank_and_a_separator() -> None:
    scope = storage_scope("shared.dyn")
    assert (scope.rank, scope.tag) == ("shared", ".dyn")
    assert storage_scope("").rank == "global"
    texts = ("global:tag", "local_1", "wmma-x", "sharde", "sharedx", ".dyn", "")
    assert [is_storage_scope(text) for text in texts] == [True] * 3 + [False] * 4
    assert all(map(is_storage_scope, (*STORAGE_RANKS, *KERNEL_SCOPES)))


def test_text_without_a_rank_has_no_properties_but_the_distance_of_registers() -> None:
    scope = storage_scope("sharde")
    assert (scope.rank, scope.tag, scope.owner, scope.is_register) == ("sharde", "", "", False)
    assert scope.level == storage_scope("local").level


@pytest.mark.parametrize(
    ("scope", "owner", "is_of_team"),
    [
        ("global", "device", False),
        ("shared.dyn", "block", True),
        ("warp", "warp", True),
        ("wmma.matrix_a", "warp", True),
        ("local", "thread", False),
        ("m16n8k8", "", False),
    ],
)
def test_memory_belongs_to_the_device_or_to_threads(
    scope: str, owner: str, is_of_team: bool
) -> None:
    assert storage_scope(scope).owner == owner
    assert storage_scope(scope).is_of_team is is_of_team


def test_memory_with_a_tag_is_memory_of_its_own_unless_it_is_allocated_as_other_memory() -> None:
    own = ("local.L0A", "global.texture", "shared.other")
    plain = ("local", "global", "shared.dyn", "global.vtcm", "wmma.matrix_a", "m16n8k8.matrixA")
    assert all(storage_scope(scope).has_own_memory for scope in own)
    assert not any(storage_scope(scope).has_own_memory for scope in plain)


@pytest.mark.parametrize(
    ("scope", "alignment"),
    [("shared", 16), ("shared.dyn", 128), ("local.L0A", 4), ("local", 0), ("wmma.matrix_a", 0)],
)
def test_allocations_have_the_alignment_of_their_scope(scope: str, alignment: int) -> None:
    assert storage_scope(scope).alignment == alignment


def test_barriers_are_those_of_blocks_and_warps_in_kernels() -> None:
    barriers = {scope: barrier_of(scope) for scope in KERNEL_SCOPES}
    assert {scope for scope, threads in barriers.items() if threads == "block"} == {*BLOCK_SCOPES}
    assert barriers["shared.dyn"] == "block"
    assert (barriers["warp"], barriers["local"]) == ("warp", "")
    assert [barrier_of(scope) for scope in ("global", "shared.other", "")] == [""] * 3


def test_kernels_name_their_scopes_from_the_threads_outwards() -> None:
    assert KERNEL_SCOPES[:4] == ("local", "warp", "shared", "shared.dyn")
    assert KERNEL_SCOPES[4:] == ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")


def test_memory_without_a_scope_belongs_to_the_threads_around_it() -> None:
    scopes = [default_scope(tag) for tag in ("", "blockIdx.x", "threadIdx.x", "vthread")]
    assert scopes == ["global", "shared", "local", "local"]
