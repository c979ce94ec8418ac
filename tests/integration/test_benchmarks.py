"""The benchmark runs and puts every figure beside its rival's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_engine_benchmark_prints_a_ratio_for_each_figure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.engine", "2x300", "--rounds", "20"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for name in ("bulk add", "durable single add", "search", "search right after an add", "reopen"):
        assert name in done.stdout
    assert "ratio" in done.stdout
