"""Models of transformers, small and with random weights, as torch exports them: te_sched beside
torch.

    python -m benchmarks.models                     all models
    python -m benchmarks.models bert gpt2           some of them
    python -m benchmarks.models --list              their names
    python -m benchmarks.models --results DIR       the table as JSON and Markdown too

Each model is made from its configuration, never downloaded. All its parameters are drawn anew,
norms and biases too, so that each part of the model reaches the output. It is exported by
`torch.export`, imported, built for llvm and called. Results must equal torch's to 1e-3 of the
largest element of an output, or to four times the distance between torch's float32 and float64.

The package transformers (5 or newer) must be installed. Times are medians in one process, in turn;
"import" is that of `from_exported_program` for the second time.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import math
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import peer_environment
from benchmarks.graphs import setting
from benchmarks.lowering import markdown
from te_sched import config
from te_sched.tools.table import table

ROUNDS = 5
TOLERANCE = 1e-3
BATCH, LENGTH, SIDE, SAMPLES, WORDS = 2, 12, 64, 4000, 120

Arguments = dict[str, Any]


class Model(NamedTuple):
    """A row: the names of classes, what its configuration has beside the usual small sizes, and its
    inputs.
    """

    configuration: str
    kind: str
    options: Mapping[str, Any]
    inputs: Callable[[Any], Arguments]


def tokens(torch: Any) -> Arguments:
    """Words of a text."""
    return {"input_ids": torch.randint(3, WORDS, (BATCH, LENGTH))}


def masked_tokens(torch: Any) -> Arguments:
    """Words of texts of different lengths."""
    mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    mask[1, -3:] = 0
    return tokens(torch) | {"attention_mask": mask}


def two_texts(torch: Any) -> Arguments:
    """Words for an encoder and for a decoder."""
    return tokens(torch) | {"decoder_input_ids": torch.randint(3, WORDS, (BATCH, 7))}


def image(torch: Any) -> Arguments:
    """A small image."""
    return {"pixel_values": torch.randn(1, 3, SIDE, SIDE)}


def sound(torch: Any) -> Arguments:
    """A quarter of a second of sound at 16 kHz."""
    return {"input_values": torch.randn(1, SAMPLES)}


def text_and_image(torch: Any) -> Arguments:
    """Words and an image."""
    return tokens(torch) | {"pixel_values": torch.randn(BATCH, 3, SIDE, SIDE)}


# Sizes that many configurations know, under their several names.
_SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "hidden_dim", "n_inner"), 64),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("vocab_size",), WORDS),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("image_size",), SIDE),
    **dict.fromkeys(("patch_size",), 16),
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 1),
}
_GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
_EXPERTS = _GROUPED | {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2}
_SOUND = {
    "conv_dim": (16, 16, 16),
    "conv_kernel": (10, 3, 3),
    "conv_stride": (5, 2, 2),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
_LEVELS: dict[str, Any] = {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}
_PYRAMID: dict[str, Any] = _LEVELS | {"embedding_size": 8}
_STAGES: dict[str, Any] = _LEVELS | {"num_attention_heads": [1, 2, 3, 4]}


def _row(
    name: str,
    inputs: Callable[[Any], Arguments],
    options: Mapping[str, Any] | None = None,
    kind: str | None = None,
) -> Model:
    return Model(f"{name}Config", kind or f"{name}Model", options or {}, inputs)


MODELS: dict[str, Model] = {
    # encoders of texts
    "bert": _row("Bert", masked_tokens),
    "roberta": _row("Roberta", masked_tokens),
    "distilbert": _row("DistilBert", masked_tokens),
    "albert": _row("Albert", masked_tokens, {"embedding_size": 16}),
    "electra": _row("Electra", masked_tokens, {"embedding_size": 16}),
    "deberta": _row("DebertaV2", masked_tokens, {"relative_attention": True}),
    "mpnet": _row("MPNet", masked_tokens),
    "xlnet": _row("XLNet", tokens, {"d_inner": 64}),
    "funnel": _row(
        "Funnel",
        tokens,
        {"block_sizes": [1, 1], "d_head": 8, "d_inner": 64, "num_decoder_layers": 1},
    ),
    "nystromformer": _row(
        "Nystromformer", masked_tokens, {"num_landmarks": LENGTH, "segment_means_seq_len": LENGTH}
    ),
    "squeezebert": _row("SqueezeBert", masked_tokens, {"embedding_size": 32}),
    "mobilebert": _row(
        "MobileBert", masked_tokens, {"embedding_size": 16, "intra_bottleneck_size": 16}
    ),
    "convbert": _row("ConvBert", masked_tokens, {"embedding_size": 32}),
    "modernbert": _row("ModernBert", masked_tokens),
    "fnet": _row("FNet", tokens),
    "canine": _row("Canine", masked_tokens, {"num_hash_functions": 2, "num_hash_buckets": 64}),
    "ibert": _row("IBert", masked_tokens),
    "layoutlm": _row("LayoutLM", masked_tokens),
    # decoders of texts
    "gpt2": _row("GPT2", tokens, {"use_cache": False}),
    "gpt-neo": _row(
        "GPTNeo",
        tokens,
        {"attention_types": [[["global", "local"], 1]], "use_cache": False},
    ),
    "gpt-j": _row("GPTJ", tokens, {"rotary_dim": 4, "use_cache": False}),
    "gpt-neox": _row("GPTNeoX", tokens, {"use_cache": False}),
    "opt": _row("OPT", tokens, {"use_cache": False}),
    "bloom": _row("Bloom", masked_tokens, {"use_cache": False}),
    "llama": _row("Llama", tokens, _GROUPED | {"use_cache": False}, "LlamaForCausalLM"),
    "mistral": _row("Mistral", tokens, _GROUPED | {"use_cache": False}),
    "mixtral": _row("Mixtral", tokens, _EXPERTS | {"use_cache": False}),
    "qwen2": _row("Qwen2", tokens, _GROUPED | {"use_cache": False}),
    "qwen3": _row("Qwen3", tokens, _GROUPED | {"use_cache": False}),
    "qwen3-experts": _row(
        "Qwen3Moe", tokens, _EXPERTS | {"moe_intermediate_size": 16, "use_cache": False}
    ),
    "gemma": _row("Gemma", tokens, _GROUPED | {"use_cache": False}),
    "gemma2": _row("Gemma2", tokens, _GROUPED | {"use_cache": False}),
    "phi": _row("Phi", tokens, {"use_cache": False}),
    "falcon": _row("Falcon", tokens, {"use_cache": False}),
    "stablelm": _row("StableLm", tokens, _GROUPED | {"use_cache": False}),
    "olmo": _row("Olmo", tokens, _GROUPED | {"use_cache": False}),
    "mamba": _row("Mamba", tokens, {"state_size": 4, "use_cache": False}),
    "rwkv": _row("Rwkv", tokens, {"attention_hidden_size": 32, "use_cache": False}),
    # encoders and decoders
    "t5": _row("T5", two_texts, {"d_kv": 8, "use_cache": False}),
    "bart": _row("Bart", two_texts, {"use_cache": False}),
    "marian": _row("Marian", two_texts, {"use_cache": False, "decoder_start_token_id": 1}),
    "pegasus": _row("Pegasus", two_texts, {"use_cache": False}),
    # images
    "vit": _row("ViT", image),
    "deit": _row("DeiT", image),
    "beit": _row("Beit", image),
    "swin": _row(
        "Swin",
        image,
        {"embed_dim": 8, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 4},
    ),
    "resnet": _row("ResNet", image, _PYRAMID | {"layer_type": "basic"}),
    "regnet": _row("RegNet", image, _PYRAMID | {"groups_width": 8}),
    "convnext": _row("ConvNext", image, _PYRAMID | {"patch_size": 4}),
    "convnextv2": _row("ConvNextV2", image, _PYRAMID | {"patch_size": 4}),
    "efficientnet": _row("EfficientNet", image, {"width_coefficient": 0.3, "hidden_dim": 384}),
    "mobilenet-v1": _row("MobileNetV1", image, {"depth_multiplier": 0.25}),
    "mobilenet-v2": _row("MobileNetV2", image, {"depth_multiplier": 0.25}),
    "mobilevit": _row(
        "MobileViT",
        image,
        {
            "hidden_sizes": [16, 24, 32],
            "patch_size": 2,
            "neck_hidden_sizes": [8, 8, 16, 16, 24, 32, 64],
        },
    ),
    "segformer": _row(
        "Segformer",
        image,
        _STAGES | {"decoder_hidden_size": 16, "patch_size": None},
        "SegformerForSemanticSegmentation",
    ),
    "pvt": _row(
        "Pvt",
        image,
        _STAGES | {"patch_size": 4},
    ),
    "poolformer": _row(
        "PoolFormer",
        image,
        _LEVELS | {"patch_size": 16},
    ),
    "dinov2": _row("Dinov2", image),
    "yolos": _row("Yolos", image, {"image_size": [SIDE, SIDE]}, "YolosForObjectDetection"),
    "glpn": _row(
        "GLPN",
        image,
        _STAGES | {"decoder_hidden_size": 16, "patch_size": None},
        "GLPNForDepthEstimation",
    ),
    "dpt": _row(
        "DPT",
        image,
        {
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 16, 16, 16],
            "fusion_hidden_size": 16,
            "num_hidden_layers": 4,
        },
        "DPTForDepthEstimation",
    ),
    # sounds
    "wav2vec2": _row("Wav2Vec2", sound, _SOUND),
    "hubert": _row("Hubert", sound, _SOUND),
    "wavlm": _row("WavLM", sound, _SOUND),
    "sew": _row("SEW", sound, _SOUND | {"squeeze_factor": 2}),
    "data2vec-audio": _row("Data2VecAudio", sound, _SOUND | {"conv_pos_kernel_size": 5}),
    "ast": _row(
        "AST",
        lambda torch: {"input_values": torch.randn(1, 40, 32)},
        {"max_length": 40, "num_mel_bins": 32},
    ),
    "whisper": _row(
        "Whisper",
        lambda torch: {
            "input_features": torch.randn(1, 16, 60),
            "decoder_input_ids": torch.randint(3, WORDS, (1, 7)),
        },
        {
            "num_mel_bins": 16,
            "max_source_positions": 30,
            "max_target_positions": 20,
            "use_cache": False,
        },
    ),
    "hifi-gan": _row(
        "SpeechT5HifiGan",
        lambda torch: {"spectrogram": torch.randn(1, 20, 8)},
        {
            "model_in_dim": 8,
            "upsample_initial_channel": 16,
            "upsample_rates": [4, 2],
            "upsample_kernel_sizes": [8, 4],
        },
        "SpeechT5HifiGan",
    ),
    # several kinds, and series
    "clip": _row("CLIP", text_and_image, {"projection_dim": 16}),
    "siglip": _row("Siglip", text_and_image),
    "patchtst": _row(
        "PatchTST",
        lambda torch: {"past_values": torch.randn(2, 32, 3)},
        {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8},
    ),
}


def made(torch: Any, name: str) -> tuple[Any, Arguments]:
    """A model with random weights, and its inputs."""
    transformers = importlib.import_module("transformers")
    row = MODELS[name]
    torch.manual_seed(0)
    configuration = _configuration(getattr(transformers, row.configuration), row.options)
    model = getattr(transformers, row.kind)(configuration).eval()
    _fill(torch, model)
    return model, row.inputs(torch)


def _configuration(kind: Any, options: Mapping[str, Any]) -> Any:
    """A small configuration, and those of its parts."""
    default = kind()
    options = {"attn_implementation": "eager"} | dict(options)
    parts = getattr(kind, "sub_configs", {})
    sizes = {
        size: value
        for size, value in _SMALL.items()
        if isinstance(vars(default).get(size), int) and size not in parts
    }
    for part, part_kind in parts.items():
        if hasattr(part_kind, "model_type") and getattr(default, part, None) is not None:
            sizes[part] = _configuration(part_kind, {}).to_dict()
    return kind(**{one: value for one, value in (sizes | options).items() if value is not None})


def _fill(torch: Any, model: Any) -> None:
    """Draw all parameters and the statistics of norms."""
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            if not value.is_floating_point() or "inv_freq" in name:
                continue
            if "running_var" in name:
                value.uniform_(0.5, 1.5)
            elif value.ndim >= 2:
                value.normal_(0, 1 / math.sqrt(max(1, value[0].numel())))
            elif value.ndim == 1:
                value.normal_(0 if "bias" in name or "mean" in name else 1, 0.1)


def tensors(torch: Any, result: Any) -> list[Any]:
    """The tensors of a result, whatever holds them."""
    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def measure(torch: Any, name: str) -> dict[str, Any]:
    """Whether a model is right, its distance, and its times in seconds."""
    relax = importlib.import_module("te_sched.relax")
    te_sched = importlib.import_module("te_sched")
    frontend = importlib.import_module("te_sched.relax.frontend.torch")
    model, inputs = made(torch, name)
    with torch.no_grad():
        expected = tensors(torch, model(**inputs))
        program = torch.export.export(model, (), inputs, strict=False)
        module, _ = timed(lambda: frontend.from_exported_program(program))
        module, importing = timed(lambda: frontend.from_exported_program(program))
        with config.scoped(cache=False):
            executable, building = timed(lambda: relax.build(module, target="llvm"))
        machine = relax.VirtualMachine(executable, te_sched.cpu())
        arrays = [te_sched.nd.array(value.numpy()) for value in inputs.values()]
        results = arrays_of(machine["main"](*arrays))
        distance = _distance(torch, model, inputs, expected, results)
        calls = {"te_sched": lambda: machine["main"](*arrays), "torch": lambda: model(**inputs)}
        times: dict[str, list[float]] = {library: [] for library in calls}
        for _ in range(ROUNDS):
            for library, call in calls.items():
                times[library].append(timed(call)[1])
    medians = {library: statistics.median(one) for library, one in times.items()}
    return {"distance": distance, "import": importing, "build": building} | medians


def _distance(
    torch: Any, model: Any, inputs: Arguments, expected: Sequence[Any], results: Sequence[Any]
) -> float:
    """The largest distance relative to an output's largest element; ValueError if too large."""
    if len(results) != len(expected):
        raise ValueError(f"{len(results)} results, expected {len(expected)}")
    distances = [apart(ours, peer.numpy()) for ours, peer in zip(results, expected, strict=True)]
    largest = max(distances)
    if largest > TOLERANCE:
        exact = tensors(torch, copy.deepcopy(model).double()(**_doubled(inputs)))
        own = [apart(peer.numpy(), one.numpy()) for peer, one in zip(expected, exact, strict=True)]
        if largest > 4 * max(own):
            raise ValueError(f"differs by {largest:.1e}; torch from its doubles by {max(own):.1e}")
    return largest


def _doubled(inputs: Arguments) -> Arguments:
    return {
        name: value.double() if value.is_floating_point() else value
        for name, value in inputs.items()
    }


def apart(result: Any, expected: Any) -> float:
    """The distance of arrays, relative to the largest element; NaN is where it is expected."""
    if result.shape != expected.shape:
        raise ValueError(f"a result of shape {result.shape}, expected {expected.shape}")
    wide = [np.asarray(array, "float64") for array in (result, expected)]
    is_nan = np.isnan(wide[0]) & np.isnan(wide[1])
    ours, theirs = (np.where(is_nan, 0, array) for array in wide)
    largest = float(np.abs(theirs).max(initial=1e-6))
    return float(np.abs(ours - theirs).max(initial=0)) / largest


def arrays_of(result: Any) -> list[Any]:
    """The arrays of a result: a tensor, or several."""
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in arrays_of(part)]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL")
    parser.add_argument("--list", action="store_true", help="the names of the models")
    parser.add_argument("--trace", action="store_true", help="print where errors come from")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: use some of {', '.join(MODELS)}")
    if options.list:
        print(" ".join(MODELS))
        return 0
    torch = importlib.import_module("torch")
    figures = []
    for name in options.names or MODELS:
        try:
            figure = measure(torch, name)
        except Exception as error:  # the table tells which models fail, and why
            if options.trace:
                traceback.print_exc()
            figure = {"failed": f"{type(error).__name__}: {error}"}
        figures.append({"model": name} | figure)
        print(json.dumps(figures[-1]), flush=True)
    header, lines = rows(figures)
    print(table(header, lines, right=range(1, len(header))))
    where = f"{setting(torch.get_num_threads())}; {_version('transformers')}"
    print(where)
    if options.results is not None:
        text = "\n".join(markdown(header, lines))
        measured = {"setting": where, "figures": figures}
        (options.results / "models.json").write_text(json.dumps(measured, indent=1) + "\n")
        (options.results / "models.md").write_text(f"# Models\n\n{where}\n\n{text}\n")
    return 0


def _version(name: str) -> str:
    return f"{name} {importlib.import_module(name).__version__}"


def rows(figures: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header and lines of the table; the last is of all models."""
    header = ["model", "distance", "import s", "build s", "te_sched ms", "torch ms", "ratio"]
    right = [one for one in figures if "failed" not in one]
    lines = []
    for one in figures:
        if "failed" in one:
            lines.append([one["model"], one["failed"].splitlines()[0][:60], *[""] * 5])
            continue
        ratio = one["te_sched"] / one["torch"]
        times = [f"{one[name]:.2f}" for name in ("import", "build")]
        times += [f"{1e3 * one[name]:.2f}" for name in ("te_sched", "torch")]
        lines.append([one["model"], f"{one['distance']:.0e}", *times, f"{ratio:.2f}"])
    if right:
        mean = statistics.geometric_mean(one["te_sched"] / one["torch"] for one in right)
        lines.append([f"{len(right)} of {len(figures)} right", *[""] * 5, f"{mean:.2f}"])
    return header, lines


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.models", main, sys.argv[1:]))
