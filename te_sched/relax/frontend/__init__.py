"""Where graphs come from: models of PyTorch and ONNX, and models written as modules."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.frontend import nn as nn
from te_sched.relax.frontend.common import detach_params as detach_params

public_names.list_names(sys.modules[__name__], "nn", late=("onnx", "torch"))
signatures.check_arguments(sys.modules[__name__], error=_GraphTypeError)

_tell_of_absent_names(__name__)
