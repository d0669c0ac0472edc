"""What rules ask about a target: its processors, its limits of threads, its default rules."""

from __future__ import annotations

from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.utils import cpu_count


def given(target: Target | None) -> Target:
    """The target of a task.

    Raises
    ------
    DeclarationError if it has none.
    """
    if target is None:
        raise DeclarationError(
            "the task has no target",
            "the rules of its space depend on it",
            'give TuneContext(mod, target="llvm -num-cores=8")',
        )
    return target


def cores_of(target: Target | None) -> int:
    """The number of processors of a target; those of this machine if it does not say.

    Raises
    ------
    DeclarationError for a number that is not positive.
    """
    known = given(target)
    cores = known.options.get("num-cores")
    if cores is None:
        return cpu_count()
    if not cores.isdigit() or int(cores) < 1:
        raise DeclarationError(
            f"target {known} has {cores} processors, expected a positive number",
            "the number of parallel iterations depends on it",
            'give "llvm -num-cores=8", with the number of physical cores',
        )
    return int(cores)


def can_copy_asynchronously(target: Target | None) -> bool:
    """Whether a GPU copies from global to shared memory while it computes: compute capability 8.0
    and later.
    """
    if target is None or target.kind != "cuda":
        return False
    capability = (target.arch or "").removeprefix("sm_").rstrip("abcdefghijklmnopqrstuvwxyz")
    return capability.isdigit() and int(capability) >= 80


def defaults_of(target: Target | None) -> str:
    """The kind of defaults that a target has: "llvm", "cuda", ..."""
    return given(target).kind.name
