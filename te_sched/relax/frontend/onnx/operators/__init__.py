"""The rows of operators of ONNX, a module for each family. Importing the package registers them."""

from te_sched.relax.frontend.onnx.operators import (
    activations as activations,
)
from te_sched.relax.frontend.onnx.operators import (
    control_flow as control_flow,
)
from te_sched.relax.frontend.onnx.operators import (
    elementwise as elementwise,
)
from te_sched.relax.frontend.onnx.operators import (
    grouped_attention as grouped_attention,
)
from te_sched.relax.frontend.onnx.operators import (
    indexing as indexing,
)
from te_sched.relax.frontend.onnx.operators import (
    linear_algebra as linear_algebra,
)
from te_sched.relax.frontend.onnx.operators import (
    microsoft as microsoft,
)
from te_sched.relax.frontend.onnx.operators import (
    microsoft_quantized as microsoft_quantized,
)
from te_sched.relax.frontend.onnx.operators import (
    normalization as normalization,
)
from te_sched.relax.frontend.onnx.operators import (
    quantized as quantized,
)
from te_sched.relax.frontend.onnx.operators import (
    recurrent as recurrent,
)
from te_sched.relax.frontend.onnx.operators import (
    reductions as reductions,
)
from te_sched.relax.frontend.onnx.operators import (
    resizing as resizing,
)
from te_sched.relax.frontend.onnx.operators import (
    sampling as sampling,
)
from te_sched.relax.frontend.onnx.operators import (
    selection as selection,
)
from te_sched.relax.frontend.onnx.operators import (
    sequences as sequences,
)
from te_sched.relax.frontend.onnx.operators import (
    shapes as shapes,
)
from te_sched.relax.frontend.onnx.operators import (
    signals as signals,
)
from te_sched.relax.frontend.onnx.operators import (
    unpooling as unpooling,
)
from te_sched.relax.frontend.onnx.operators import (
    windows as windows,
)
