"""The networks of benchmarks.graphs: torch modules with the shapes of their inputs.

Must not know what is measured.
"""

from __future__ import annotations

import importlib
import math
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

# A module, and the shapes of its inputs.
Network = tuple[Any, list[tuple[int, ...]]]


def mlp(nn: Any, batch: int) -> Network:
    """The course's classifier."""
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    return model, [(batch, 784)]


def cnn(nn: Any, batch: int) -> Network:
    """The course's small convolutional network."""
    model = nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()),
        *(nn.Linear(5408, 100), nn.ReLU(), nn.Linear(100, 10)),
    )
    return model, [(batch, 1, 28, 28)]


def residual(nn: Any, blocks: Sequence[tuple[int, int]], side: int) -> Any:
    """A residual network: (channels, stride) of each block."""

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(after)
            self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(after)
            self.relu = nn.ReLU()
            is_same = before == after and stride == 1
            self.shortcut = None
            if not is_same:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )

        def forward(self, x: Any) -> Any:
            y = self.relu(self.norm1(self.first(x)))
            y = self.norm2(self.second(y))
            return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))

    first = blocks[0][0]
    layers = [nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    before = first
    for channels, stride in blocks:
        layers.append(Block(before, channels, stride))
        before = channels
    layers += [nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(before, 1000)]
    return nn.Sequential(*layers), [(1, 3, side, side)]


def attention_block(nn: Any, width: int, heads: int, attend: Callable[..., Any]) -> Any:
    """A block of a transformer, for batches and sequences of any size: attention, a function of
    three tensors, and two products, with norms before them.
    """

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in "qkvo")
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def split(self, x: Any) -> Any:
            return x.unflatten(2, (heads, width // heads)).permute(0, 2, 1, 3)

        def forward(self, x: Any) -> Any:
            y = self.norm1(x)
            q, k, v = (self.split(one(y)) for one in (self.query, self.key, self.value))
            y = attend(q, k, v).permute(0, 2, 1, 3).flatten(2)
            x = x + self.out(y)
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    return Block()


def transformer(nn: Any, length: int, width: int, heads: int) -> Network:
    """A block of a transformer whose attention is written as products and a softmax."""
    torch = importlib.import_module("torch")

    def attend(q: Any, k: Any, v: Any) -> Any:
        weights = torch.softmax(
            torch.matmul(q, k.permute(0, 1, 3, 2)) * (1 / math.sqrt(width // heads)), dim=-1
        )
        return torch.matmul(weights, v)

    return attention_block(nn, width, heads, attend), [(1, length, width)]


def vision_transformer(nn: Any, side: int, width: int, heads: int) -> Any:
    """Two blocks of a vision transformer: patches and a token for their class, an odd number."""
    torch = importlib.import_module("torch")
    count = (side // 16) ** 2 + 1

    class VisionTransformer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.token = nn.Parameter(torch.randn(1, 1, width))
            self.places = nn.Parameter(torch.randn(1, count, width))
            attend = nn.functional.scaled_dot_product_attention
            self.blocks = nn.Sequential(*[attention_block(nn, width, heads, attend) for _ in "ab"])
            self.head = nn.Linear(width, 1000)

        def forward(self, x: Any) -> Any:
            y = self.patches(x).reshape(1, width, count - 1).permute(0, 2, 1)
            y = self.blocks(torch.cat([self.token, y], 1) + self.places)
            return self.head(torch.mean(y, 1))

    return VisionTransformer(), [(1, 3, side, side)]


def decoder(nn: Any, layers: int, width: int, heads: int, length: int) -> Any:
    """A step of a Llama: one token, with the keys and values of the tokens before it."""
    torch = importlib.import_module("torch")
    size, inner = width // heads, 1376

    class Norm(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: Any) -> Any:
            return x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + 1e-6) * self.weight

    class Layer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = Norm(), Norm()
            self.q, self.k, self.v, self.out = (
                nn.Linear(width, width, bias=False) for _ in range(4)
            )
            self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
            self.down = nn.Linear(inner, width, bias=False)

        def rotate(self, x: Any, cos: Any, sin: Any) -> Any:
            turned = torch.cat([-x[:, :, :, size // 2 :], x[:, :, :, : size // 2]], -1)
            return x * cos + turned * sin

        def forward(self, x: Any, keys: Any, values: Any, cos: Any, sin: Any) -> Any:
            y = self.norm1(x)
            q, k, v = (part(y).reshape(1, heads, 1, size) for part in (self.q, self.k, self.v))
            keys = torch.cat([keys, self.rotate(k, cos, sin)], 2)
            y = nn.functional.scaled_dot_product_attention(
                self.rotate(q, cos, sin), keys, torch.cat([values, v], 2)
            )
            x = x + self.out(y.reshape(1, width))
            y = self.norm2(x)
            return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))

    class Step(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Layer() for _ in range(layers)])
            self.norm, self.head = Norm(), nn.Linear(width, 2048, bias=False)
            angle = length * 10000.0 ** (-2 * (torch.arange(size) % (size // 2)) / size)
            self.cos, self.sin = (nn.Parameter(value) for value in (angle.cos(), angle.sin()))

        def forward(self, x: Any, cache: Any) -> Any:
            for n, layer in enumerate(self.layers):
                x = layer(x, cache[n, 0], cache[n, 1], self.cos, self.sin)
            return self.head(self.norm(x))

    return Step(), [(1, width), (layers, 2, 1, heads, length, size)]


def efficient(nn: Any, side: int) -> Network:
    """Inverted residuals with gates, of numbers of channels that are not powers of two."""

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, factor: int, stride: int) -> None:
            super().__init__()
            wide = before * factor
            self.is_residual = stride == 1 and before == after
            self.expand = nn.Sequential(
                *[nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()],
                nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
                *[nn.BatchNorm2d(wide), nn.SiLU()],
            )
            self.gate = nn.Sequential(
                *[nn.AdaptiveAvgPool2d((1, 1)), nn.Conv2d(wide, wide // 4, 1), nn.SiLU()],
                *[nn.Conv2d(wide // 4, wide, 1), nn.Sigmoid()],
            )
            self.project = nn.Sequential(
                nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after)
            )

        def forward(self, x: Any) -> Any:
            y = self.expand(x)
            y = self.project(y * self.gate(y))
            return x + y if self.is_residual else y

    sizes = [(32, 16, 1, 1), (16, 24, 6, 2), (24, 24, 6, 1), (24, 40, 6, 2), (40, 40, 6, 1)]
    sizes += [(40, 80, 6, 2), (80, 80, 6, 1), (80, 112, 6, 1)]
    layers = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU()]
    return nn.Sequential(*layers, *[Block(*one) for one in sizes]), [(1, 3, side, side)]


def segmenting(nn: Any, side: int, width: int) -> Network:
    """A small U-Net with normalized groups and transposed convolutions."""
    torch = importlib.import_module("torch")

    def pair(before: int, after: int) -> Any:
        layers = []
        for one in (before, after):
            layers += [nn.Conv2d(one, after, 3, padding=1), nn.GroupNorm(4, after), nn.SiLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.down1, self.down2 = pair(3, width), pair(width, 2 * width)
            self.inner, self.pool = pair(2 * width, 4 * width), nn.MaxPool2d(2)
            self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
            self.up1 = nn.ConvTranspose2d(2 * width, width, 2, 2)
            self.join2, self.join1 = pair(4 * width, 2 * width), pair(2 * width, width)
            self.out = nn.Conv2d(width, 2, 1)

        def forward(self, x: Any) -> Any:
            a = self.down1(x)
            b = self.down2(self.pool(a))
            y = self.join2(torch.cat([self.up2(self.inner(self.pool(b))), b], 1))
            return self.out(self.join1(torch.cat([self.up1(y), a], 1)))

    return UNet(), [(1, 3, side, side)]


def product(nn: Any, size: int) -> Network:
    """A matrix product and a ReLU."""
    torch = importlib.import_module("torch")

    class Product(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any, b: Any) -> Any:
            return torch.relu(torch.matmul(a, b))

    return Product(), [(size, size), (size, size)]


def _normed(nn: Any, before: int, after: int, kernel: int = 1, **options: Any) -> list[Any]:
    """A convolution whose borders keep the size, and a batch norm."""
    padding = kernel // 2
    convolution = nn.Conv2d(before, after, kernel, padding=padding, bias=False, **options)
    return [convolution, nn.BatchNorm2d(after)]


def _gate(nn: Any, channels: int, inner: int, between: Any, last: Any) -> Any:
    """A module that multiplies channels by weights, which their means tell."""

    class Gate(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weigh = nn.Sequential(
                *(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), between),
                *(nn.Conv2d(inner, channels, 1), last),
            )

        def forward(self, x: Any) -> Any:
            return x * self.weigh(x)

    return Gate()


def _residual_sum(nn: Any, layers: Sequence[Any], shortcut: Sequence[Any] = ()) -> Any:
    """A module that adds what layers give to its input, or to what a shortcut gives."""

    class Sum(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.shortcut = nn.Sequential(*layers), nn.Sequential(*shortcut)

        def forward(self, x: Any) -> Any:
            return self.layers(x) + self.shortcut(x)

    return Sum()


def mobilenet(nn: Any, side: int) -> Network:
    """MobileNetV3-Small."""
    rows = [  # kernel, inner and resulting channels, gate, activation, stride
        *((3, 16, 16, True, nn.ReLU, 2), (3, 72, 24, False, nn.ReLU, 2)),
        *((3, 88, 24, False, nn.ReLU, 1), (5, 96, 40, True, nn.Hardswish, 2)),
        *[(5, 240, 40, True, nn.Hardswish, 1)] * 2,
        *((5, 120, 48, True, nn.Hardswish, 1), (5, 144, 48, True, nn.Hardswish, 1)),
        *((5, 288, 96, True, nn.Hardswish, 2), *[(5, 576, 96, True, nn.Hardswish, 1)] * 2),
    ]
    layers = [*_normed(nn, 3, 16, 3, stride=2), nn.Hardswish()]
    before = 16
    for kernel, wide, after, has_gate, activation, stride in rows:
        block = [] if wide == before else [*_normed(nn, before, wide), activation()]
        block += [*_normed(nn, wide, wide, kernel, stride=stride, groups=wide), activation()]
        if has_gate:
            inner = max(8, (wide // 4 + 4) // 8 * 8)
            block.append(_gate(nn, wide, inner, nn.ReLU(), nn.Hardsigmoid()))
        block += _normed(nn, wide, after)
        is_residual = stride == 1 and before == after
        layers += [_residual_sum(nn, block)] if is_residual else block
        before = after
    layers += [*_normed(nn, 96, 576), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    layers += [nn.Linear(576, 1024), nn.Hardswish(), nn.Linear(1024, 1000)]
    return nn.Sequential(*layers), [(1, 3, side, side)]


def efficientnet(nn: Any, side: int) -> Network:
    """EfficientNet-B0."""
    rows = [  # factor, channels, blocks, stride, kernel
        *((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3)),
        *((6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)),
    ]
    layers = [*_normed(nn, 3, 32, 3, stride=2), nn.SiLU()]
    before = 32
    for factor, after, blocks, first, kernel in rows:
        for stride in (first, *[1] * (blocks - 1)):
            wide = before * factor
            block = [] if factor == 1 else [*_normed(nn, before, wide), nn.SiLU()]
            block += [*_normed(nn, wide, wide, kernel, stride=stride, groups=wide), nn.SiLU()]
            block.append(_gate(nn, wide, before // 4, nn.SiLU(), nn.Sigmoid()))
            block += _normed(nn, wide, after)
            is_residual = stride == 1 and before == after
            layers += [_residual_sum(nn, block)] if is_residual else block
            before = after
    layers += [*_normed(nn, 320, 1280), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000)), [(1, 3, side, side)]


def regnet(nn: Any, side: int) -> Network:
    """RegNetX-400MF: 3x3 convolutions in groups of 16 channels."""
    layers = [*_normed(nn, 3, 32, 3, stride=2), nn.ReLU()]
    before = 32
    for after, blocks in ((32, 1), (64, 2), (160, 7), (400, 12)):
        for stride in (2, *[1] * (blocks - 1)):
            block = [*_normed(nn, before, after), nn.ReLU()]
            block += [*_normed(nn, after, after, 3, stride=stride, groups=after // 16), nn.ReLU()]
            block += _normed(nn, after, after)
            is_same = stride == 1 and before == after
            shortcut = [] if is_same else _normed(nn, before, after, stride=stride)
            layers += [_residual_sum(nn, block, shortcut), nn.ReLU()]
            before = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(400, 1000)]
    return nn.Sequential(*layers), [(1, 3, side, side)]


def convnext(nn: Any, side: int) -> Network:
    """ConvNeXt-Pico: depthwise 7x7 convolutions, and products of channels."""

    class Norm(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(channels)

        def forward(self, x: Any) -> Any:
            return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Mix(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(channels)
            self.up, self.act = nn.Linear(channels, 4 * channels), nn.GELU()
            self.down = nn.Linear(4 * channels, channels)

        def forward(self, x: Any) -> Any:
            y = self.norm(x.permute(0, 2, 3, 1))
            return self.down(self.act(self.up(y))).permute(0, 3, 1, 2)

    layers = [nn.Conv2d(3, 64, 4, 4), Norm(64)]
    before = 64
    for after, blocks in ((64, 2), (128, 2), (256, 6), (512, 2)):
        if after != before:
            layers += [Norm(before), nn.Conv2d(before, after, 2, 2)]
        for _ in range(blocks):
            depthwise = nn.Conv2d(after, after, 7, padding=3, groups=after)
            layers.append(_residual_sum(nn, [depthwise, Mix(after)]))
        before = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(512), nn.Linear(512, 1000)]
    return nn.Sequential(*layers), [(1, 3, side, side)]


def shufflenet(nn: Any, side: int) -> Network:
    """ShuffleNetV2 0.5x: halves of the channels, which are mixed."""
    torch = importlib.import_module("torch")

    class Unit(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            half = after // 2
            self.is_halved, self.half, self.after = stride == 1, half, after
            first = half if stride == 1 else before
            self.branch = nn.Sequential(
                *(*_normed(nn, first, half), nn.ReLU()),
                *_normed(nn, half, half, 3, stride=stride, groups=half),
                *(*_normed(nn, half, half), nn.ReLU()),
            )
            self.other = None
            if stride > 1:
                self.other = nn.Sequential(
                    *_normed(nn, before, before, 3, stride=stride, groups=before),
                    *(*_normed(nn, before, half), nn.ReLU()),
                )
            self.side = 0

        def forward(self, x: Any) -> Any:
            if self.is_halved:
                kept, given = x[:, : self.half], x[:, self.half :]
                both = torch.cat([kept, self.branch(given)], 1)
            else:
                both = torch.cat([self.other(x), self.branch(x)], 1)
            parts = both.reshape(1, 2, self.half, self.side, self.side)
            return parts.permute(0, 2, 1, 3, 4).reshape(1, self.after, self.side, self.side)

    layers = [*_normed(nn, 3, 24, 3, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before, side_now = 24, side // 4
    for after, blocks in ((48, 4), (96, 8), (192, 4)):
        side_now //= 2
        for stride in (2, *[1] * (blocks - 1)):
            layers.append(Unit(before, after, stride))
            layers[-1].side = side_now
            before = after
    layers += [*_normed(nn, 192, 1024), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1024, 1000)), [(1, 3, side, side)]


def speech(nn: Any, samples: int, width: int) -> Network:
    """The front of wav2vec2: convolutions over samples; then two blocks of a transformer."""

    class Frames(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.permute(0, 2, 1)

    kernels = [(10, 5), *[(3, 2)] * 4, *[(2, 2)] * 2]
    layers, before = [], 1
    for number, (kernel, stride) in enumerate(kernels):
        layers.append(nn.Conv1d(before, width, kernel, stride, bias=False))
        layers += [nn.GroupNorm(width, width)] if number == 0 else []
        layers.append(nn.GELU())
        before = width
    attend = nn.functional.scaled_dot_product_attention
    layers += [Frames(), nn.LayerNorm(width)]
    layers += [attention_block(nn, width, width // 64, attend) for _ in "ab"]
    return nn.Sequential(*layers), [(1, 1, samples)]


def spectrogram(nn: Any, samples: int, size: int, step: int, bands: int) -> Network:
    """The logarithms of a spectrogram's power in bands: windows of `size` samples, each `step`."""
    torch = importlib.import_module("torch")
    count = size // 2 + 1

    class Spectrogram(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.Conv1d(1, 2 * count, size, step, padding=size // 2, bias=False)
            self.bands = nn.Linear(count, bands, bias=False)
            self.bands.weight.data.abs_()

        def forward(self, x: Any) -> Any:
            parts = self.parts(x)
            real, imaginary = parts[:, :count], parts[:, count:]
            power = (real * real + imaginary * imaginary).permute(0, 2, 1)
            return torch.log(self.bands(power) + 1e-6)

    return Spectrogram(), [(1, 1, samples)]


def bytes_residual(nn: Any, side: int) -> Network:
    """A residual network whose convolutions shall compute with bytes."""
    network, shapes = residual(nn, [(32, 1), (32, 1), (64, 2), (64, 1)], side)
    network.is_quantized = True
    return network, shapes


def is_quantized(network: Any) -> bool:
    """Whether a network shall compute with bytes."""
    return bool(getattr(network, "is_quantized", False))


def quantized(model: bytes, inputs: Mapping[str, Any]) -> bytes:
    """An ONNX model with bytes in place of floats, as onnxruntime's quantizer writes it: scales by
    what it computes for some inputs, and for each channel of the weights.
    """
    onnx = importlib.import_module("onnx")
    quantization = importlib.import_module("onnxruntime.quantization")
    preparation = importlib.import_module("onnxruntime.quantization.shape_inference")
    rows = iter([dict(inputs)])
    reader = types.SimpleNamespace(get_next=lambda: next(rows, None))
    quantization.CalibrationDataReader.register(types.SimpleNamespace)
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, target = (f"{folder}/{name}.onnx" for name in ("a", "b", "c"))
        onnx.save(onnx.load_from_string(model), source)
        preparation.quant_pre_process(source, prepared)
        kinds = quantization.QuantType
        quantization.quantize_static(
            *(prepared, target, reader),
            per_channel=True,
            activation_type=kinds.QUInt8,
            weight_type=kinds.QInt8,
        )
        return Path(target).read_bytes()


_RESNET18 = [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]
NETWORKS: dict[str, Callable[[Any], Network]] = {
    "mlp-1": lambda nn: mlp(nn, 1),
    "mlp-64": lambda nn: mlp(nn, 64),
    "cnn": lambda nn: cnn(nn, 4),
    "residual-112": lambda nn: residual(nn, [(32, 1), (32, 1), (64, 2), (64, 1)], 112),
    "resnet18": lambda nn: residual(nn, _RESNET18, 224),
    "efficient-160": lambda nn: efficient(nn, 160),
    "u-net-96": lambda nn: segmenting(nn, 96, 16),
    "transformer": lambda nn: transformer(nn, 128, 256, 4),
    "vit-224": lambda nn: vision_transformer(nn, 224, 192, 3),
    "llama-step": lambda nn: decoder(nn, 8, 512, 8, 128),
    "mobilenet-v3": lambda nn: mobilenet(nn, 224),
    "efficientnet-b0": lambda nn: efficientnet(nn, 224),
    "regnet-x-400": lambda nn: regnet(nn, 224),
    "convnext-pico": lambda nn: convnext(nn, 224),
    "shufflenet-v2": lambda nn: shufflenet(nn, 224),
    "wav2vec2": lambda nn: speech(nn, 16000, 256),
    "spectrogram": lambda nn: spectrogram(nn, 16000, 400, 160, 80),
    "quantized-112": lambda nn: bytes_residual(nn, 112),
    "product-128": lambda nn: product(nn, 128),
    "product-512": lambda nn: product(nn, 512),
    "softmax-1024": lambda nn: (nn.Softmax(dim=1), [(1024, 1024)]),
}
