"""Patterns of libraries by name, for passes that look for the patterns of one library:

patterns = relax.backend.get_patterns_with_prefix("mylib")
module = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(module)
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import chain

from te_sched.relax.transform.fuse_ops_by_pattern import FusionPattern, as_fusion_pattern
from te_sched.signatures import checked

_PATTERNS: list[FusionPattern] = []
_TABLES = ("cublas", "cudnn", "cutlass", "hipblas")  # of te_sched, read when they are asked for


def _known(prefix: str) -> list[FusionPattern]:
    """The patterns whose names may begin with a prefix, those that are searched first last."""
    names = [name for name in _TABLES if name.startswith(prefix) or prefix.startswith(name)]
    tables = [import_module(f"te_sched.relax.backend.contrib.{name}").PATTERNS for name in names]
    return [*chain(*tables), *_PATTERNS]


@checked
def register_patterns(patterns: Sequence[object]) -> None:
    """Register patterns of libraries, named "library.operator".

    Parameters
    ----------
    patterns : FusionPatterns, or tuples of their arguments. Later ones come first when they are
        searched.

    >>> from te_sched.relax.dpl import is_op, wildcard
    >>> register_patterns([("demo.exp", is_op("relax.exp")(wildcard()))])
    >>> register_patterns([("demo.double_exp", is_op("relax.exp")(is_op("relax.exp")(wildcard())))])
    >>> [one.name for one in get_patterns_with_prefix("demo")]
    ['demo.double_exp', 'demo.exp']
    >>> get_pattern("demo.exp").pattern
    Op(relax.exp)(*)
    """
    _PATTERNS.extend([as_fusion_pattern(pattern) for pattern in patterns])


@checked
def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin with a prefix, those that were registered last first."""
    return [pattern for pattern in reversed(_known(prefix)) if pattern.name.startswith(prefix)]


@checked
def get_pattern(name: str) -> FusionPattern | None:
    """The pattern with a name, the one that was registered last; None if there is none."""
    return next((pattern for pattern in reversed(_known(name)) if pattern.name == name), None)
