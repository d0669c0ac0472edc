"""Targets: for which machine code is generated.

Owns the spelling of target strings ("llvm -mcpu=skylake-avx512 -mattr=+avx2") and which target is
in force inside a `with target:`. Must not know code generation.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from te_sched.codegen.target_tags import kind_and_options
from te_sched.errors import BuildError, did_you_mean, repr_of, why_no_text
from te_sched.ir import struct_info
from te_sched.ir.device_limits import MAX_THREADS, SHARED_BYTES, WARP
from te_sched.public_members import PublicObject
from te_sched.signatures import bound, checked

_EVERYWHERE = ("keys", "device", "libs", "model", "tag", "system-lib", "runtime")
_OF_LLVM = (
    *("mcpu", "mattr", "mtriple", "target", "mabi", "mfloat-abi", "num-cores", "opt-level"),
    *("fast-math", "vector-width", "link-params", "jit"),
)
_OF_CUDA = (
    *("arch", "mcpu", "max_num_threads", "thread_warp_size"),
    *("max_threads_per_block", "max_shared_memory_per_block", "registers_per_block"),
    "l2_cache_size_bytes",
)
_MOST_DIGITS = 18
_TRUE, _FALSE = ("1", "true", "on", "yes"), ("0", "false", "off", "no", "")
# Options that may stand without a value.
_FLAGS = ("fast-math", "system-lib", "link-params")
# Options that are counts.
_COUNTS = (
    *("num-cores", "max_num_threads", "thread_warp_size", "max_threads_per_block"),
    *("max_shared_memory_per_block", "registers_per_block", "l2_cache_size_bytes"),
)
_OPTIONS = {"llvm": (*_OF_LLVM, *_EVERYWHERE), "cuda": (*_OF_CUDA, *_EVERYWHERE)}
# Kinds whose names programs know; whatever options they have, no code is generated for them.
_OTHER_KINDS = {
    **dict.fromkeys(("opencl", "rocm", "metal", "vulkan", "nvptx", "webgpu"), ("gpu",)),
    **dict.fromkeys(("aocl", "aocl_sw_emu", "sdaccel"), ("hls",)),
    **{"c": ("cpu",), "stackvm": ("cpu",), "hybrid": ("cpu",), "hexagon": ("hexagon",)},
    **{"ext_dev": (), "composite": (), "ccompiler": ()},
}
_KEYS = {"llvm": ("cpu",), "cuda": ("cuda", "gpu")}
_ALIASES = {"cpu": "llvm", "gpu": "cuda"}
# What a GPU allows where the target does not say.
_GPU_DEFAULTS = {
    "max_num_threads": MAX_THREADS,
    "max_threads_per_block": MAX_THREADS,
    "thread_warp_size": WARP,
    "max_shared_memory_per_block": SHARED_BYTES,
}
# TVM's limits for other kinds, where they differ.
_LIMITS = {
    kind: {
        **dict.fromkeys(("max_num_threads", "max_threads_per_block"), 256),
        "thread_warp_size": warp,
        "max_shared_memory_per_block": shared,
    }
    for kind, warp, shared in (
        ("metal", 16, 32768),
        ("opencl", 1, 16384),
        ("rocm", 64, 65536),
        ("vulkan", 1, 32768),
        ("webgpu", 1, 32768),
    )
}
_DEVICE_TYPES = {"llvm": 1, "c": 1, "cuda": 2, "nvptx": 2, "opencl": 4, "vulkan": 7, "metal": 8}


class TargetKind(str):
    """The kind of a target: a string with the `name` of TVM's kinds.

    >>> Target("llvm").kind.name
    'llvm'
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind as a plain string."""
        return str(self)


class Target(PublicObject):
    """A kind of machine and its options; `Target("llvm -mcpu=znver4")` reads a target string.

    `target` may also be a Target or a mapping ({"kind": "llvm", "mcpu": "znver4"}). Of "llvm", the
    options -mcpu, -mattr and -mtriple name the processor (this computer's, if none does),
    -opt-level=0 to 3 is LLVM's effort, -vector-width=512 lets LLVM make wider vectors of loops than
    it would, and -fast-math gives up exact arithmetic: sums may be reordered and divisions be
    products, and results of NaNs and infinities are undefined. Without it, arithmetic is exact but
    for products and sums that are fused into one operation.

    Inside `with target:` it is the default of `te_sched.build`.

    >>> target = Target("llvm -mcpu=znver4")
    >>> target.kind, target.options
    ('llvm', {'mcpu': 'znver4'})
    """

    __slots__ = ("_tokens", "host", "kind", "options", "text")

    text: str
    kind: TargetKind
    options: dict[str, str]
    host: Target | None

    @bound
    def __init__(
        self, target: str | Target | Mapping[str, Any], host: str | Target | None = None
    ) -> None:
        if isinstance(target, Target):
            host = host if host is not None else target.host
            target = target.text
        elif isinstance(target, Mapping):
            host = host if host is not None else target.get("host")
            target = _text_of(target)
        if not isinstance(target, str):
            raise _unusable(target, "expected a string", 'use "llvm" or "llvm -mcpu=..."')
        if "\0" in target or why_no_text(target) is not None:
            raise BuildError(
                f"invalid target {target!r}: it contains a null character or a lone surrogate",
                help="remove the character",
            )
        words = _words(target)
        kind = _ALIASES.get(words[0], words[0]) if words else ""
        kind, tagged = kind_and_options(kind) or (kind, {})  # as of "nvidia/geforce-rtx-3090"
        if kind not in _OPTIONS and kind not in _OTHER_KINDS:
            legal = ", ".join(_OPTIONS)
            close = did_you_mean(kind, [*_OPTIONS, *_OTHER_KINDS])
            raise _unusable(target, f"{kind!r} is not a target kind", f"use one of {legal}{close}")
        self.text, self.kind = target, TargetKind(kind)
        self.options = {**tagged, **_read_options(kind, words[1:], target)}
        self.host = as_target(host) if host is not None else None
        self._tokens: list[Any] = []

    @staticmethod
    @checked
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost `with target:`."""
        target = _scope.get()
        if target is None and not allow_none:
            raise BuildError(
                "no target is in scope",
                help='call this inside `with te_sched.target.Target("llvm"):`',
            )
        return target

    @staticmethod
    def from_device(device: Any) -> Target:
        """The target of a device of this computer: `te_sched.cpu(0)` or `te_sched.cuda(0)`.

        >>> import te_sched
        >>> Target.from_device(te_sched.cpu(0)).kind
        'llvm'
        """
        number = getattr(device, "device_type", None)
        if number == 1:  # DLPack's numbers
            return Target("llvm")
        version = device.compute_version if number == 2 else None
        if version is None:
            raise BuildError(
                f"no target for the device {repr_of(device)}",
                "it is neither a processor nor a CUDA device of this computer",
                "use te_sched.cpu(0), or write the target as a string",
            )
        limits = {
            "arch": f"sm_{version.replace('.', '')}",
            "max_threads_per_block": device.max_threads_per_block,
            "max_shared_memory_per_block": device.max_shared_memory_per_block,
            "thread_warp_size": device.warp_size,
        }
        return Target("cuda " + " ".join(f"-{name}={value}" for name, value in limits.items()))

    def __enter__(self) -> Target:
        self._tokens.append(_scope.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _scope.reset(self._tokens.pop())

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((self.kind, self.tag))

    def _facts(self) -> tuple[Any, ...]:
        """What makes two targets the same, whatever their texts."""
        options = {name: value for name, value in self.options.items() if name != "keys"}
        return self.kind, self.tag, set(self.keys), options, self.host

    @property
    def tag(self) -> str:
        """The name of a device of which TVM knows the options ("nvidia/nvidia-a100"), or ""."""
        word = _words(self.text)[0]
        return word if kind_and_options(word) else ""

    def with_host(self, host: str | Target) -> Target:
        """This target with another host."""
        return Target(self.text, host)

    def export(self) -> dict[str, Any]:
        """The target as a mapping, from which `Target` makes it again.

        >>> Target("llvm -mcpu=znver4 -num-cores=8").export()
        {'kind': 'llvm', 'keys': ['cpu'], 'tag': '', 'mcpu': 'znver4', 'num-cores': 8}
        """
        attrs = {name: _plain(name, text) for name, text in self.options.items() if name != "keys"}
        host = {"host": self.host.export()} if self.host is not None else {}
        return {"kind": str(self.kind), "keys": list(self.keys), "tag": self.tag, **attrs, **host}

    def get_target_device_type(self) -> int:
        """DLPack's number of the kind of device that code for this target runs on."""
        return _DEVICE_TYPES.get(self.kind, 0)

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of the kinds of targets."""
        return [*_OPTIONS, *_OTHER_KINDS]

    @property
    def target_name(self) -> str:
        """The kind, by its older name."""
        return self.kind.name

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys by which schedules are selected: "cpu", "gpu", "cuda", ... and the device's
        name."""
        named = [key for key in self.options.get("keys", "").split(",") if key]
        device = [self.device_name] if self.device_name else []
        usual = _KEYS.get(self.kind) or _OTHER_KINDS.get(self.kind, ())
        return tuple(dict.fromkeys([*named, *device, *usual]))

    @property
    def attrs(self) -> dict[str, str]:
        """The options."""
        return dict(self.options)

    @property
    def mcpu(self) -> str | None:
        """The processor to generate code for; None means this machine's."""
        return self.options.get("mcpu")

    @property
    def mattr(self) -> str | None:
        """Processor features to add (+name) or take away (-name)."""
        return self.options.get("mattr")

    @property
    def mtriple(self) -> str | None:
        """The LLVM triple; None means this machine's."""
        return self.options.get("mtriple", self.options.get("target"))

    @property
    def opt_level(self) -> int:
        """How hard LLVM optimizes, 0 to 3."""
        return int(self.options.get("opt-level", "3"))

    @property
    def fast_math(self) -> bool:
        """Whether floats may be reordered, and NaNs, infinities and signs of zeros neglected."""
        return self.options.get("fast-math", "0").lower() in _TRUE

    @property
    def vector_width(self) -> int | None:
        """The widest vectors, in bits, that LLVM makes of loops by itself; None lets it choose.

        Vectors of a schedule's `vectorize` are as wide as the schedule says.
        """
        width = self.options.get("vector-width")
        return int(width) if width is not None else None

    @property
    def arch(self) -> str | None:
        """The GPU architecture ("sm_80")."""
        return self.options.get("arch")

    @property
    def model(self) -> str:
        """The model of the device, or "unknown"."""
        return self.options.get("model", "unknown")

    @property
    def device_name(self) -> str:
        """The name given by -device=..., or ""."""
        return self.options.get("device", "")

    @property
    def libs(self) -> list[str]:
        """The libraries named by -libs=...; te_sched calls none by itself."""
        return [name for name in self.options.get("libs", "").split(",") if name]

    @property
    def max_num_threads(self) -> int:
        """The most threads of a block; 1 where there are no blocks."""
        return self._limit("max_num_threads")

    @property
    def max_threads_per_block(self) -> int:
        """The most threads of a block, by another name; 1 where there are no blocks."""
        return self._limit("max_threads_per_block")

    @property
    def thread_warp_size(self) -> int:
        """The threads that run in step; 1 where there are none."""
        return self._limit("thread_warp_size")

    @property
    def max_shared_memory_per_block(self) -> int:
        """The bytes of shared memory of a block."""
        return self._limit("max_shared_memory_per_block")

    def _limit(self, name: str) -> int:
        if "gpu" not in self.keys:
            return 1
        usual = _LIMITS.get(self.kind, _GPU_DEFAULTS)
        return int(self.options.get(name, usual[name]))


_scope: ContextVar[Target | None] = ContextVar("te_sched_target", default=None)


struct_info.TARGETS.append(Target)


def as_target(target: str | Target | Mapping[str, Any] | None) -> Target:
    """A Target from what users write; None means the one in scope, else the host's processor."""
    if target is None:
        return _scope.get() or Target("llvm")
    return target if isinstance(target, Target) else Target(target)


Arguments = Sequence[Any] | str | Target | Mapping[str, Any] | None


def target_after_program(
    args: Any, target: str | Target | None, call: str
) -> tuple[Any, str | Target | Mapping[str, Any] | None]:
    """The arguments and the target of a call that takes both after a program: as in TVM since 0.20,
    the target may be the second argument.

    >>> target_after_program("cuda", None, "build")
    (None, 'cuda')

    Raises
    ------
    BuildError if there are two targets.
    """
    is_mapping = isinstance(args, Mapping) and ("kind" in args or "tag" in args)
    if not is_mapping and not isinstance(args, str | Target):
        return args, target
    if target is not None:
        raise BuildError(
            f"{call} has two targets: {repr_of(args)} and {repr_of(target)}",
            "a string or Target in place of the arguments is the target",
            "give one of them",
        )
    return None, args


def check_available(target: Target) -> None:
    """Refuse a target for which this version generates no code."""
    if target.kind not in ("llvm", "cuda"):
        raise BuildError(
            f"te_sched generates no code for {target.kind} (target {target.text!r})",
            help='build for "llvm" or "cuda"; lower() also prints schedules for other targets',
        )


def _text_of(target: Mapping[str, Any]) -> str:
    """A target string from a mapping of a kind and its options."""
    if not target.get("tag") and not target.get("kind"):
        help = 'give a target like "llvm", or {"kind": "llvm", "mcpu": "znver4"}'
        raise _unusable(target, "the mapping has no 'kind'", help)
    words = [str(target.get("tag") or target.get("kind", ""))]
    for name, value in target.items():
        values = value if isinstance(value, list | tuple) else [value]
        usual = name == "keys" and tuple(values) == _KEYS.get(str(target.get("kind")))
        if usual or name in ("kind", "host", "tag"):
            continue
        words.append(shlex.quote(f"-{name}={','.join(map(str, values))}"))
    return " ".join(words)


def _plain(name: str, text: str) -> Any:
    """The value of an option: a number, a list of features, or a text."""
    if name in ("mattr", "libs"):
        return text.split(",")
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | None:
    """A number that is not negative; None for other texts."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _words(target: str) -> list[str]:
    try:
        return shlex.split(target)
    except ValueError as error:
        raise _unusable(target, f"it cannot be parsed: {error}", "close all quotes") from None


def _unusable(target: object, fault: str, help: str) -> BuildError:
    return BuildError(f"invalid target {repr_of(target)}: {fault}", help=help)


def _read_options(kind: str, words: list[str], text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    words = list(words)
    while words:
        word = words.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in _OPTIONS.get(kind, (name,)):
            legal = ", ".join(f"-{option}=..." for option in _OPTIONS.get(kind, ()))
            close = did_you_mean(name, _OPTIONS.get(kind, ()))
            fault = f"{repr_of(word)} is not an option of {kind}"
            raise _unusable(text, fault, f"use one of {legal}{close}")
        if equals:
            options[name] = value
        elif name in _FLAGS and (not words or words[0].startswith("-")):
            options[name] = "1"
        else:
            options[name] = words.pop(0) if words else ""
    _check_options(options, text)
    return options


def _check_options(options: dict[str, str], text: str) -> None:
    """Refuse invalid values."""
    width = options.get("vector-width", "256")
    if _number(width) not in range(64, 65537, 64):
        fault = f"vector-width must be a multiple of 64 from 64 to 65536, got {repr_of(width)}"
        raise _unusable(text, fault, "use a number of bits like 128, 256 or 512")
    if options.get("fast-math", "0").lower() not in (*_TRUE, *_FALSE):
        fault = f"fast-math must be 0 or 1, got {options['fast-math']!r}"
        raise _unusable(text, fault, "write -fast-math, or -fast-math=0")
    level = options.get("opt-level", "3")
    if level not in ("0", "1", "2", "3"):
        raise _unusable(text, f"opt-level must be 0 to 3, got {level!r}", "use 0, 1, 2 or 3")
    for name in _COUNTS:
        count = options.get(name, "1")
        if not _number(count):
            fault = f"{name} must be an integer of at least 1, got {repr_of(count)}"
            raise _unusable(text, fault, f"write -{name}=8, for example, or leave it out")
