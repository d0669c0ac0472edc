"""Rules for processors: `dlight.cpu.Default()` knows all functions of blocks."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.dlight.cpu.rules import Default as Default
from te_sched.dlight.cpu.rules import Fallback as Fallback

public_names.list_names(sys.modules[__name__])
signatures.check_arguments(sys.modules[__name__])
_tell_of_absent_names(__name__)
