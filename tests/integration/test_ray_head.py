"""The Ray that `up` starts is ended by `down`, and nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from memoray.errors import UnavailableError
from memoray.serving.ray_head import head_runs, start_head, stop_head


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="mr-"))  # short: Ray makes sockets in it
    monkeypatch.setenv("RAY_TMPDIR", str(path))
    yield path
    stop_head(path / "head.pid")
    shutil.rmtree(path, ignore_errors=True)


def test_our_head_ends_whole_and_another_ray_goes_on(ray_session: str, folder: Path) -> None:
    assert ray_session
    path, note = folder / "head.pid", folder / "ray" / "ray_current_cluster"
    start_head(path)
    assert head_runs(path)
    assert ":" in note.read_text(encoding="utf-8")
    with pytest.raises(UnavailableError, match="memoray down"):
        start_head(path)
    stop_head(path)
    assert not head_runs(path)
    assert not note.exists(), "who follows the address of a Ray that is gone waits for minutes"
    assert (
        str(folder)
        not in subprocess.run(  # what it started is gone too
            ["ps", "-eo", "args"],  # noqa: S607 - wherever it is
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert ray.nodes()[0]["Alive"]  # type: ignore[no-untyped-call]  # Ray's own


def test_a_file_that_is_left_over_ends_nobody(folder: Path) -> None:
    path = folder / "head.pid"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        path.write_text(str(other.pid), encoding="utf-8")
        assert not head_runs(path)
        stop_head(path)
        assert other.poll() is None
        other.terminate()
    assert not path.exists()


def test_the_address_of_another_ray_is_left_alone(folder: Path) -> None:
    note = folder / "ray" / "ray_current_cluster"
    note.parent.mkdir()
    note.write_text("192.0.2.7:6379", encoding="utf-8")
    (folder / "head.log").write_text("ray start --address='192.0.2.7:1234'", encoding="utf-8")
    stop_head(folder / "head.pid")
    assert note.exists()


def test_what_ray_says_is_in_the_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false") or os.devnull)
    with pytest.raises(UnavailableError, match="did not start"):
        start_head(folder / "head.pid")
