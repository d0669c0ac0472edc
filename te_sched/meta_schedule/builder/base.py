"""The base of builders, which compile candidates into files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.codegen.target import Target
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.component import Component, not_written


class BuilderInput:
    """A module to build, its target, and parameters that are bound."""

    def __init__(
        self, mod: IRModule, target: Target, params: Mapping[str, Any] | None = None
    ) -> None:
        self.mod, self.target = mod, target
        self.params = None if params is None else dict(params)


class BuilderResult:
    """Where the built module lies, or why there is none."""

    def __init__(self, artifact_path: str | None, error_msg: str | None) -> None:
        self.artifact_path, self.error_msg = artifact_path, error_msg


class Builder(Component):
    """Builds candidates."""

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        """Build all; the results are in the order of the inputs."""
        raise not_written(self, "PyBuilder", "build")

    def close(self) -> None:
        """End processes; the builder can be used again."""


PyBuilder = Builder
