"""The store in one process, in both forms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memoray
from memoray.engine.memory import Memory
from tests.support.fake_embedder import FakeEmbedder
from tests.support.memory_contract import MemoryContract, in_form


class TestEmbedded(MemoryContract):
    @pytest.fixture(params=["plain", "awaited"])
    def memory(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
        yield from in_form(request.param, memoray.open(tmp_path / "store", shards_count=2, embedder=FakeEmbedder()))
