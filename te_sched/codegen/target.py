"""Targets: for which machine code is generated.

Owns the spelling of target strings ("llvm -mcpu=skylake-avx512 -mattr=+avx2"). Must not know code
generation.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from te_sched.errors import BuildError

_OPTIONS = {
    "llvm": ("mcpu", "mattr", "mtriple", "keys", "device", "libs", "num-cores", "opt-level"),
    "cuda": ("arch", "keys", "libs", "max_num_threads", "thread_warp_size"),
}
_ALIASES = {"cpu": "llvm"}


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of machine and its options; `Target("llvm -mcpu=znver4")` reads a target string."""

    text: str
    kind: str = field(init=False)
    options: dict[str, str] = field(init=False, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise BuildError(
                f"use {self.text!r} as a target",
                "a target is text",
                'use "llvm" or "llvm -mcpu=..."',
            )
        words = shlex.split(self.text)
        kind = _ALIASES.get(words[0], words[0]) if words else ""
        if kind not in _OPTIONS:
            legal = ", ".join(_OPTIONS)
            raise BuildError(
                f"use {self.text!r} as a target",
                f"{kind!r} is no kind of target",
                f"use one of {legal}",
            )
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "options", _read_options(kind, words[1:], self.text))

    def __str__(self) -> str:
        return self.text

    @property
    def mcpu(self) -> str | None:
        """The processor to generate code for; None means this machine's."""
        return self.options.get("mcpu")

    @property
    def mattr(self) -> str | None:
        """Processor features to add (+name) or take away (-name)."""
        return self.options.get("mattr")

    @property
    def mtriple(self) -> str | None:
        """The LLVM triple; None means this machine's."""
        return self.options.get("mtriple")

    @property
    def opt_level(self) -> int:
        """How hard LLVM optimises, 0 to 3."""
        return int(self.options.get("opt-level", "3"))


def as_target(target: str | Target | None) -> Target:
    """A Target from what users write; None means the host's processor."""
    if target is None:
        return Target("llvm")
    return target if isinstance(target, Target) else Target(target)


def check_available(target: Target) -> None:
    """Refuse a target for which this version generates no code."""
    if target.kind != "llvm":
        raise BuildError(
            f"build for target {target.text!r}",
            f"running on {target.kind} devices is not available in this version of te_sched",
            'build for "llvm"; lower() prints GPU schedules all the same',
        )


def _read_options(kind: str, words: list[str], text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in _OPTIONS[kind]:
            legal = ", ".join(f"-{option}=..." for option in _OPTIONS[kind])
            raise BuildError(
                f"use {text!r} as a target",
                f"{word!r} is not an option of {kind}",
                f"use one of {legal}",
            )
        options[name] = value if equals else next(rest, "")
    level = options.get("opt-level", "3")
    if level not in ("0", "1", "2", "3"):
        raise BuildError(f"use {text!r} as a target", f"opt-level is {level!r}", "use 0, 1, 2 or 3")
    return options
