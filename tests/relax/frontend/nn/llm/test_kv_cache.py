"""A Llama with a paged cache, as TVM's tutorial writes it, beside one without a cache."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import te_sched
from te_sched import nd, relax, te
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn import op
from te_sched.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from te_sched.relax.vm import ShapeTuple

VOCABULARY, WIDTH, INNER, LAYERS, HEADS, GROUPS = 61, 48, 64, 2, 6, 2
SIZE = WIDTH // HEADS
Array = npt.NDArray[Any]


class Attention(nn.Module):
    def __init__(self) -> None:
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * GROUPS) * SIZE, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: nn.Tensor, paged_kv_cache: PagedKVCache, layer: int) -> nn.Tensor:
        batch, count, _ = x.shape
        qkv = op.reshape(self.qkv(x), (batch, count, HEADS + 2 * GROUPS, SIZE))
        y = paged_kv_cache.attention_with_fused_qkv(layer, qkv, HEADS, sm_scale=SIZE**-0.5)
        return self.out(op.reshape(y, (batch, count, WIDTH)))


class Layer(nn.Module):
    def __init__(self) -> None:
        self.norm1, self.norm2 = (nn.RMSNorm(WIDTH, -1, 1e-5, bias=False) for _ in range(2))
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 2 * INNER, False), nn.Linear(INNER, WIDTH, False)

    def forward(self, x: nn.Tensor, paged_kv_cache: PagedKVCache, layer: int) -> nn.Tensor:
        x = x + self.attention(self.norm1(x), paged_kv_cache, layer)
        gate, up = op.split(self.up(self.norm2(x)), 2, axis=-1)
        return x + self.down(op.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self) -> None:
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(WIDTH, -1, 1e-5, bias=False)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def embed(self, tokens: nn.Tensor) -> nn.Tensor:
        return self.embedding(tokens)

    def hidden(self, x: nn.Tensor, paged_kv_cache: PagedKVCache) -> nn.Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x, paged_kv_cache, number)
        return self.norm(x)

    def prefill(self, x: nn.Tensor, paged_kv_cache: PagedKVCache) -> Any:
        def last(x: te.Tensor) -> te.Tensor:
            shape = (x.shape[0], 1, x.shape[2])
            return te.compute(shape, lambda b, _, k: x[b, x.shape[1] - 1, k], name="last")

        x = op.tensor_expr_op(last, "last", [self.hidden(x, paged_kv_cache)])
        return self.head(x), paged_kv_cache

    def decode(self, x: nn.Tensor, paged_kv_cache: PagedKVCache) -> Any:
        return self.head(self.hidden(x, paged_kv_cache)), paged_kv_cache

    def create(self, batch: Any, total: Any, chunk: Any, page: Any) -> PagedKVCache:
        return TIRPagedKVCache(
            attn_kind="mha",
            max_batch_size=batch,
            max_total_seq_len=total,
            prefill_chunk_size=chunk,
            page_size=page,
            support_sliding_window=0,
            layer_partition=relax.ShapeExpr([0, LAYERS]),
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=GROUPS,
            qk_head_dim=SIZE,
            v_head_dim=SIZE,
            mla_original_qk_head_dim=0,
            mla_original_v_head_dim=0,
            rope_mode=RopeMode.NORMAL,
            rope_scale=1,
            rope_theta=10000,
            rope_scaling={},
            rope_ext_factors=relax.PrimValue(0),
            rotary_dim=SIZE,
            dtype="float32",
            target=te_sched.target.Target("llvm"),
            enable_disaggregation=False,
        )


@cache
def exported() -> tuple[Any, dict[str, Array]]:
    """The model, and its weights."""
    packed, none = ({"param_mode": mode, "effect_mode": "none"} for mode in ("packed", "none"))
    paged = {"paged_kv_cache": nn.spec.Object(PagedKVCache), "$": packed}
    module, params = Llama().export_tvm(
        {
            "embed": {"tokens": nn.spec.Tensor(["count"], "int32"), "$": packed},
            "prefill": {"x": nn.spec.Tensor([1, "count", WIDTH], "float32"), **paged},
            "decode": {"x": nn.spec.Tensor([1, "batch", WIDTH], "float32"), **paged},
            "create": {**dict.fromkeys(("batch", "total", "chunk", "page"), int), "$": none},
        }
    )
    rng = np.random.default_rng(0)
    return module, {
        path: (rng.standard_normal(param.shape) * 0.2 + (len(param.shape) == 1)).astype("float32")
        for path, param in params
    }


class Generator:
    """Greedy tokens of several sequences, with a paged cache."""

    def __init__(self, executable: Any) -> None:
        self.machine = relax.VirtualMachine(executable, te_sched.cpu())
        self.params = tuple([nd.array(values) for values in exported()[1].values()])
        sizes = [ShapeTuple([size]) for size in (4, 256, 64, 16)]
        self.cache = self.machine["create"](*sizes)

    def step(self, name: str, numbers: list[int], tokens: list[int], count: int) -> list[int]:
        """The next token of sequences, after `count` tokens of each."""
        state = te_sched.get_global_func
        values = self.machine["embed"](np.int32(tokens), self.params)
        shape = ShapeTuple([1, *values.shape])
        x = state("vm.builtin.reshape")(values, shape)
        counts = ShapeTuple([count] * len(numbers))
        state("vm.builtin.kv_state_begin_forward")(self.cache, ShapeTuple(numbers), counts)
        logits, self.cache = self.machine[name](x, self.cache, self.params)
        state("vm.builtin.kv_state_end_forward")(self.cache)
        following: list[int] = logits.numpy()[0].argmax(-1).tolist()
        return following

    def generate(self, prompts: list[list[int]], count: int) -> list[list[int]]:
        """Prompts with the tokens that follow them."""
        sequences = [list(prompt) for prompt in prompts]
        for number, prompt in enumerate(prompts):
            te_sched.get_global_func("vm.builtin.kv_state_add_sequence")(self.cache, number)
            sequences[number] += self.step("prefill", [number], prompt, len(prompt))
        for _ in range(count - 1):
            last = [sequence[-1] for sequence in sequences]
            following = self.step("decode", list(range(len(prompts))), last, 1)
            for sequence, token in zip(sequences, following, strict=True):
                sequence.append(token)
        return sequences


def dense_logits(tokens: list[int]) -> Array:
    """The logits after tokens, of the model in numpy without a cache."""
    w = exported()[1]
    count = len(tokens)

    def norm(x: Array, name: str) -> Array:
        scaled: Array = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"]
        return scaled

    def rotate(x: Array) -> Array:
        angles = np.arange(count)[:, None] * 10000.0 ** (-2 * np.arange(SIZE // 2) / SIZE)
        cos, sin = (np.tile(wave(angles), 2)[:, None] for wave in (np.cos, np.sin))
        low, high = np.split(x, 2, -1)
        rotated: Array = x * cos + np.concatenate([-high, low], -1) * sin
        return rotated

    x = w["embedding.weight"][tokens]
    later = np.triu(np.ones((count, count), bool), 1)
    for number in range(LAYERS):
        name = f"layers.{number}."
        qkv = norm(x, name + "norm1") @ w[name + "attention.qkv.weight"].T
        q, k, v = np.split(qkv.reshape(count, -1, SIZE), [HEADS, HEADS + GROUPS], 1)
        k, v = (np.repeat(part, HEADS // GROUPS, 1) for part in (rotate(k), v))
        scores = np.einsum("ihd,jhd->hij", rotate(q), k) * SIZE**-0.5
        weights = np.exp(np.where(later, -np.inf, scores - scores.max(-1, keepdims=True)))
        y = np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), v)
        x = x + y.reshape(count, WIDTH) @ w[name + "attention.out.weight"].T
        gate, up = np.split(norm(x, name + "norm2") @ w[name + "up.weight"].T, 2, -1)
        x = x + gate / (1 + np.exp(-gate)) * up @ w[name + "down.weight"].T
    logits: Array = norm(x[-1], "norm") @ w["head.weight"].T
    return logits


def dense_tokens(prompt: list[int], count: int) -> list[int]:
    """A prompt with the tokens that follow it."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(dense_logits(tokens).argmax()))
    return tokens


PROMPTS = [[3, 14, 15], [9], [26, 5, 35, 8, 9, 7, 9, 3, 2, 38, 4, 6, 26, 4, 33, 8, 3, 27, 9]]


def test_greedy_tokens_of_a_batch_equal_those_without_a_cache() -> None:
    sequences = Generator(relax.build(exported()[0], "llvm")).generate(PROMPTS, 20)
    assert sequences == [dense_tokens(prompt, 20) for prompt in PROMPTS]
    assert len(set(sequences[0])) > 4


def test_a_saved_executable_has_its_kernels(tmp_path: Path) -> None:
    path = str(tmp_path / "llama.so")
    relax.build(exported()[0], "llvm").export_library(path)
    sequences = Generator(te_sched.runtime.load_module(path)).generate(PROMPTS[:2], 6)
    assert sequences == [dense_tokens(prompt, 6) for prompt in PROMPTS[:2]]


def test_passes_one_by_one_keep_the_kernels() -> None:
    """A pipeline as TVM's tutorial has it."""
    passes = relax.transform
    module = te_sched.transform.Sequential(
        [
            passes.LegalizeOps(),
            passes.AnnotateTIROpPattern(),
            passes.FoldConstant(),
            passes.FuseOps(),
            passes.FuseTIR(),
            passes.DeadCodeElimination(),
        ]
    )(exported()[0])
    sequences = Generator(relax.build(module, "llvm")).generate(PROMPTS[1:2], 6)
    assert sequences == [dense_tokens(PROMPTS[1], 6)]


def test_a_forked_sequence_continues_its_prompt() -> None:
    generator = Generator(relax.build(exported()[0], "llvm"))
    prompt = PROMPTS[2]
    generator.generate([prompt], 1)
    te_sched.get_global_func("vm.builtin.kv_state_fork_sequence")(generator.cache, 0, 1, -1)
    first, other = generator.step("decode", [0, 1], [7, 8], 1)
    assert first == dense_logits([*prompt, 7]).argmax()
    assert other == dense_logits([*prompt, 8]).argmax()


_SIZES: dict[str, Any] = {
    **{"max_batch_size": 1, "max_total_seq_len": 16, "prefill_chunk_size": 16, "page_size": 4},
    **{"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "int8"}, r"(?s)has dtype 'int8'.*float32, float16"),
        ({"num_key_value_heads": 3}, "4 heads of queries and 3 of keys"),
        ({"rotary_dim": 10, "rope_mode": 1}, "10 of 8 elements of a head are rotated"),
        ({"qk_head_dim": 16}, r"(?s)heads of one size, not of 8, 16"),
        ({"head_dim": None}, "heads of one size, not of none"),
        ({"attn_kind": "mla"}, "attn_kind='mla'"),
        ({"rope_ext_factors": relax.const(np.ones(4))}, "has rope_ext_factors"),
        ({"target": "cuda"}, r"(?s)made for cuda.*for processors"),
        ({"rope_mode": 7}, "rope_mode is 7"),
        ({"num_hidden_layers": 0}, "num_hidden_layers=0 and head_dim=8"),
        ({"head_dim": 0}, "num_hidden_layers=1 and head_dim=0"),
    ],
)
def test_other_caches_are_refused(change: dict[str, Any], message: str) -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []), builder.dataflow():
        with pytest.raises(GraphError, match=message):
            TIRPagedKVCache(**{**_SIZES, **change})
        builder.emit_func_output(builder.emit_output(relax.const(1)))


def test_a_current_target_without_kernels_is_refused() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []), builder.dataflow():
        with te_sched.target.Target("cuda"), pytest.raises(GraphError, match="made for cuda"):
            TIRPagedKVCache(**_SIZES)
        builder.emit_func_output(builder.emit_output(relax.const(1)))


def test_attention_is_of_four_dimensions_and_a_fixed_size() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []), builder.dataflow():
        made = TIRPagedKVCache(**_SIZES)
        with pytest.raises(GraphError, match=r"qkv is .*, of 3 dimensions"):
            made.attention_with_fused_qkv(0, nn.Tensor.placeholder([1, 2, 3], "float32"), 1)
        x = nn.Tensor.placeholder([1, 2, 3, "n"], "float32")
        with pytest.raises(GraphError, match="attention is of layer -1"):
            made.attention_with_fused_qkv(-1, x, 1)
        for heads in (0, 2, 3):
            with pytest.raises(GraphError, match=f"qkv has 3 heads, of which {heads} are of quer"):
                made.attention_with_fused_qkv(0, x, heads)
        with pytest.raises(GraphTypeError, match="qkv"):
            made.attention_with_fused_qkv(0, None, 1)  # type: ignore[arg-type]
        with pytest.raises(GraphError, match="head_dim is n, expected an int"):
            made.attention_with_fused_qkv(0, x, 1, sm_scale=1.0)
        builder.emit_func_output(builder.emit_output(relax.const(1)))
