"""`relax.vm_build`: building, by TVM's name of the module."""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.relax.vm.build import build as build
from te_sched.relax.vm.executable import Executable as Executable

public_names.list_names(sys.modules[__name__])
_tell_of_absent_names(__name__)
