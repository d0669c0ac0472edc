"""Bodies of functions, as they are printed."""

from __future__ import annotations

from te_sched.script import from_source


def body(text: str, head: str = "A: T.Buffer((8, 8), 'float32')") -> list[str]:
    """The lines of the body of a function with this text."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    printed = from_source(f"@T.prim_func\ndef f({head}):\n{lines}").script().splitlines()
    return [line[4:] for line in printed[4:]]
