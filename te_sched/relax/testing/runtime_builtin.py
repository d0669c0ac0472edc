"""The codes of checks and shapes that tests write."""

from te_sched.relax.vm.builtins import MakeShapeCode as MakeShapeCode
from te_sched.relax.vm.builtins import MatchShapeCode as MatchShapeCode
