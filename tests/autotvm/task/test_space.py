"""Spaces of configurations."""

from __future__ import annotations

import random
from typing import Any

import pytest

from te_sched import autotvm, te
from te_sched.autotvm.task.space import (
    ConfigEntity,
    ConfigIndexError,
    ConfigSpace,
    FallbackConfigEntity,
    KnobError,
    OtherOptionEntity,
    SplitEntity,
)
from te_sched.errors import DeclarationError
from tests.autotvm.templates import records_of, task_of


def space_of(*sizes: int) -> ConfigSpace:
    cfg = ConfigSpace()
    for number, size in enumerate(sizes):
        cfg.define_knob(f"k{number}", range(size))
    return cfg


def filtered() -> ConfigSpace:
    cfg = space_of(4, 4)
    cfg.multi_filter(lambda one: one["k0"].val + one["k1"].val == 3)
    return cfg


def test_a_space_prints_its_knobs() -> None:
    cfg = ConfigSpace()
    axes = cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    cfg.define_reorder("order", axes, "all")
    cfg.define_annotate("inner", [axes[1]], "try_vec")
    cfg.define_knob("name", ["a", 2])
    assert str(cfg).splitlines() == [
        "ConfigSpace (len=32, range_length=32, space_map=",
        "   0 tile: Split(policy=factors, product=8, num_outputs=2) len=4",
        "   1 order: Reorder(policy=all) len=2",
        "   2 inner: Annotate(policy=try_vec) len=2",
        "   3 name: OtherOption([a, 2]) len=2",
        ")",
    ]
    expected = "[('tile', [-1, 2]), ('order', (1, 0)), ('inner', ['none']), ('name', 2)],None,21"
    assert str(cfg.get(21)) == expected


def test_indices_are_numbers_with_a_digit_for_each_knob() -> None:
    cfg = space_of(3, 2, 5)
    assert cfg.dims == [3, 2, 5]
    assert cfg.point2knob(10) == [1, 1, 1]
    assert all(cfg.knob2point(cfg.point2knob(one)) == one for one in range(len(cfg)))


def test_a_filter_of_all_knobs_keeps_indices() -> None:
    cfg = filtered()
    assert (len(cfg), cfg.range_length) == (4, 16)
    assert [one for one in range(16) if cfg.is_index_valid(one)] == [3, 6, 9, 12]
    assert not cfg.is_index_valid(16)
    assert cfg.get_next_index(3) == 6
    assert cfg.get_next_index(12, -2) == 6
    assert cfg.get_next_index(12) is None
    assert cfg.subrange_length(4, 10) == 2


def test_a_knob_that_is_defined_again_renews_the_filter() -> None:
    cfg = filtered()
    assert len(cfg) == 4
    cfg.define_knob("k1", [0])
    assert (len(cfg), cfg.range_length) == (1, 4)


@pytest.mark.parametrize("cfg", [space_of(4, 4), filtered()])
def test_random_indices_are_legal_and_repeatable(cfg: ConfigSpace) -> None:
    found = []
    for _ in range(2):
        random.seed(3)
        walk = [cfg.random_walk(3) for _ in range(5)]
        found.append([cfg.get_rand_index(), *cfg.sample_ints(3), *walk])
    assert found[0] == found[1]
    assert all(cfg.is_index_valid(int(one)) for one in found[0])
    assert 3 not in walk
    assert len(set(cfg.sample_ints(4))) == 4


def test_samples_of_a_small_space_are_all_of_it() -> None:
    assert sorted(filtered().sample_ints(9)) == [3, 6, 9, 12]
    assert sorted(space_of(3).sample_ints(9)) == [0, 1, 2]


def test_random_indices_find_the_last_one() -> None:
    cfg = space_of(50, 50)
    cfg.multi_filter(lambda one: one["k0"].val == one["k1"].val == 7)
    assert cfg.get_rand_index() == 357
    assert list(cfg.sample_ints(2)) == [357]
    assert cfg.random_walk(357) == 357
    with pytest.raises(ConfigIndexError, match="no configuration from 0 to 2500 is left"):
        cfg.get_rand_index(to_exclude=[357])


def test_a_configuration_defines_nothing() -> None:
    one = space_of(3).get(1)
    assert len(one.define_split("tile", one.axis(8), num_outputs=3)) == 3
    assert len(one.define_annotate("ann", [one.axis(8)], "unroll")) == 1
    assert one.define_knob("other", [1]) == []
    assert list(one) == ["k0"]


def test_a_configuration_is_written_and_read() -> None:
    cfg = ConfigSpace()
    axes = cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    cfg.define_reorder("order", axes, "identity")
    cfg.define_annotate("inner", axes, "try_unroll")
    cfg.define_knob("name", ["a", 2])
    one = cfg.get(14)
    text = one.to_json_dict()
    assert text["entity"][:2] == [("tile", "sp", [-1, 4]), ("order", "re", [0, 1])]
    assert ConfigEntity.from_json_dict(text).to_json_dict() == text


def test_features_of_choices() -> None:
    cfg = ConfigSpace()
    axes = cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    cfg.define_annotate("inner", [axes[1]], "try_vec")
    cfg.define_knob("name", [3, "a", (1, 2)])
    assert cfg.get(0).get_flatten_feature().tolist() == [-1, 1, 1, *[0] * 10, 3]
    assert len(cfg.get(8).get_flatten_feature()) == 14
    assert len(cfg.get(16).get_flatten_feature()) == 15
    assert cfg.get(16).get_other_option() == {"name": (1, 2)}


def test_errors_of_a_template_make_a_configuration_invalid() -> None:
    one = space_of(2).get(0)
    assert one.valid()
    one.raise_error("too many threads")
    assert not one.valid()


def test_operations_are_added() -> None:
    cfg = ConfigSpace()
    cfg.add_flop(10)
    cfg.add_flop(te.const(2, "int32"))
    assert cfg.flop == 12


# Fallbacks.


def test_a_fallback_has_the_first_choices() -> None:
    cfg = FallbackConfigEntity()
    cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    cfg.define_knob("name", ["a", 2])
    assert cfg.is_fallback
    assert str(cfg) == "[('tile', [-1, 1]), ('name', a)],None"
    assert str(FallbackConfigEntity()) == ",None"


def test_a_fallback_keeps_what_was_chosen() -> None:
    cfg = FallbackConfigEntity()
    cfg["tile"] = SplitEntity([2, 4])
    cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    assert cfg["tile"].size == [2, 4]


@pytest.mark.parametrize(
    ("length", "most", "sizes"),
    [
        (128, [-1, 8, 4], [4, 8, 4]),
        (49, [-1, 8, 4], [7, 7, 1]),
        (100, [-1, -1, 16], [1, 10, 10]),
        (224, [16, 1, 2], [16, 1, 2]),
    ],
)
def test_a_fallback_chooses_sizes(length: int, most: list[int], sizes: list[int]) -> None:
    cfg = FallbackConfigEntity()
    cfg.define_split("tile", cfg.axis(length), num_outputs=3)
    cfg.fallback_split("tile", most)
    assert cfg["tile"].size == sizes


def test_a_fallback_takes_the_fastest_fitting_record() -> None:
    task = task_of(16)
    records = records_of(task, [5.0, 4.0, 3.0, 2.0, 1.0])
    cfg = FallbackConfigEntity()
    cfg.define_split("tile_y", cfg.axis(8), num_outputs=2)
    cfg.define_split("other", cfg.axis(8), num_outputs=2)
    cfg.fallback_with_reference_log(records)
    assert (cfg["tile_y"].size, cfg["other"].size) == ([-1, 8], [-1, 1])


# Refusals.


def test_a_space_rejects_other_indices() -> None:
    cfg = filtered()
    with pytest.raises(ConfigIndexError, match="index 16 is out of the space, which has 16"):
        cfg.get(16)
    with pytest.raises(IndexError, match="the filter rejects the configuration of index 0"):
        cfg.get(0)
    for begin, end in ((-1, 2), (3, 2), (0, 17)):
        with pytest.raises(ConfigIndexError, match="is not one of a space of 16"):
            cfg.subrange_length(begin, end)


def test_a_space_rejects_other_numbers_of_knobs_and_samples() -> None:
    with pytest.raises(ConfigIndexError, match="1 choices are given for 2 knobs"):
        filtered().knob2point([1])
    with pytest.raises(ConfigIndexError, match="cannot sample -1 indices"):
        filtered().sample_ints(-1)


def test_a_configuration_rejects_other_names() -> None:
    with pytest.raises(KnobError, match="has no knob 'k1'"):
        space_of(2).get(0)["k1"]
    with pytest.raises(KeyError, match="has no split 'k0'"):
        FallbackConfigEntity().fallback_split("k0", [1])


def test_a_fallback_rejects_constraints_without_sizes() -> None:
    cfg = FallbackConfigEntity()
    cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    with pytest.raises(DeclarationError, match="no sizes of split tile satisfy"):
        cfg.fallback_split("tile", [-1, 0])
    with pytest.raises(DeclarationError, match="3 constraints are given for split tile"):
        cfg.fallback_split("tile", [1, 1, 1])


def test_logs_reject_other_kinds_of_knobs() -> None:
    row: dict[str, Any] = {"index": 0, "code_hash": None, "entity": [["a", "zz", 1]]}
    with pytest.raises(DeclarationError, match="invalid kind 'zz' of knob 'a'"):
        autotvm.ConfigEntity.from_json_dict(row)


def test_values_of_knobs_print_as_they_are() -> None:
    assert repr(OtherOptionEntity("a")) == "a"
