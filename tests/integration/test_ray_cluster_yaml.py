"""The cluster file is one that Ray takes, and its labels are those that the cluster looks for."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.support.ray_private import validated_cluster_config

TEXT = (Path(__file__).parents[2] / "ray_cluster.yaml").read_text(encoding="utf-8")


def test_ray_takes_it() -> None:
    config = validated_cluster_config(TEXT)
    types = config["available_node_types"]
    assert config["head_node_type"] == "head"
    assert {name: kind["labels"].get("memoray-role") for name, kind in types.items() if kind.get("labels")} == {
        "shard": "shard",
        "worker": "worker",
    }
    assert types["head"]["resources"] == {"CPU": 0}


def test_a_key_that_ray_does_not_know_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        validated_cluster_config(TEXT + "\nshards: 3\n")


def test_no_node_sends_usage_statistics_or_goes_without_the_token() -> None:
    config = yaml.safe_load(TEXT)
    for commands in ("head_start_ray_commands", "worker_start_ray_commands"):
        starts = [command for command in config[commands] if "ray start" in command]
        assert starts
        assert all("--disable-usage-stats" in start and "RAY_AUTH_MODE=token" in start for start in starts)
    assert any("memoray" in command and "install" in command for command in config["setup_commands"])
    assert "~/.ray/auth_token" in config["file_mounts"]
