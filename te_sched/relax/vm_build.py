"""`relax.vm_build`: building, by TVM's name of the module."""

from te_sched.relax.vm.build import Executable as Executable
from te_sched.relax.vm.build import build as build
