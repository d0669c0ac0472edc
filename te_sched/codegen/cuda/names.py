"""Names of variables in a kernel: identifiers of C++, each with one meaning where it is seen.

Must not know what variables are for.
"""

from __future__ import annotations

import re

_KEYWORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t class compl const const_cast constexpr continue decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if "
    "inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
    "private protected public register reinterpret_cast return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try "
    "typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
    "xor_eq half half2 nv_bfloat16 nv_bfloat162 uint ushort uchar ulong dim3 warpSize nvcuda "
    "asm main size_t threadIdx blockIdx blockDim gridDim min max abs llabs fabs isnan isinf "
    "isfinite memcpy dynamic_shared"
)
_VECTOR = re.compile(r"(u?(char|short|int|long|longlong)|float|double)[1-4]\Z")
_FUNCTIONS = (
    "exp exp2 exp10 log log2 log10 log1p expm1 sqrt rsqrt sin cos tan asin acos atan sinh "
    "cosh tanh asinh acosh atanh atan2 pow floor ceil round nearbyint trunc rint copysign fma "
    "erf hypot nextafter cbrt lgamma tgamma fmod ldexp fabs"
)
_MATHEMATICS = _FUNCTIONS.split()
_RESERVED = {*_KEYWORDS.split(), *_MATHEMATICS, *(name + "f" for name in _MATHEMATICS)}
_OTHER = re.compile(r"\W", re.ASCII)


class Names:
    """The names in scope, innermost scope last."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set()]

    def enter(self) -> None:
        """Begin a scope."""
        self._scopes.append(set())

    def leave(self) -> None:
        """End the innermost scope; its names are free again."""
        self._scopes.pop()

    def fresh(self, wanted: str) -> str:
        """A name like `wanted` that means nothing yet."""
        base = identifier(wanted)
        name, count = base, 0
        while name in _RESERVED or any(name in scope for scope in self._scopes):
            count += 1
            name = f"{base}_{count}"
        self._scopes[-1].add(name)
        return name


def identifier(wanted: str) -> str:
    """The nearest identifier that neither C++ nor CUDA nor te_sched's own functions use."""
    base = _OTHER.sub("_", wanted).lstrip("_") or "v"
    if base[0].isdigit() or base.startswith(("te_", "make_")) or _VECTOR.match(base):
        base = f"v_{base}"
    return base


def is_identifier(name: str) -> bool:
    """Whether C++ takes it as the name of a function."""
    return name.isascii() and name.isidentifier() and name not in _RESERVED
