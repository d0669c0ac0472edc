"""te-sched bench: run times of schedules on this computer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from te_sched.cli.building import build_found
from te_sched.cli.inputs import Sizes, check_sizes, operations, random_arguments
from te_sched.cli.options import json_option, of_programs, sizes_option, target_option
from te_sched.cli.problems import CommandError, ExitCode, say
from te_sched.cli.programs import execute
from te_sched.cli.recording import Found
from te_sched.cli.showing import show_json
from te_sched.codegen.target import Target
from te_sched.errors import TeSchedError
from te_sched.runtime.device import available_device
from te_sched.runtime.ndarray import array
from te_sched.tools.table import table


@click.command("bench")
@of_programs
@target_option
@sizes_option
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="The number of measurements; their median is printed.",
)
@click.option(
    "--min-ms",
    type=click.FloatRange(0),
    default=50.0,
    show_default=True,
    help="The least time of a measurement.",
)
@json_option
def command(
    program: str,
    arguments: tuple[str, ...],
    schedule: str | None,
    quiet: bool,
    target: Target | None,
    sizes: Mapping[str, int],
    repeat: int,
    min_ms: float,
    as_json: bool,
) -> int:
    """Time each schedule that PROGRAM.py builds, lowers or makes, called with random inputs.

    Operations are the float additions, subtractions, multiplications and divisions of the
    declaration, or those in the loops of a function of blocks. Kernels for a GPU run on it, or on
    the emulated device, whose times are not those of a GPU.
    """
    ran = execute(program, arguments, quiet)
    rows: list[dict[str, Any]] = []
    code = ran.code
    chosen = ran.chosen(schedule)
    check_sizes(chosen, sizes)
    for record in chosen:
        try:
            rows.append(_measure(record, target, sizes, repeat, min_ms))
        except CommandError:
            raise
        except TeSchedError as error:
            code = ExitCode.FOUND
            rows.append({"number": record.number, "name": record.name, "error": str(error)})
            say(error)
    if as_json:
        show_json(ran.as_data(rows))
    else:
        head = ["", "name", "median", "fastest", "slowest", "GFLOP/s", "on"]
        click.echo(table(head, [_cells(row) for row in rows], right=[0, 2, 3, 4, 5]))
    return code


def _measure(
    record: Found,
    target: Target | None,
    size_options: Mapping[str, int],
    repeat: int,
    min_ms: float,
) -> dict[str, Any]:
    wanted = record.target_of(target)
    sizes = Sizes(record, size_options)
    values = random_arguments(record, sizes)
    built = build_found(record, wanted)
    device = available_device(str(wanted.kind))
    passed = [array(value, device) if hasattr(value, "shape") else value for value in values]
    is_named = record.function in built.function_names  # by global symbols, for a GPU
    name = record.function if record.func is not None and is_named else built.entry_name
    timer = built.time_evaluator(name, device, number=1, repeat=repeat, min_repeat_ms=min_ms)
    result = timer(*passed)
    flops = operations(record.func or record.inputs, sizes)
    return {
        "number": record.number,
        "name": record.name,
        "target": str(wanted),
        "device": str(device),
        "sizes": {var.name: getattr(value, "value", None) for var, value in sizes.values.items()},
        "ms": result.median * 1e3,
        "fastest_ms": result.min * 1e3,
        "slowest_ms": result.max * 1e3,
        "repeat": repeat,
        "operations": flops,
        "gflops": None if flops is None else flops / result.median / 1e9,
        "error": None,
    }


def _cells(row: Mapping[str, Any]) -> list[str]:
    start = [str(row["number"]), row["name"]]
    if row["error"] is not None:
        return [*start, "-", "-", "-", "-", "not timed: see above"]
    times = [_time(row[key]) for key in ("ms", "fastest_ms", "slowest_ms")]
    gflops = "-" if row["gflops"] is None else f"{row['gflops']:.3g}"
    sizes = ", ".join(f"{name} = {size}" for name, size in row["sizes"].items())
    return [*start, *times, gflops, f"{row['device']}{'; ' if sizes else ''}{sizes}"]


def _time(milliseconds: float) -> str:
    """Three digits and a unit."""
    for unit, factor in (("s", 1e-3), ("ms", 1.0), ("us", 1e3)):
        if milliseconds * factor >= 1:
            return f"{milliseconds * factor:.3g} {unit}"
    return f"{milliseconds * 1e6:.3g} ns"
