"""A model written with relax.frontend.nn, of any batch size: exported, optimized, built, run."""

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(20, 16)
        self.last = nn.Linear(16, 5, bias=False)

    def forward(self, x):
        return self.last(nn.op.silu(self.hidden(x)))

    def predict(self, x: nn.Tensor):
        return nn.op.softmax(self.forward(x), axis=-1)


model = Classifier()
images = nn.spec.Tensor(("batch", 20), "float32")
module, spec = model.export_tvm(spec={"forward": {"x": images}, "predict": {"x": images}})
print(module.script())
print(spec)
print(list(model.state_dict()), dict(model.named_parameters())["hidden.weight"].shape)
print([str(one.name_hint) for one in relax.get_pipeline("zero")(module).get_global_vars()])
rng = np.random.default_rng(0)
sizes = {name: [int(size) for size in param.shape] for name, param in spec}
params = {name: rng.normal(size=size).astype("float32") for name, size in sizes.items()}
arrays = [tvm.nd.array(one) for one in params.values()]
machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())


def reference(x):
    hidden = x @ params["hidden.weight"].T + params["hidden.bias"]
    return hidden / (1 + np.exp(-hidden)) @ params["last.weight"].T


for batch in (1, 3, 7):
    x = rng.normal(size=(batch, 20)).astype("float32")
    found = machine["forward"](tvm.nd.array(x), *arrays).numpy()
    np.testing.assert_allclose(found, reference(x), rtol=1e-3, atol=1e-4)
    exponent = np.exp(reference(x))
    found = machine["predict"](tvm.nd.array(x), *arrays).numpy()
    np.testing.assert_allclose(found, exponent / exponent.sum(-1, keepdims=True), rtol=1e-3)
