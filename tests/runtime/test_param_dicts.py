"""Dictionaries of arrays in the form of TVM's .params files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.errors import CallError
from te_sched.runtime import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)

# What TVM 0.19 saves of {"w": [[0, 1, 2], [3, 4, 5]] of float32, "bé": [1] of int64}.
SAVED = bytes.fromhex(
    "b79c04054f8de5f700000000000000000200000000000000030000000000000062c3a901000000000000007702"
    "000000000000003fa1b496f0405edd000000000000000001000000000000000100000000400100010000000000"
    "0000080000000000000001000000000000003fa1b496f0405edd00000000000000000100000000000000020000"
    "0002200100020000000000000003000000000000001800000000000000000000000000803f0000004000004040"
    "000080400000a040"
)
PARAMS = {
    "w": np.arange(6, dtype="float32").reshape(2, 3),
    "bé": np.array([1], "int64"),
}


def test_bytes_are_those_of_tvm() -> None:
    assert save_param_dict(PARAMS) == SAVED


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "float16", "bfloat16", "float32", "float64"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_saved_arrays_are_loaded(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = te_sched.nd.array(np.ones(shape, "float32"), dtype=dtype)
    path = tmp_path / "a.params"
    save_param_dict_to_file({"a": array, "b": PARAMS["w"]}, path)
    for found in (
        load_param_dict(save_param_dict({"a": array, "b": PARAMS["w"]})),
        load_param_dict_from_file(path),
    ):
        assert (list(found), found["a"].dtype, found["a"].shape) == (["a", "b"], dtype, shape)
        np.testing.assert_array_equal(found["a"].numpy(), array.numpy())
        np.testing.assert_array_equal(found["b"].numpy(), PARAMS["w"])


def test_no_parameters_are_saved() -> None:
    assert load_param_dict(save_param_dict({})) == {}


def test_damaged_bytes_are_refused() -> None:
    whole = bytes(save_param_dict(PARAMS))
    for place in range(len(whole)):
        with pytest.raises(CallError, match="cannot load the parameters"):
            load_param_dict(whole[:place])
    for place in (*range(8), *range(16, 24), *range(100, 130)):  # marks, numbers, heads, sizes
        damaged = whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :]
        with suppress(CallError):
            load_param_dict(damaged)


@pytest.mark.parametrize("given", [3, [1], {"a": 3}, {1: PARAMS["w"]}])
def test_other_values_are_not_saved(given: Any) -> None:
    with pytest.raises(CallError, match="arrays by name"):
        save_param_dict(given)


def test_other_values_are_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="takes bytes, got a str"):
        load_param_dict("w.params")  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"cannot load .*missing\.params"):
        load_param_dict_from_file(tmp_path / "missing.params")
