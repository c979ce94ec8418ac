"""A driver that knows only `ray.get_actor`: it submits a delta as JSON bytes and reads the receipt.

It needs Ray and a deployment (`memoray up --store ./memory`), nothing of Memoray; the same file runs on a laptop and on
a cluster.

    python examples/raw_driver.py APP USER "what the user said"
"""

import json
import os
import re
import sys
import uuid

os.environ.setdefault("RAY_AUTH_MODE", "token")  # as `memoray up` starts Ray; read when Ray is imported

import ray
from ray.exceptions import RayTaskError

NAMESPACE = os.environ.get("MEMORAY_NAMESPACE", "memoray")


def submit(shard: str, body: bytes) -> bytes:
    """Submit to a shard, or to the one that owns the user: a shard that doesn't names the one that does."""
    try:
        return bytes(ray.get(ray.get_actor(shard, namespace=NAMESPACE).submit.remote(body), timeout=30))
    except RayTaskError as error:
        home = re.search(r"belongs to shard (\d+)", str(error))
        if home is None:
            raise
        return submit(f"shard-{home[1]}", body)


def main(app: str, user: str, text: str) -> None:
    """Submit one message and print the receipt."""
    if not ray.is_initialized():
        ray.init(address="auto", namespace=NAMESPACE, log_to_driver=False)
    request = {
        "user": {"app_name": app, "user_id": user},
        "session_id": "raw-driver",
        "request_id": uuid.uuid4().hex,  # the same id again gets the same receipt: safe to repeat
        "messages": [{"role": "user", "text": text}],
    }
    receipt = submit("shard-0", json.dumps(request).encode())
    print(json.dumps(json.loads(receipt), indent=2))


if __name__ == "__main__":
    if len(sys.argv) != 4:  # noqa: PLR2004 - three arguments
        sys.exit('usage: raw_driver.py APP USER "what the user said"')
    main(*sys.argv[1:])
