"""What reads sums, and is computed in tiles of them."""

import pytest

from te_sched import te, topi
from te_sched.dlight.cpu.epilogues import epilogue_of, has_calls_across
from te_sched.dlight.structure import node_of
from te_sched.tir import Schedule
from tests.dlight.functions import scheduled, tensor


def convolved(activation, *others, channels=16):
    """Blocks of a convolution of one element, and of what is computed of it and `others`."""
    x, w = tensor(1, 8, 6, 10), tensor(channels, 8, 1, 1, name="W")
    result = topi.nn.conv2d_nchw(x, w, 1, 0, 1)
    for other in others:
        result = topi.add(result, other)
    return [x, w, *others, activation(result)]


def silu(x):
    return topi.multiply(x, topi.sigmoid(x))


def sums_and_reader(declared):
    sch = Schedule(te.create_prim_func(declared))
    sums = sch.get_block("conv2d_nchw")
    return sch, sums, epilogue_of(sch, sums)


def test_the_only_reader_of_sums_is_their_epilogue():
    sch, _, reader = sums_and_reader(convolved(topi.nn.relu))
    assert node_of(sch, reader).name_hint == "compute"


@pytest.mark.parametrize(("activation", "has_calls"), [(topi.sigmoid, True), (topi.nn.relu, False)])
def test_functions_are_called_for_columns(activation, has_calls):
    sch, sums, reader = sums_and_reader(convolved(activation))
    assert has_calls_across(node_of(sch, sums), 1, node_of(sch, reader)) == has_calls


def test_neighbors_of_results_may_be_columns():
    sch, sums, reader = sums_and_reader(convolved(topi.sigmoid))
    assert not has_calls_across(node_of(sch, sums), 3, node_of(sch, reader))


@pytest.mark.parametrize("channels", [16, 21, 48])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 1, 6, 10), (1, None, 1, 1)])
def test_functions_of_sums_are_called_in_vectors_of_channels(channels, shape):
    """Unless they are of elements that other pixels do not have."""
    other = tensor(*[channels if size is None else size for size in shape], name="C")
    declared = convolved(silu, other, channels=channels)
    text = str(scheduled(declared, constants=[1]).mod)
    assert "dlight.scheduled" in text
    assert ("T_multiply_local" in text) == (shape[2] == 1)


@pytest.mark.parametrize(("channels", "size"), [(24, 14), (60, 7), (120, 6), (60, 1), (21, 1)])
def test_functions_of_padded_sums_are_called_in_tiles(channels, size):
    """Vectors of channels do not divide these; without pixels, channels are neighbors."""
    x, w = tensor(1, 16, size, size), tensor(channels, 16, 3, 3, name="W")
    declared = [x, w, silu(topi.nn.conv2d_nchw(x, w, 1, 1, 1))]
    text = str(scheduled(declared, constants=[1], tolerance=1e-3).mod)
    assert "dlight.scheduled" in text
    assert ("T_multiply_local" in text) == (size > 1)
