"""Names of variables in a kernel: identifiers of C++, unique in their scope.

A name is none of C++'s words, nor what headers may define as a macro, nor a function or type that
the kernel's own text needs: a first text, whose variables are all numbered, tells these
(`NumberedNames`, `words_of`). Must not know what variables are for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from te_sched.ir.intrinsic_table import MATHEMATICS

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
    "isfinite memcpy dynamic_shared char8_t concept consteval constinit co_await co_return "
    "co_yield requires restrict typeof"
)
# What the standards of C and POSIX keep for macros of their headers, and NVIDIA's.
_MACRO = re.compile(
    r"NULL|NAN|INFINITY|HUGE(_VAL\w*)?|W?EOF|BUFSIZ|RAND_MAX|CLOCKS_PER_SEC|NDEBUG|DOMAIN|SING"
    r"|OVERFLOW|UNDERFLOW|PLOSS|TLOSS|[A-Z]+\d*_(MAX|MIN|BIT|WIDTH|DIG|EPSILON)"
    r"|(MATH|EXIT|SEEK|FP|FE|LC|FLT|DBL|LDBL|DECIMAL|TIME|ATOMIC|CHAR|IF|CU[A-Z]*|NV)_[A-Z]\w*"
    r"|M_(\d_)?[A-Z][A-Z0-9_]*[fl]?\d*x?|L_(tmpnam|ctermid|cuserid)"
    r"|(SIG|PRI|SCN)[A-Z]\w*|E[A-Z][A-Z0-9]{2,}|E2BIG|CUDARTAPI\w*|cuda[A-Z]\w*"
    r"|assert|errno|stdin|stdout|stderr|offsetof|setjmp|signbit|alloca|linux|unix|i386|va_\w+"
)
_VECTOR = re.compile(r"(u?(char|short|int|long|longlong)|float|double)[1-4]\Z")
_RESERVED = {*_KEYWORDS.split(), *MATHEMATICS, *(name + "f" for name in MATHEMATICS)}
_PROBE = "te_probe_"
_WORD = re.compile(r"(?<![\w.:>])[A-Za-z_]\w*")
_STRING = re.compile(r'"[^"]*"')
_LONGEST = 1 << 15  # NVRTC overwrites its own memory from 64 KiB on
_OTHER = re.compile(r"\W", re.ASCII)


class ScopedNames:
    """The names in scope, innermost scope last; none of them is one of `words`."""

    def __init__(self, words: Collection[str] = ()) -> None:
        self._words = words
        self._scopes: list[set[str]] = [set()]

    def enter(self) -> None:
        """Begin a scope."""
        self._scopes.append(set())

    def leave(self) -> None:
        """End the innermost scope; its names are free again."""
        self._scopes.pop()

    def fresh(self, hint: str) -> str:
        """An unused name derived from `hint`."""
        base = identifier(hint)
        name, count = base, 0
        while (
            name in _RESERVED or name in self._words or any(name in scope for scope in self._scopes)
        ):
            count += 1
            name = f"{base}_{count}"
        self._scopes[-1].add(name)
        return name


class NumberedNames(ScopedNames):
    """Numbers in the place of names."""

    def fresh(self, hint: str) -> str:
        """A name like no other."""
        scope = self._scopes[0]
        scope.add(f"{_PROBE}{len(scope)}")
        return f"{_PROBE}{len(scope) - 1}"


def words_of(lines: Iterable[str]) -> set[str]:
    """The identifiers of a text that are not variables, members or in a namespace."""
    return {
        word
        for line in lines
        for word in _WORD.findall(_STRING.sub("", line))
        if not word.startswith(_PROBE)
    }


def identifier(hint: str) -> str:
    """The nearest identifier that neither C++ nor CUDA nor te_sched's own functions use."""
    base = _OTHER.sub("_", hint).lstrip("_") or "v"
    is_taken = _VECTOR.match(base) or _MACRO.fullmatch(base)
    if base[0].isdigit() or base.startswith(("te_", "make_")) or is_taken:
        base = f"v_{base}"
    return base


def is_identifier(name: str) -> bool:
    """Whether C++ takes it as the name of a function."""
    is_short = len(name) <= _LONGEST
    return is_short and name.isascii() and name.isidentifier() and name not in _RESERVED
