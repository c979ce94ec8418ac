"""The benchmark runs and puts every figure beside its rival's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ray


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


def test_the_benchmark_of_clients_measures_each_kind_with_one_and_with_many(ray_session: str) -> None:
    assert ray_session
    options = ["--clients", "4", "--drivers", "2", "--shards", "2", "--seconds", "0.2", "--json"]
    address = ray.get_runtime_context().gcs_address
    done = subprocess.run(  # noqa: S603 - python
        [sys.executable, "-m", "benchmarks.ray_clients", "--address", address, *options],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result["rates"]) == {"empty call", "search", "add", "submit"}
    for one, many in result["rates"].values():
        assert (one["clients"], many["clients"]) == (1, 4)
        assert min(one["per_second"], many["per_second"], one["p50_ms"], many["cpu_us"]["shard-1"]) > 0
    assert result["texts_embedded_per_second"] > 0
