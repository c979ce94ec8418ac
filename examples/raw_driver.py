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

NAMESPACE = os.environ.get("MEMORAY_NAMESPACE", "memoray")


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
    body = json.dumps(request).encode()
    shard = "shard-0"
    for _ in range(2):
        try:
            receipt = ray.get(ray.get_actor(shard, namespace=NAMESPACE).submit.remote(body), timeout=30)
            break
        except ray.exceptions.RayTaskError as error:
            # A shard that does not own the user names the one that does.
            home = re.search(r"belongs to shard (\d+)", str(error))
            if home is None:
                raise
            shard = f"shard-{home[1]}"
    print(json.dumps(json.loads(receipt), indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:4])
