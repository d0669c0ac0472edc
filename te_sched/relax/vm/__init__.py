"""Running graphs: executables, the virtual machine, and `build`, which older programs call here."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.vm import run_functions as run_functions
from te_sched.relax.vm.build import build as build
from te_sched.relax.vm.bytecode import ShapeTuple as ShapeTuple
from te_sched.relax.vm.exec_builder import ExecBuilder as ExecBuilder
from te_sched.relax.vm.executable import Executable as Executable
from te_sched.relax.vm.machine import VirtualMachine as VirtualMachine
from te_sched.relax.vm.profiling import VMInstrumentReturnKind as VMInstrumentReturnKind

signatures.check_arguments(sys.modules[__name__], error=_GraphTypeError)
public_names.list_names(sys.modules[__name__])
_tell_of_absent_names(__name__)
