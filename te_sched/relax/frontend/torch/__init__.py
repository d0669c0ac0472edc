"""Models of PyTorch as graphs, with TVM's names. torch is imported only where it is needed."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.frontend.torch import complex_numbers as _complex_numbers  # noqa: F401
from te_sched.relax.frontend.torch import creation as _creation  # noqa: F401
from te_sched.relax.frontend.torch import distances as _distances  # noqa: F401
from te_sched.relax.frontend.torch import elementwise as _elementwise  # noqa: F401
from te_sched.relax.frontend.torch import embeddings as _embeddings  # noqa: F401
from te_sched.relax.frontend.torch import grouped_products as _grouped_products  # noqa: F401
from te_sched.relax.frontend.torch import indexing as _indexing  # noqa: F401
from te_sched.relax.frontend.torch import layers as _layers  # noqa: F401
from te_sched.relax.frontend.torch import linear_algebra as _linear_algebra  # noqa: F401
from te_sched.relax.frontend.torch import losses as _losses  # noqa: F401
from te_sched.relax.frontend.torch import ordering as _ordering  # noqa: F401
from te_sched.relax.frontend.torch import reductions as _reductions  # noqa: F401
from te_sched.relax.frontend.torch import resampling as _resampling  # noqa: F401
from te_sched.relax.frontend.torch import scans as _scans  # noqa: F401
from te_sched.relax.frontend.torch import scattering as _scattering  # noqa: F401
from te_sched.relax.frontend.torch import searching as _searching  # noqa: F401
from te_sched.relax.frontend.torch import shapes as _shapes  # noqa: F401
from te_sched.relax.frontend.torch import special as _special  # noqa: F401
from te_sched.relax.frontend.torch.dynamo import (
    dynamo_capture_subgraphs as dynamo_capture_subgraphs,
)
from te_sched.relax.frontend.torch.dynamo import relax_dynamo as relax_dynamo
from te_sched.relax.frontend.torch.exported_program_translator import (
    from_exported_program as from_exported_program,
)
from te_sched.relax.frontend.torch.fx_translator import from_fx as from_fx

public_names.list_names(sys.modules[__name__])
signatures.check_arguments(sys.modules[__name__], error=_GraphTypeError)
_tell_of_absent_names(__name__)
