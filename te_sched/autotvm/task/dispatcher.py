"""Dispatch contexts: which configuration a template has when it is called.

A template asks the innermost context, which asks those around it; the outermost makes fallbacks.
Must not know templates.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Any, ClassVar, Self

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.env import GLOBAL_SCOPE
from te_sched.autotvm.task.space import ConfigSpace, FallbackConfigEntity
from te_sched.codegen.target import Target
from te_sched.public_members import PublicObject, missing_method
from te_sched.signatures import checked

logger = logging.getLogger("autotvm")

Key = tuple[str, Hashable]


class DispatchContext(PublicObject):
    """The base of contexts, which are used with `with`; `DispatchContext.current` is the innermost.

    >>> isinstance(DispatchContext.current, FallbackContext)
    True
    """

    current: ClassVar[DispatchContext]

    def __init__(self) -> None:
        self._outer: list[DispatchContext] = []

    def query(self, target: Target | None, workload: Any) -> Any:
        """The configuration for a workload: the one of this context, or else of those around it."""
        config = self._query_inside(target, workload)
        if config is not None:
            return config
        outer = self._outer[-1] if self._outer else DispatchContext.current
        return (outer if outer is not self else ROOT).query(target, workload)

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        """Use a configuration for a workload from now on."""
        raise missing_method(self, "update")

    def _query_inside(self, target: Target | None, workload: Any) -> Any:
        raise missing_method(self, "_query_inside")

    def __enter__(self) -> Self:
        self._outer.append(DispatchContext.current)
        DispatchContext.current = self
        return self

    def __exit__(self, *exception: object) -> None:
        DispatchContext.current = self._outer.pop()


class ApplyConfig(DispatchContext):
    """Use one configuration for all workloads.

    >>> cfg = ConfigSpace()
    >>> with ApplyConfig(cfg):
    ...     DispatchContext.current.query(None, ()) is cfg
    True
    """

    def __init__(self, config: ConfigSpace) -> None:
        super().__init__()
        self._config = config
        self.workload: Any = None

    def _query_inside(self, target: Target | None, workload: Any) -> ConfigSpace:
        del target
        self.workload = workload
        return self._config

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        """Use another configuration from now on."""
        del target
        self.workload, self._config = workload, cfg


class FallbackContext(DispatchContext):
    """The outermost context: a fallback for each target and workload."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[Key, ConfigSpace] = {}

    def _query_inside(self, target: Target | None, workload: Any) -> ConfigSpace:
        key = (str(target), workload)
        if key not in self.memory:
            if not GLOBAL_SCOPE.silent:
                logger.warning(
                    "Cannot find config for target=%s, workload=%s. A fallback configuration is "
                    "used, which may bring great performance regression.",
                    *key,
                )
            self.memory[key] = FallbackConfigEntity()
        return self.memory[key]

    def clear_cache(self, target: Target | None, workload: Any) -> None:
        """Forget the fallback for a workload."""
        self.memory.pop((str(target), workload), None)

    def update(self, target: Target | None, workload: Any, cfg: ConfigSpace) -> None:
        """Use a configuration for a workload from now on."""
        self.memory[str(target), workload] = cfg


ROOT = DispatchContext.current = FallbackContext()


@checked
def clear_fallback_cache(target: Target | None, workload: Any) -> None:
    """Forget the fallback for a workload, if the innermost context makes fallbacks."""
    context = DispatchContext.current
    if isinstance(context, FallbackContext):
        context.clear_cache(target, workload)


_tell_of_absent_names(__name__)
