"""The names of TVMScript for functions of loops and blocks: `from te_sched.script import tir as T`.

A face: the words are those of `script.words`. `tir.pyi`, which type checkers and editors read, is
made by `python -m scripts.stubs`.
"""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.script import words as _words
from te_sched.script.decorators import prim_func as prim_func
from te_sched.script.parser import macro as macro

globals().update({name: getattr(_words, name) for name in _words.__all__})
public_names.list_names(sys.modules[__name__])

_tell_of_absent_names(__name__)
