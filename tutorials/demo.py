"""A matrix product scheduled step by step, and every schedule primitive before and after.

    python -m tutorials.demo               the product, timed beside numpy's, and one line about the
                                           primitives (what `make demo` runs)
    python -m tutorials.demo --table       a line for each primitive too
    python -m tutorials.demo split fuse    only primitives whose name contains one of the words
    python -m tutorials.demo --ir split    with the lowered program before and after

numpy runs without variables that hold it back (benchmarks/peer_environment.py). The programs of the
primitives are those of tests/golden: their texts are compared with TVM's, their results with
numpy's. Ends non-zero when a text or a result differs, or when build() refuses a program that can
run, or builds one that cannot.
"""

from __future__ import annotations

import argparse
import difflib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import te_sched
from benchmarks import peer_environment
from te_sched.errors import BuildError
from te_sched.tools.table import table
from tests.golden import corpus, execution
from tutorials import matmul

SAME, DIFFERS, ELSEWHERE = "same", "DIFFERS", "-"


@dataclass
class Step:
    """What one program printed and computed."""

    label: str
    script: str = ""
    verdicts: dict[str, str] = field(default_factory=dict)  # dialect: SAME or DIFFERS
    ran: str = ELSEWHERE
    reason: str = ""  # why it does not run here
    problems: list[str] = field(default_factory=list)

    def text_cell(self, dialect: str) -> str:
        return self.verdicts.get(dialect, "ERROR")


@dataclass
class Example:
    """A primitive's program before and after it; a GPU product has one program only."""

    name: str
    steps: dict[str, Step]  # "before" and "after", or "" alone

    def cells(self) -> list[str]:
        """The row of the table."""
        pair = [self.steps.get("before"), self.steps.get("after", self.steps.get(""))]
        texts = [
            step.text_cell(dialect) if step else "" for dialect in corpus.DIALECTS for step in pair
        ]
        return [self.name, *texts, *(step.ran if step else "" for step in pair)]


def main(tvm: Any, arguments: Sequence[str]) -> int:
    """Run the demo with an implementation of te; 0 when all is as it must be."""
    options = _options(arguments)
    versions = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    print(f"te_sched {te_sched.__version__}, {versions}\n")
    timings = [] if options.words else _timed_product(tvm, options.size)
    examples = _run_shown(tvm, options.words)
    if options.ir:
        _print_programs(examples)
    if options.table or options.words:
        print()
        _print_table(examples)
        _print_reasons(examples)
        print()
    problems = [p for one in examples for step in one.steps.values() for p in step.problems]
    problems += [f"the product '{one.label}' is wrong" for one in timings if not one.is_correct]
    print("".join(f"\n{problem}\n" for problem in problems), end="")
    print(_summary(examples, len(problems)))
    if timings:
        print(f"\n{_NEXT}")
    return 0 if examples and not problems else 1


_NEXT = "Next, open tutorials/00_first_schedule.ipynb (tutorials/README.md lists all tutorials)."


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tutorials.demo", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", help="show only examples whose name contains a word")
    parser.add_argument("--ir", action="store_true", help="print the programs too")
    parser.add_argument("--table", action="store_true", help="print a line for each primitive")
    parser.add_argument("--size", type=int, default=1024, help="of the matrices that are timed")
    return parser.parse_args(arguments)


def _run_shown(tvm: Any, words: Sequence[str]) -> list[Example]:
    """Run examples; a dot for each shows that the work goes on."""
    examples = []
    print("Running the schedule primitives, before and after ", end="", flush=True)
    for example in run_examples(tvm, words):
        examples.append(example)
        print(".", end="", flush=True)
    print()
    return examples


def run_examples(tvm: Any, words: Sequence[str] = ()) -> Iterator[Example]:
    """Print, compare and run the examples whose name contains one of the words, or all."""
    for program in corpus.programs("primitives", "gemm_gpu"):
        if words and not any(word in program.name for word in words):
            continue
        steps = list(_steps(tvm, program))
        if program.step_names() == ("before", "after"):
            yield Example(program.name, dict(zip(("before", "after"), steps, strict=True)))
        else:
            yield from (Example(step.label, {"": step}) for step in steps)


def _steps(tvm: Any, program: corpus.Program) -> Iterator[Step]:
    goldens = {dialect: program.golden(dialect) for dialect in corpus.DIALECTS}
    produced = program.steps(tvm)
    for number, name in enumerate(program.step_names()):
        step = Step(f"{program.name} {name}")
        try:
            schedule, args = next(produced)
            module = tvm.lower(schedule, args, simple_mode=True)
            for dialect, sections in goldens.items():
                _compare_text(step, dialect, corpus.text_of(module, dialect), sections[number])
            _run(step, tvm, program, schedule, args)
        except Exception as error:  # one broken example must not hide the others
            step.problems.append(f"{step.label}: {type(error).__name__}: {error}")
        yield step


def _compare_text(step: Step, dialect: str, text: str, golden: str) -> None:
    if dialect == "script":
        step.script = text
    step.verdicts[dialect] = SAME if text == golden else DIFFERS
    if text != golden:
        names = (f"TVM's {dialect} of {step.label}", f"te_sched's {dialect} of {step.label}")
        lines = difflib.unified_diff(golden.split("\n"), text.split("\n"), *names, lineterm="")
        step.problems.append("\n".join(lines))


def _run(step: Step, tvm: Any, program: corpus.Program, schedule: Any, args: list[Any]) -> None:
    """Run the step where it can run; where it cannot, build must say so."""
    step.reason = execution.why_not_on_cpu(schedule, step.script) or ""
    try:
        error = execution.run(tvm, program.module, schedule, args)
    except BuildError as refusal:
        if not step.reason:
            step.problems.append(f"{step.label} was refused, although it can run:\n{refusal}")
    except AssertionError as difference:
        step.ran = DIFFERS
        step.problems.append(f"{step.label} differs from numpy:{difference}")
    else:
        step.ran = f"ok {error:.0e}"
        if step.reason:
            step.problems.append(f"{step.label} was built, although {step.reason}")


def _print_programs(examples: Sequence[Example]) -> None:
    for example in examples:
        for when, step in example.steps.items():
            print(
                f"# {example.name}{': ' if when else ''}{when}\n{corpus.function_of(step.script)}\n"
            )


def _print_table(examples: Sequence[Example]) -> None:
    columns = ("TVMScript", "primfn", "CPU, numpy")
    header = [cell for column in columns for cell in (f"{column}\nbefore", "\nafter")]
    print(table(["\nexample", *header], [example.cells() for example in examples]))


def _print_reasons(examples: Sequence[Example]) -> None:
    """Which programs do not run here, by reason."""
    reasons: dict[str, list[str]] = {}
    for example in examples:
        for when, step in example.steps.items():
            if step.reason:
                label = f"{example.name} ({when})" if when else example.name
                reasons.setdefault(step.reason, []).append(label)
    if reasons:
        print(f"\n{ELSEWHERE}  build() for the CPU refuses these programs:")
    for reason, labels in reasons.items():
        print(f"   {reason}:\n      {'; '.join(labels)}")


def _timed_product(tvm: Any, size: int) -> list[matmul.Timing]:
    count = len(matmul.STEPS)
    print(
        f"C = A B, {size} x {size}, float32: one declaration, {count} schedules, the time of each"
    )
    print("(the programs are in tutorials/matmul.py; numpy is timed again beside each of them)\n")
    timings = matmul.show(tvm, size)
    fastest = min(timings[1:], key=lambda one: one.seconds)
    factor = timings[1].seconds / fastest.seconds
    print(f"\nThe fastest schedule is {factor:,.0f} times as fast as the loops as declared.\n")
    return timings


def _summary(examples: Sequence[Example], failed: int) -> str:
    steps = [step for example in examples for step in example.steps.values()]
    verdicts = [verdict for step in steps for verdict in step.verdicts.values()]
    refused = sum(bool(step.reason) for step in steps)
    parts = [
        f"{verdicts.count(SAME)} of {len(steps) * len(corpus.DIALECTS)} texts equal TVM's",
        f"{sum(step.ran.startswith('ok') for step in steps)} programs ran and equal numpy",
        *([f"build refuses the {refused} that a CPU cannot run"] if refused else []),
    ]
    return ", ".join(parts) + f": {f'{failed} PROBLEMS' if failed else 'all as it should be'}."


if __name__ == "__main__":
    sys.exit(peer_environment.run("tutorials.demo", partial(main, te_sched), sys.argv[1:]))
