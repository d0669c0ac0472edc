"""Reading and writing of the user's files, always as a whole; a failed write changes nothing.

A path may name a folder, a pipe without a writer or an endless device: failures are errors of
te_sched, and no call blocks. Must not know the content of files.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from te_sched.errors import CallError, TeSchedError, repr_of

if TYPE_CHECKING:
    from pathlib import Path

Refusal = Callable[[str, str, str], TeSchedError]  # of fault, why and help

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # Windows has no pipes among its files
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_SOURCES = (".py", ".pyi", ".ipynb")
_OBJECTS = (".so", ".dylib", ".dll", ".o", ".tar", ".fatbin", ".cubin")
_HEAD = 4096  # bytes in which binary files have a zero
_STREAMS = ("/dev/fd/", "/dev/std", "/proc/")  # paths of open files of a process


def check_path(path: Any, verb: str, error: Refusal = CallError) -> str:
    """The text of a path, which must be possible as the name of a file."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str) or not text:
        raise error(
            f"cannot {verb} {repr_of(path)}: it is not a path",
            "",
            "give a str or a pathlib.Path",
        )
    if (why := why_no_path(text)) is not None:
        raise error(f"cannot {verb} {text!r}: {why}", "", "give the path of a file")
    return text


def why_no_path(text: str) -> str | None:
    """Why a path cannot be the name of a file; None if it can."""
    if "\0" in text:
        return "a path cannot contain null characters"
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return "it contains characters that the system cannot encode"
    return None


def read(path: Any, verb: str, help: str, error: Refusal = CallError) -> bytes:
    """The content of a regular file.

    Raises
    ------
    An `error`: "cannot <verb> <path>: <reason>".
    """
    text = check_path(path, verb, error)
    with refusing(f"{verb} {text}", help, error):
        return read_at_once(text)


def read_text(path: Any, verb: str, help: str, error: Refusal = CallError) -> str:
    """The content of a regular file of UTF-8 text; raises as `read` does."""
    try:
        return read(path, verb, help, error).decode()
    except UnicodeDecodeError:
        raise error(f"cannot {verb} {path}: it is not UTF-8 text", "", help) from None


def write(
    path: Any,
    content: bytes | str,
    verb: str,
    help: str = "name a file in a folder that exists and may be written",
    error: Refusal = CallError,
    executable: bool = False,
    mark: str = "",
) -> None:
    """Write a file atomically; pipes and devices are written in place.

    Raises
    ------
    An `error`: "cannot <verb> <path>: <reason>", also for a file that `check_replaceable` keeps.
    """
    text = check_path(path, verb, error)
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    check_replaceable(text, verb, mark, is_text=_is_text(data), error=error)
    with refusing(f"{verb} {text}", help, error):
        try:
            kept = os.stat(text).st_mode
        except FileNotFoundError:
            kept = None
        if (kept is not None and not stat.S_ISREG(kept)) or text.startswith(_STREAMS):
            with open(text, "ab", opener=at_once) as file:
                file.write(data)
            return
        _replace(os.path.realpath(text), data, kept, executable)


def check_replaceable(
    path: str, verb: str, mark: str = "", *, is_text: bool = True, error: Refusal = CallError
) -> None:
    """Raise an `error` for a file of the user that is not to be replaced.

    A file with content is replaced only if it has the `mark` of the program that wrote it; without
    a mark, unless it is source code of Python, or a text that binary data would replace.
    """
    try:
        before = read_at_once(path)
    except (OSError, ValueError):  # missing, or a pipe, or said when it is written
        return
    if mark:
        is_ours = mark.encode() in before
    else:
        is_ours = not path.endswith(_SOURCES)
        is_ours &= is_text or path.endswith(_OBJECTS) or not _is_text(before)
    if before and not is_ours:
        raise error(
            f"cannot {verb} {path}: it would replace a file that te_sched did not write",
            "",
            "name another file, or remove this one",
        )


def _is_text(data: bytes) -> bool:
    return b"\0" not in data[:_HEAD]


@contextmanager
def temporary_folder(
    what: str, error: Refusal = CallError, within: str | None = None
) -> Iterator[Path]:
    """A folder that is deleted at the end; it lies in the folder `within`, if that is given."""
    import tempfile  # slow to load, as is pathlib
    from pathlib import Path

    with _making_folder(what, error):
        folder = tempfile.TemporaryDirectory(
            prefix="te_sched", dir=within, ignore_cleanup_errors=True
        )
    with folder as name:
        yield Path(name)


def new_temporary_folder(what: str, prefix: str, error: Refusal = CallError) -> str:
    """A new folder, which the caller deletes."""
    import tempfile

    with _making_folder(what, error):
        return tempfile.mkdtemp(prefix=prefix)


def _making_folder(what: str, error: Refusal) -> AbstractContextManager[None]:
    help = "make room for temporary files, or name another folder for them in TMPDIR"
    return refusing(f"{what}, which needs a temporary folder", help, error)


def read_at_once(path: str, pipes: bool = False) -> bytes:
    """The content of a regular file, or of a pipe that has a writer.

    Raises
    ------
    OSError also for other kinds of files.
    """
    with open(path, "rb", opener=at_once) as file:
        kind = stat.S_IFMT(os.fstat(file.fileno()).st_mode)
        if kind in _KINDS and not (pipes and (kind == stat.S_IFIFO or file.isatty())):
            raise OSError(errno.EINVAL, f"it is {_KINDS[kind]}")
        content = file.read()
    if kind in _KINDS and not content:
        raise OSError(errno.EINVAL, f"it is {_KINDS[kind]} without a writer")
    return content


def is_special(path: str) -> bool:
    """Whether a path names a pipe, a device or a socket, on which `open` may block."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode) in _KINDS
    except (OSError, ValueError):
        return False


def at_once(path: str, flags: int) -> int:
    """An opener for `open` that does not wait for the other end of a pipe."""
    handle = os.open(path, flags | _NONBLOCK, 0o666)
    if _NONBLOCK:
        os.set_blocking(handle, True)
    return handle


def _replace(path: str, data: bytes, kept: int | None, executable: bool) -> None:
    """Replace a file, keeping its mode."""
    if kept is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    mode = 0o777 if executable else 0o666
    exact = None
    if kept is not None:
        exact = stat.S_IMODE(kept) | ((kept & 0o444) >> 2 if executable else 0)
    put_in_place(path, data, mode, exact)


def put_in_place(
    path: str, data: bytes, mode: int, exact: int | None = None, prefix: str = ".te_sched-"
) -> None:
    """Write a temporary file with mode `exact`, or `mode` less the umask, and rename it."""
    part = os.path.join(os.path.dirname(path), prefix + os.urandom(8).hex())
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
        if exact is not None:
            os.chmod(part, exact)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


@contextmanager
def refusing(what: str, help: str, error: Refusal = CallError) -> Iterator[None]:
    """Convert an error of the system to a te_sched error, "cannot <what>: <reason>"."""
    try:
        yield
    except OSError as problem:
        raise error(f"cannot {what}: {problem.strerror or problem}", "", help) from None
    except MemoryError:
        raise error(f"cannot {what}: not enough memory", "", help) from None
