"""`relax.vm_build`: building, by TVM's name of the module."""

from te_sched.relax.vm.build import build as build
from te_sched.relax.vm.executable import Executable as Executable
