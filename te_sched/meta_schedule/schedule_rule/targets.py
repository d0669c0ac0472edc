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
    """The number of processors of a target; those of this machine if it does not say."""
    cores = given(target).options.get("num-cores")
    return cpu_count() if cores is None else int(cores)


def can_copy_asynchronously(target: Target | None) -> bool:
    """Whether a GPU copies from global to shared memory while it computes: compute capability 8.0
    and later.
    """
    return target is not None and _capability(target) >= 80


def _capability(target: Target) -> int:
    """The compute capability of a GPU of NVIDIA, times ten; 0 if it is not given."""
    number = (target.arch or "").removeprefix("sm_").rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(number) if target.kind == "cuda" and number.isdigit() else 0


# Names of processors, as LLVM has them, with products of small integers in AVX-512.
_VNNI = {
    *("cascadelake", "cooperlake", "icelake-client", "icelake-server", "tigerlake", "rocketlake"),
    *("sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5"),
}
_AVX512 = {"skylake-avx512", "cannonlake", "x86-64-v4"}
_GPUS = ("cuda", "opencl", "rocm", "vulkan", "metal", "webgpu", "nvptx")


def kind_of_target(target: Target | None) -> str:
    """The kind of target whose defaults a search uses: "llvm", "cuda", or "cuda-tensorcore" for
    GPUs with units for products of matrices, of compute capability 7.5 and later.

    Raises
    ------
    DeclarationError for targets without defaults.
    """
    effective_target = given(target)
    if effective_target.kind == "llvm":
        return "llvm"
    if effective_target.kind in _GPUS:
        return "cuda-tensorcore" if _capability(effective_target) >= 75 else "cuda"
    raise DeclarationError(
        f"no rules for target {effective_target}",
        "there are default rules for processors (llvm) and GPUs",
        "give the rules: PostOrderApply(sch_rules=[...], postprocs=[...], mutator_probs={...})",
    )


def rules_of_target(target: Target | None) -> str:
    """The kind of default rules for a target: as `kind_of_target`, or the name of instructions of
    its processor for products of small integers.
    """
    kind = kind_of_target(target)
    return _instructions(given(target)) if kind == "llvm" else kind


def _instructions(target: Target) -> str:
    features = (target.mattr or "").split(",")
    if "arm_cpu" in target.keys or (target.mtriple or "").startswith(("aarch64", "arm")):
        return "dotprod" if "+dotprod" in features else "asimd"
    if target.mcpu in _VNNI or "+avx512vnni" in features:
        return "vnni"
    return "avx512" if target.mcpu in _AVX512 or "+avx512f" in features else "llvm"
