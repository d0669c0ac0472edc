"""The names of TVMScript for graphs: `from te_sched.script import relax as R`.

A face: the words are those of `script.graph_words`, and the operators of `te_sched.relax.op`:
`R.add`, `R.nn.relu`. `relax.pyi`, which type checkers and editors read, is made by
`python -m scripts.stubs`.
"""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.relax import op as _op
from te_sched.script import graph_words as _words
from te_sched.script.decorators import function as function
from te_sched.script.parser import macro as macro

globals().update({name: getattr(_op, name) for name in _op.__all__})
globals().update({name: getattr(_words, name) for name in _words.__all__})
public_names.list_names(sys.modules[__name__], *_op._GROUPS)

_tell_of_absent_names(__name__)
