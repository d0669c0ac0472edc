"""Judges many lines in a process that may crash or hang: a new one continues after the line.

Must not know the lines.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

MEMORY = 8 << 30  # limit of the address space of a process, in bytes
SLOW = 10  # seconds after which a line is interrupted
STARTING = 120.0  # time limit for the start of a process, in seconds
HUNG = 30.0  # seconds after which a silent process is killed
ROOT = Path(__file__).resolve().parent.parent.parent


def findings(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The lines with findings, and their faults."""
    found: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lines.json")
        path.write_text(json.dumps(list(lines)))
        start = 0
        while start < len(lines):
            start = _go_on(path, start, lines, found)
    return found


def _go_on(path: Path, start: int, lines: Sequence[str], found: list[tuple[str, str]]) -> int:
    """Judge the lines from a number; returns the number of the line to continue with."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.running", str(path), str(start)],
        cwd=path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TE_SCHED_CACHE": "0", "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    at = start
    patience, rest = STARTING, b""
    while select.select([process.stdout], [], [], patience)[0]:
        # Not readline: select does not see a second line that it would keep.
        patience, answers = HUNG, os.read(process.stdout.fileno(), 1 << 16)
        if not answers:
            break
        *complete, rest = (rest + answers).split(b"\n")
        for text in complete:
            at, verdict = json.loads(text)
            if verdict:
                found.append((lines[at], verdict))
    else:
        found.append((lines[at], "hung"))
        process.kill()
    code = process.wait()
    if code == 0:
        return len(lines)
    if found[-1:] != [(lines[at], "hung")]:
        found.append((lines[at], f"crashed: {code}"))
    return at + 1


class _Slow(BaseException):
    pass


def _ring(*_: object) -> None:
    raise _Slow


def work(path: str, start: int) -> None:
    """Judge the lines of a file; prints the number of each line before, and its fault after."""
    from tests.hostile import judge

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discard the output of lines
    signal.signal(signal.SIGALRM, _ring)
    lines, known = json.loads(Path(path).read_text()), judge.names()
    for number in range(start, len(lines)):
        answers.write(f"[{number}, null]\n")
        signal.alarm(SLOW)
        try:
            verdict = judge.judge(lines[number], dict(known))
        except _Slow:
            verdict = f"slow: more than {SLOW} s"
        finally:
            signal.alarm(0)
        if verdict:
            answers.write(json.dumps([number, verdict]) + "\n")
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
