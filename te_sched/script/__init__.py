"""TVMScript: programs of loops and blocks, written in Python's syntax.

`@T.prim_func` and `@I.ir_module` read functions and classes, `from_source` reads text.
"""

import sys
import typing

from te_sched import public_names
from te_sched.script import ir as ir
from te_sched.script import relax as relax
from te_sched.script import tir as tir
from te_sched.script.ir import ir_module as ir_module
from te_sched.script.parser import NAMES as _NAMES
from te_sched.script.parser import from_source as from_source
from te_sched.script.parser import parse as parse

_NAMES.update({"T": tir, "I": ir, "R": relax, "tir": tir, "relax": relax})
_NAMES.update({"Annotated": typing.Annotated, "tvm": sys.modules["te_sched"]})
public_names.list_names(sys.modules[__name__], "ir", "relax", "tir")
sys.modules["te_sched"]._tell_of_absent_names(sys.modules[__name__])
