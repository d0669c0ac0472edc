"""Help for tests of graphs, with TVM's names."""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.relax.testing import nn as nn
from te_sched.relax.testing.ast_printer import dump_ast as dump_ast

public_names.list_names(sys.modules[__name__], "nn")
_tell_of_absent_names(__name__)
