"""te-sched bench: times with random inputs."""

import json

import numpy as np
import pytest

from te_sched import te, tir
from te_sched.cli.inputs import Sizes, iterations, operations, random_arguments
from te_sched.cli.problems import CommandError
from te_sched.cli.recording import Found
from te_sched.errors import SourceLocation


def found(outputs, args):
    return Found(te.create_schedule([one.op for one in outputs]), SourceLocation(), args=args)


def test_bench_prints_a_table(te_sched_command, program):
    done = te_sched_command("bench", "--min-ms", 0, "--repeat", 2, program("two"))
    assert done.exit_code == 0, done.stderr
    head, _, first, second = done.stdout.splitlines()
    assert head.split() == ["name", "median", "fastest", "slowest", "GFLOP/s", "on"]
    assert first.split()[:2] == ["1", "run_first"]
    assert second.endswith("cpu(0)")


@pytest.mark.parametrize("name", ["gemm", "gpu", "old"])
def test_bench_as_json(te_sched_command, program, name):
    done = te_sched_command("bench", "--json", "--min-ms", 0, "--repeat", 3, program(name))
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)["schedules"]
    assert 0 < row["fastest_ms"] <= row["ms"] <= row["slowest_ms"]
    counts = {"gemm": 64 * 64 * 32 * 2, "gpu": 256, "old": 100}
    assert row["operations"] == counts[name]
    assert row["gflops"] == pytest.approx(counts[name] / row["ms"] / 1e6)
    assert row["device"] == ("cuda(0, emulated)" if name == "gpu" else "cpu(0)")
    assert row["sizes"] == ({"n": 100} if name == "old" else {})


def test_bench_with_a_size(te_sched_command, program):
    done = te_sched_command("bench", "--min-ms", 0, "--size", "n=1024", program("old"))
    assert "n = 1024" in done.stdout
    done = te_sched_command("bench", "--size", "m=1024", program("old"))
    assert done.exit_code == 2
    assert "no symbolic extent named" in done.stderr
    assert "help: use n" in done.stderr
    done = te_sched_command("bench", "--size", "m=1024", program("gemm"))
    assert "all extents are numbers" in done.stderr


def test_bench_says_what_cannot_be_built(te_sched_command, program):
    done = te_sched_command("bench", program("race"))
    assert done.exit_code == 1
    assert "cannot parallelize reduction axis k" in done.stderr
    assert "not timed: see above" in done.stdout
    done = te_sched_command("bench", "--json", program("race"))
    data = json.loads(done.stdout)
    assert data["error"] is None
    assert "cannot parallelize reduction axis k" in data["schedules"][0]["error"]


def test_random_arguments_are_of_the_declared_types():
    n = te.var("n")
    dtypes = ["float16", "float64", "bfloat16", "int8", "uint32", "bool"]
    inputs = [te.placeholder((n, 4), name=f"A{i}", dtype=one) for i, one in enumerate(dtypes)]
    scale = te.var("scale", "float32")
    B = te.compute((n, 4), lambda i, j: inputs[0][i, j].astype("float32") * scale, name="B")
    one = found([B], [n, scale, *inputs, B])
    values = random_arguments(one, Sizes(one, {"n": 3}))
    assert values[:2] == [3, 0.5]
    assert [value.dtype.name for value in values[2:8]] == [
        *("float16", "float64", "uint16", "int8", "uint32", "bool")
    ]
    assert {value.shape for value in values[2:]} == {(3, 4)}
    assert not values[8].any()
    again = random_arguments(one, Sizes(one, {"n": 3}))
    assert all(np.array_equal(x, y) for x, y in zip(values, again, strict=True))


def test_random_integers_are_indices():
    index = te.placeholder((100,), name="index", dtype="int32")
    A = te.placeholder((3,), name="A")
    B = te.compute((100,), lambda i: A[index[i]], name="B")
    one = found([B], [A, index, B])
    chosen = random_arguments(one, Sizes(one, {}))[1]
    assert set(chosen.tolist()) == {0, 1, 2}


def test_random_arguments_reject_types_that_numpy_has_not():
    A = te.placeholder((4,), name="A", dtype="float32x4")
    B = te.compute((4,), lambda i: A[i], name="B")
    one = found([B], [A, B])
    with pytest.raises(CommandError, match="argument A has dtype") as raised:
        random_arguments(one, Sizes(one, {}))
    assert raised.value.fault == "argument A has dtype float32x4, which numpy lacks"


def test_random_arguments_reject_shapes_that_nobody_knows():
    size = tir.call_pure_extern("int32", "size_of_today")
    A = te.placeholder((size,), name="A")
    B = te.compute((4,), lambda i: A[i], name="B")
    one = found([B], [A, B])
    with pytest.raises(CommandError, match=r"argument A has shape .* which no size determines"):
        random_arguments(one, Sizes(one, {}))


def test_counts_are_of_the_declaration():
    A = te.placeholder((10, 20), name="A")
    k = te.reduce_axis((0, 20), name="k")
    B = te.compute((10,), lambda i: te.sum(A[i, k] * A[i, k], axis=k), name="B")
    C = te.compute((10,), lambda i: te.exp(B[i]) / 2.0, name="C")
    one = found([C], [A, C])
    sizes = Sizes(one, {})
    assert iterations(one.inputs, sizes) == 210
    assert operations(one.inputs, sizes) == 10 * 20 * 2 + 10


def test_counts_that_nobody_knows():
    state = te.placeholder((4, 4), name="state")
    first = te.compute((1, 4), lambda _, j: 0.0, name="first")
    step = te.compute((4, 4), lambda t, j: state[t - 1, j] + 1.0, name="step")
    one = found([te.scan(first, step, state, name="scan")], [])
    assert operations(one.inputs, Sizes(one, {})) is None
    assert operations(None, Sizes(one, {})) is None
