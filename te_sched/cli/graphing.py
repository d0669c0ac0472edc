"""te-sched graph: a graph on its way to code, and where a call of it spends its time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from te_sched.cli.options import (
    file_option,
    json_option,
    of_graphs,
    sizes_option,
    target_option,
)
from te_sched.cli.problems import CommandError
from te_sched.cli.programs import UserProgram, execute, is_graph
from te_sched.cli.showing import show_json
from te_sched.codegen.target import Target
from te_sched.story.graph import graph_report
from te_sched.story.model import PAGE_MARK


@click.command("graph")
@of_graphs
@click.option("--name", metavar="M", help="The graph (IRModule) with this name in the program.")
@click.option("--function", default="main", show_default=True, help="The function to call.")
@target_option
@sizes_option
@file_option(
    "--page",
    text="Write an HTML report: the graph after each pass, timeline, memory.",
    mark=PAGE_MARK,
)
@json_option
def command(
    program: str,
    arguments: tuple[str, ...],
    quiet: bool,
    name: str | None,
    function: str,
    target: Target | None,
    sizes: Mapping[str, int],
    page: str | None,
    as_json: bool,
) -> int:
    """Build a graph (a Relax IRModule) that PROGRAM.py makes, call it with random arguments, and
    print where the time goes. --name is needed if the program has several graphs.
    """
    ran = execute(program, arguments, quiet, needs_schedules=False)
    module = ran.value(name, "--name") if name is not None else _only(ran)
    report = graph_report(module, target or Target("llvm"), function=function, sizes=sizes)
    if page is not None:
        report.save(page)
    if as_json:
        show_json(
            {
                "name": report.name,
                "target": str(report.target),
                "seconds": report.seconds,
                "peak_bytes": report.peak,
                "passes": {stage.name: stage.calls for stage in report.stages},
                "calls": [
                    {"name": call.name, "start_us": call.start, "us": call.duration}
                    for call in report.calls
                ],
            }
        )
    else:
        click.echo(str(report))
    return ran.code


def _only(ran: UserProgram) -> Any:
    graphs = {name: value for name, value in ran.names.items() if is_graph(value)}
    if not graphs:
        raise CommandError(
            f"{ran.path} makes no graph",
            "",
            "make one at the top level of the program, such as module = "
            "relax.frontend.torch.from_exported_program(torch.export.export(model, inputs))",
        )
    if len(graphs) > 1:
        raise CommandError(
            f"{ran.path} makes {len(graphs)} graphs",
            ", ".join(graphs),
            f"choose one: --name {next(iter(graphs))}",
        )
    return next(iter(graphs.values()))
