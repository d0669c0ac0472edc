"""A PyTorch model that is imported, its parameters detached, legalized and fused, and compared."""

import numpy as np
import torch
import tvm
from torch import nn
from torch.export import export
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(12, 8)
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        return torch.softmax(self.last(torch.relu(self.hidden(x))), dim=-1)


torch.manual_seed(0)
model = Classifier().eval()
with torch.no_grad():
    program = export(model, (torch.randn(2, 12),))
module = from_exported_program(program, keep_params_as_input=True)
module, params = relax.frontend.detach_params(module)
print(module.script())
print([tuple(one.shape) for one in params["main"]], module["main"].attrs["num_input"])
zero = relax.get_pipeline("zero")(module)
print(zero.script())
data = np.random.rand(2, 12).astype("float32")
want = model(torch.from_numpy(data)).detach().numpy()


def run(module, *arrays):
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    (result,) = machine["main"](tvm.nd.array(data), *arrays)
    return result.numpy()


np.testing.assert_allclose(run(zero, *params["main"]), want, rtol=1e-4, atol=1e-6)
weights = [param.name_hint for param in module["main"].params[1:]]
bound = relax.transform.BindParams("main", dict(zip(weights, params["main"])))(module)
print([param.name_hint for param in bound["main"].params])
np.testing.assert_allclose(run(bound), want, rtol=1e-4, atol=1e-6)
