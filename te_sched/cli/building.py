"""te-sched build: the compiled form of a schedule, as text or as a file."""

from __future__ import annotations

from typing import Any

import click

from te_sched import config, files
from te_sched.cli.options import of_programs, output_option, target_option
from te_sched.cli.problems import CommandError, ExitCode, say
from te_sched.cli.programs import execute
from te_sched.cli.recording import Found
from te_sched.cli.showing import show, show_title
from te_sched.codegen.target import Target
from te_sched.driver import build
from te_sched.errors import CallError, TeSchedError
from te_sched.lowering.pipeline import lower

_LANGUAGES = {"ir": "python", "llvm": "llvm", "asm": "asm", "cuda": "cuda", "ptx": "asm"}
_OF_CPU, _OF_GPU = ("llvm", "asm"), ("cuda", "ptx")
_FORMS = (*_LANGUAGES, "object")


def build_found(record: Found, target: Target, sanitize: bool = False) -> Any:
    """The module of a schedule, built with the options that its program uses."""
    with config.scoped(lowering=record.choices):
        return build(
            record.program,
            record.arguments,
            target=target,
            name=record.function,
            binds=record.binds,
            verify=record.verify,
            sanitize=sanitize,
        )


@click.command("build")
@of_programs
@target_option
@click.option(
    "--emit",
    type=click.Choice(_FORMS),
    help="What to print: the lowered program, LLVM IR, assembly, CUDA C++ or PTX; or an object "
    "file to write. By default llvm, or cuda for a GPU.",
)
@output_option(
    "Write to this file instead of stdout. For an object: .o, .so or .tar, for "
    "te_sched.runtime.load_module."
)
def command(
    program: str,
    arguments: tuple[str, ...],
    schedule: str | None,
    quiet: bool,
    target: Target | None,
    emit: str | None,
    output: str | None,
) -> int:
    """Compile the schedules that PROGRAM.py builds, lowers or makes, and print the code."""
    if emit == "object" and output is None:
        raise CommandError(
            "build --emit object needs an output file",
            "machine code is binary",
            "name a file: -o NAME.o",
        )
    ran = execute(program, arguments, quiet)
    chosen = ran.chosen(schedule) if output is None else [ran.one(schedule, f"write to {output}")]
    code = ran.code
    for record in chosen:
        wanted = record.target_of(target)
        form = emit or ("cuda" if wanted.kind == "cuda" else "llvm")
        _check_form(form, wanted, record)
        try:
            if form == "object":
                _save(record, wanted, output or "")
                continue
            text = _text(record, wanted, form)
        except CommandError:
            raise
        except TeSchedError as error:
            say(error)
            code = ExitCode.FOUND
            continue
        if output is not None:
            _write(output, text)
            continue
        if len(chosen) > 1:
            show_title(f"{record.title}, {wanted}", _LANGUAGES[form])
        show(text, _LANGUAGES[form])
    return code


def _check_form(form: str, target: Target, record: Found) -> None:
    is_gpu = target.kind == "cuda"
    if form in (_OF_CPU if is_gpu else _OF_GPU):
        others = _OF_GPU if is_gpu else _OF_CPU
        raise CommandError(
            f"cannot emit {form}: {record.title} is built for {target}",
            "",
            f"use --emit {' or '.join(others)}, or another --target",
        )


def _text(record: Found, target: Target, form: str) -> str:
    if form == "ir":
        with config.scoped(lowering=record.choices):
            module = lower(
                record.program, record.arguments, name=record.function, binds=record.binds
            )
        return module.script()
    built = build_found(record, target)
    if form in _OF_CPU:
        return str(built.get_source({"llvm": "ll"}.get(form, form)))
    if not built.imported_modules:
        raise CommandError(
            f"cannot emit {form}: {record.title} has no kernels",
            "none of its axes is bound to threads",
            "bind axes to threads, or build for llvm",
        )
    return str(built.imported_modules[0].get_source(form))


def _save(record: Found, target: Target, output: str) -> None:
    built = build_found(record, target)
    try:
        built.export_library(output)
    except CallError as error:
        raise CommandError(error.fault, error.why, error.help) from None


def _write(output: str, text: str) -> None:
    whole = text if text.endswith("\n") else f"{text}\n"
    files.write(output, whole, "write", error=CommandError)
