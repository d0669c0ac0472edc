"""The user's program, executed once as `__main__`, and the schedules that it made meanwhile.

Owns how a program is run and which schedules are selected. Must not know their use.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import click

from te_sched import compat, config, files
from te_sched.cli.problems import CommandError, ExitCode, flush_output
from te_sched.cli.recording import Found, ScheduleRecorder
from te_sched.errors import did_you_mean, without_listings
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule
from te_sched.runtime.device import cuda
from te_sched.short_tracebacks import frames_of, shown_part
from te_sched.trace.observing import observed_by

# TVM visits programs in C++, where recursion into hundreds of nested stages works.
_NESTING = 20_000


@dataclass(eq=False)
class UserProgram:
    """An executed program: its schedules, its names, and the exception that ended it, if any."""

    path: str
    found: list[Found]
    error: BaseException | None = None
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> ExitCode:
        """The exit code if there are no other problems."""
        return ExitCode.FINE if self.error is None else ExitCode.FOUND

    def as_data(self, schedules: Sequence[Any]) -> dict[str, Any]:
        """The output of --json: the program, the exception that ended it, and the data of its
        schedules."""
        failed = self.error
        message = None if failed is None else f"{type(failed).__name__}: {_text_of(failed)}"
        return {"program": self.path, "error": message, "schedules": list(schedules)}

    def chosen(self, wanted: str | None = None) -> list[Found]:
        """The selected schedules: by number or name, or else those lowered or built, if any.

        Raises
        ------
        CommandError where there is none.
        """
        if wanted is not None:
            return self._by_name(wanted)
        return [record for record in self.found if record.is_used] or self.found

    def one(self, wanted: str | None, purpose: str) -> Found:
        """The single selected schedule."""
        chosen = self.chosen(wanted)
        if len(chosen) > 1:
            numbers = {schedule.number for schedule in chosen}
            unused = [schedule for schedule in self.found if schedule.number not in numbers]
            also = f"; not lowered or built: {_listed(unused)}" if unused else ""
            raise CommandError(
                f"cannot {purpose}: {self.path} has {len(self.found)} schedules",
                f"{_listed(chosen)}{also}",
                f"choose one: --schedule {chosen[0].number}",
            )
        return chosen[0]

    def value(self, name: str, option: str) -> Any:
        """What a name at the top level of the program stands for, which an option gives."""
        if name in self.names:
            return self.names[name]
        own = [name for name in self.names if not name.startswith("__")]
        raise CommandError(
            f"{self.path} does not define {name}, which {option} names",
            "",
            f"name one of its definitions{did_you_mean(name, own)}",
        )

    def _by_name(self, wanted: str) -> list[Found]:
        matches = [record for record in self.found if wanted in (str(record.number), record.name)]
        if not matches:
            names = [record.name for record in self.found]
            raise CommandError(
                f"no schedule named {wanted} in {self.path}",
                "",
                f"use a number or name of {_listed(self.found)}{did_you_mean(wanted, names)}",
            )
        return matches


def _listed(records: Sequence[Found]) -> str:
    shown = ", ".join(f"{record.number} ({record.name})" for record in records[:8])
    return shown if len(records) <= 8 else f"{shown}, ... {records[-1].number}"


class _ProgramOutput:
    """A stream that notes whether a program has written to it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.is_written = stream, False

    def write(self, text: str) -> int:
        self.is_written = True
        written: int = self._stream.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def execute(
    path: str,
    arguments: Sequence[str] = (),
    quiet: bool = False,
    needs_schedules: bool = True,
) -> UserProgram:
    """Execute a program and record its schedules; its output goes to stderr, with a line after it,
    or is discarded if `quiet`.

    Where there is no GPU, its cuda(0) is the emulated device. If it fails, its traceback is shown,
    and the schedules made before are returned.

    Raises
    ------
    CommandError when there is no such program, or it makes no schedule but `needs_schedules`.
    """
    code = read(path)
    recorder = ScheduleRecorder()
    emulate = config.current().emulate or not cuda(0).exist
    error: BaseException | None = None
    output: Any = StringIO() if quiet else _ProgramOutput(sys.stderr)
    with observed_by(recorder), redirect_stdout(output), config.scoped(emulate=emulate):
        module = ModuleType("__main__")
        try:
            _run(code, module, path, arguments)
        except SystemExit as leaving:
            error = leaving if leaving.code not in (None, 0) else None
            if error is not None:
                click.echo(f"te-sched: {path} ended itself: {_reason(leaving)}", err=True)
        except BaseException as failure:
            error = failure
            show_failure(failure, path)
    if not quiet and output.is_written:
        click.echo(f"--- end of the output of {path} (omitted with -q) ---", err=True)
    recorder.defined(vars(module), path)
    records = recorder.found
    if not records and needs_schedules:
        raise _without_schedules(path, module, error)
    for number, record in enumerate(records, 1):
        record.number = number
    return UserProgram(path, records, error, vars(module))


def run_as_main(path: str, arguments: Sequence[str]) -> int:
    """Execute a program, and return its exit code. A failure shows its traceback."""
    code = read(path)
    try:
        _run(code, ModuleType("__main__"), path, arguments)
    except (BrokenPipeError, SystemExit):
        raise
    except BaseException as failure:
        flush_output()
        show_failure(failure, path)
        return ExitCode.FOUND
    return ExitCode.FINE


def show_failure(failure: BaseException, path: str) -> None:
    """Show the traceback of a failed program, as Python does, unless it was interrupted."""
    if type(failure) is KeyboardInterrupt:
        raise failure
    _trim(failure, path, set())
    # Python's own hook says "Did you mean", and reads the lines of files only
    show = sys.__excepthook__ if os.path.isfile(path) else traceback.print_exception
    with without_listings():
        show(type(failure), failure, failure.__traceback__)


def _trim(error: BaseException, path: str, seen: set[int]) -> None:
    """Remove the frames that called the program, and those of te_sched in its own errors."""
    if id(error) in seen:
        return
    seen.add(id(error))
    frames = list(frames_of(error.__traceback__))
    own = [frame for frame in frames if frame.tb_frame.f_code.co_filename == path]
    if own:
        error.__traceback__ = shown_part(error, own[0])
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        if other is not None:
            _trim(other, path, seen)


def read(path: str) -> Any:
    """The code of a program.

    Raises
    ------
    CommandError when it cannot be read, or is not Python.
    """
    if path.endswith(".ipynb"):
        help = f"write its cells to a program: jupyter nbconvert --to script {path}"
        raise CommandError(f"{path} is a notebook, expected a Python program", "", help)
    try:
        source = files.read_at_once(path, pipes=True)
        if not os.path.isfile(path):  # for tracebacks, which would read the pipe again
            lines = source.decode(errors="replace").splitlines(keepends=True)
            linecache.cache[path] = (len(source), None, lines, path)
    except FileNotFoundError:
        raise CommandError(f"no such file: {path}", "", _advice_on(path)) from None
    except IsADirectoryError:
        fault = f"{path} is a folder, expected a Python program"
        raise CommandError(fault, "", _advice_inside(path)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CommandError(f"cannot read {path}: {why}", "", "give a readable file") from None
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        text = f": {error.text.strip()}" if error.text and error.text.strip() else ""
        why = f"{error.msg}{line}{text}"
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        why = str(error)
    raise CommandError(
        f"{path} is not valid Python", why, "correct it, or give a Python program"
    ) from None


def _advice_on(path: str) -> str:
    folder = Path(path).parent
    if not folder.is_dir():
        return f"check the path: there is no folder {folder}"
    with suppress(OSError):
        near = did_you_mean(Path(path).name, [file.name for file in sorted(folder.glob("*.py"))])
        if near:
            return f"check the path{near}"
    return "check the path; it is looked for from the current folder"


def _advice_inside(path: str) -> str:
    with suppress(OSError):
        names = sorted(str(file) for file in Path(path).glob("*.py"))
        if names:
            return f"give one of its programs: {', '.join(names[:3])}{', ...' * (len(names) > 3)}"
    return "give a Python program"


def _run(code: Any, module: ModuleType, path: str, arguments: Sequence[str]) -> None:
    """Execute code as the main module."""
    compat.install()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _NESTING))
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    try:
        with _as_main(module, [path, *arguments], os.path.dirname(os.path.abspath(path))):
            exec(code, module.__dict__)
    finally:
        sys.setrecursionlimit(limit)


@contextmanager
def _as_main(module: ModuleType, arguments: list[str], folder: str) -> Iterator[None]:
    """Set up the interpreter as if Python was started with the program."""
    before, argv, first = sys.modules["__main__"], sys.argv, sys.path[:1]
    sys.modules["__main__"], sys.argv, sys.path[:1] = module, arguments, [folder]
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv = before, argv
        with suppress(ValueError):
            sys.path.remove(folder)
        sys.path[:0] = first


def _reason(leaving: SystemExit) -> str:
    code = leaving.code
    return f"exit code {code:d}" if isinstance(code, int) else _text_of(code)


def _text_of(value: object) -> str:
    """The text of an object of the program, whose methods may fail."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__} without a text>"


def is_graph(value: Any) -> bool:
    """Whether an object is a graph (Relax): a function of one, or a module with some."""
    parts = value.functions.values() if isinstance(value, IRModule) else [value]
    return any(isinstance(part, GraphFunction) for part in parts)


def _without_schedules(path: str, module: ModuleType, error: BaseException | None) -> CommandError:
    if isinstance(error, SystemExit):
        fault = f"{path} exited before it made a schedule"
        help = f"pass its arguments after --: {path} -- ARGS..."
        return CommandError(fault, "", help, ExitCode.FOUND)
    if error is not None:
        fault = f"{path} failed before it made a schedule"
        return CommandError(fault, "", "correct it", ExitCode.FOUND)
    own = [
        member.__name__
        for member in vars(module).values()
        if isinstance(member, FunctionType) and member.__module__ == "__main__"
    ]
    fault = f"{path} makes no schedule"
    graphs = [name for name, member in vars(module).items() if is_graph(member)]
    if graphs:
        return CommandError(
            fault,
            f"{graphs[0]} is a graph, whose functions are scheduled when it is built",
            f"run te-sched graph {path} --name {graphs[0]}; to tune a graph, call "
            "te_sched.meta_schedule.relax_integration.tune_relax",
        )
    if own:
        calls = f"{own[0]}(...)"
        return CommandError(
            fault,
            f"it defines {', '.join(own[:4])}{', ...' * (len(own) > 4)}, and calls none",
            f'call what makes the schedule at its end, under if __name__ == "__main__": {calls}',
        )
    return CommandError(
        fault,
        "",
        "make one with s = te.create_schedule(C.op), or with sch = tir.Schedule(module); see "
        "tutorials/00 and tutorials/09",
    )
