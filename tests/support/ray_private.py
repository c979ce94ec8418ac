"""What tests use of Ray's private parts, in one place, so that an upgrade breaks one file."""

from __future__ import annotations

import copy
from typing import Any

import yaml


def validated_cluster_config(text: str) -> dict[str, Any]:
    """A cluster file as `ray up` would take it; raises what `ray up` would raise."""
    from ray.autoscaler._private.util import prepare_config, validate_config  # noqa: PLC0415 - two seconds

    prepared: dict[str, Any] = prepare_config(copy.deepcopy(yaml.safe_load(text)))
    validate_config(prepared)
    return prepared
