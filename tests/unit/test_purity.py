"""The watch over unit tests sees what it is there for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit import conftest


def test_opening_a_file_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(conftest, "_touched", seen)
    Path("/dev/null").read_text(encoding="utf-8")
    assert any("/dev/null" in what for what in seen)
    seen.clear()
