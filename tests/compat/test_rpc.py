"""tvm.rpc.LocalSession: its files stay in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from te_sched.compat import rpc
from te_sched.compat.rpc import LocalSession
from te_sched.errors import CallError, TeSchedError


def test_files_are_uploaded_and_downloaded(tmp_path: Path) -> None:
    session = LocalSession()
    (tmp_path / "a.txt").write_bytes(b"text")
    session.upload(str(tmp_path / "a.txt"))
    session.upload(b"bytes", "b.bin")
    assert (session.download("a.txt"), session.download("b.bin")) == (b"text", b"bytes")


def test_paths_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    session = LocalSession()
    secret = tmp_path / "secret.txt"
    secret.write_bytes(b"secret")
    session._folder.path.joinpath("link").symlink_to(secret)
    session._folder.path.joinpath("folder").symlink_to(tmp_path)
    for name in ("../x.txt", str(secret), "a/../../x", "link", "folder/secret.txt", "folder/new"):
        for call in (session.download, session.load_module, lambda to: session.upload(b"x", to)):
            with pytest.raises(CallError, match="outside of the folder of the session"):
                call(name)
    assert secret.read_bytes() == b"secret"
    assert [one.name for one in tmp_path.iterdir()] == ["secret.txt"]


def test_other_machines_are_refused() -> None:
    with pytest.raises(TeSchedError, match="cannot connect to 'host':9090"):
        rpc.connect("host", 9090)


def test_a_session_rejects_files_that_are_not_there():
    session = rpc.LocalSession()
    session.upload(b"content", "file")
    assert session.download("file") == b"content"
    with pytest.raises(CallError, match=r"upload nothing(.|\n)*No such file"):
        session.upload("nothing")
    with pytest.raises(CallError, match=r"download .*nothing(.|\n)*No such file"):
        session.download("nothing")
