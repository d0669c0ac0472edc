"""Help for tests of graphs, with TVM's names."""

import sys

from te_sched import signatures
from te_sched.relax.testing import nn as nn
from te_sched.relax.testing.ast_printer import dump_ast as dump_ast

signatures.list_names(sys.modules[__name__])
