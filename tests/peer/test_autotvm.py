"""Spaces, configurations, logs and features of AutoTVM are those of TVM."""

from __future__ import annotations

import random
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")
pytest.importorskip("tvm.autotvm")

from tvm.autotvm import feature as their_feature  # noqa: E402
from tvm.autotvm import record as their_record  # noqa: E402
from tvm.autotvm.task import space as their_space  # noqa: E402

from te_sched import autotvm  # noqa: E402
from te_sched.autotvm import feature, record  # noqa: E402
from te_sched.autotvm.task import space  # noqa: E402
from tests.autotvm.templates import task_of  # noqa: E402

POLICIES = ("factors", "power2", "verbose")
ANNOTATIONS = ("bind_gpu", "bind_gpu_virtual", "try_unroll", "try_vec", "try_unroll_vec", "none")


def described(module: Any, seed: int) -> list[str]:
    """A random space of a module, printed, with some of its configurations."""
    rng, cfg = random.Random(seed), module.ConfigSpace()
    options: dict[str, Any] = {"num_outputs": rng.choice([2, 3, 4]), "policy": rng.choice(POLICIES)}
    if rng.random() < 0.3:
        options["max_factor"] = rng.choice([1, 4, 9])
    if rng.random() < 0.3:
        options["no_tail"] = rng.choice([True, False])
    length = rng.choice([1, 7, 12, 60, 64, 100, 224])
    cfg.define_split("tile", cfg.axis(length), **options)
    chains = [[cfg.axis(2) for _ in range(rng.randrange(1, 4))] for _ in range(3)]
    every = [axis for chain in chains for axis in chain]
    cfg.define_reorder("order", every, "interleave", spatial=chains[:2], reduce=chains[2:])
    cfg.define_annotate("ann", [cfg.axis(2)] * rng.randrange(3, 6), rng.choice(ANNOTATIONS))
    cfg.define_knob("knob", [1, "a", (2, 3)][: rng.randrange(1, 4)])
    lines = [str(cfg), str(cfg.dims)]
    for _ in range(5):
        one = cfg.get(rng.randrange(cfg.range_length))
        lines += [str(one), str(one.to_json_dict()), str(cfg.point2knob(one.index))]
    fallback = module.FallbackConfigEntity()
    fallback.define_split("tile", fallback.axis(length), **options)
    fallback.fallback_split("tile", [rng.choice([-1, 1, 8]) for _ in range(options["num_outputs"])])
    return [*lines, str(fallback)]


@pytest.mark.parametrize("seed", range(60))
def test_spaces_are_tvms(seed: int) -> None:
    assert described(space, seed) == described(their_space, seed)


def their_task() -> Any:
    if "tests/product" not in tvm.autotvm.task.task.TASK_TABLE:

        @tvm.autotvm.template("tests/product")
        def product(n: int) -> Any:
            return _product(tvm.te, tvm.autotvm.get_config(), n)

    return tvm.autotvm.task.create("tests/product", args=(8,), target="llvm")


def _product(te: Any, cfg: Any, n: int) -> Any:
    A, B = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    cfg.define_split("tile_y", C.op.axis[0], num_outputs=2)
    cfg.define_split("tile_x", C.op.axis[1], num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, C, C.op.axis[0])
    xo, xi = cfg["tile_x"].apply(s, C, C.op.axis[1])
    s[C].reorder(yo, xo, k, yi, xi)
    return s, [A, B, C]


@pytest.mark.parametrize("index", [0, 7, 15])
def test_tvm_reads_our_logs_and_we_read_its(index: int) -> None:
    ours, theirs = task_of(8), their_task()
    assert (ours.flop, str(ours.config_space)) == (theirs.flop, str(theirs.config_space))
    result = ((0.5, 0.25), 0, 1.5, 12.25)
    our_line = record.encode(
        autotvm.MeasureInput(ours.target, ours, ours.config_space.get(index)),
        autotvm.MeasureResult(*result),
    )
    their_line = their_record.encode(
        tvm.autotvm.MeasureInput(theirs.target, theirs, theirs.config_space.get(index)),
        tvm.autotvm.MeasureResult(*result),
    )
    read, read_result = their_record.decode(our_line)
    assert (str(read.config), str(read.task), tuple(read_result)) == (
        str(theirs.config_space.get(index)),
        str(theirs),
        result,
    )
    found, found_result = record.decode(their_line)
    assert record.encode(found, found_result) == their_line
    assert str(found.config) == str(read.config)


def test_tvm_applies_the_best_of_our_log(tmp_path: Any) -> None:
    ours = task_of(8)
    pairs = [
        (autotvm.MeasureInput(ours.target, ours, ours.config_space.get(index)), cost)
        for index, cost in ((3, 2.0), (6, 1.0), (9, 3.0))
    ]
    log = autotvm.callback.log_to_file(str(tmp_path / "a.log"))
    results = [autotvm.MeasureResult((cost,), 0, 1.0, 1.0) for _, cost in pairs]
    log(None, [inp for inp, _ in pairs], results)
    best = tvm.autotvm.apply_history_best(str(tmp_path / "a.log"))
    found = best.query(tvm.target.Target("llvm"), ("tests/product", 8))
    assert str(found) == str(ours.config_space.get(6))


@pytest.mark.parametrize("index", [0, 6, 13])
def test_features_are_tvms(index: int) -> None:
    ours, theirs = task_of(8), their_task()
    mine = feature.get_itervar_feature(*ours.instantiate(ours.config_space.get(index)))
    s, args = theirs.instantiate(theirs.config_space.get(index))
    rows = their_feature.get_itervar_feature(s, args)
    expected = [[_plain(part) for part in row[1:]] for row in rows]
    assert [row[1:] for row in mine] == expected


def _plain(part: Any) -> list[Any]:
    name, *values = part
    return [str(name), *[float(one.value if hasattr(one, "value") else one) for one in values]]
