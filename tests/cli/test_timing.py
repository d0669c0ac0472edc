"""te-sched bench: times with random inputs."""

import json

import pytest


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
