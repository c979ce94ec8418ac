"""The fencing protocol holds in every state of the model, and each of its protections is needed for that."""

from __future__ import annotations

import pytest

from tests.model.fence_model import Protocol, visit

# What each owner is asked to store, in groups; a repeated id is a retry of a request that another owner got too.
TWO_OWNERS = ((("a1", "a2"), ("a3",)), (("a2", "b1"), ("b2",)))
THREE_OWNERS = ((("a1",),), (("a1", "b1"),), (("b1",),))

# Each value takes one protection away.
BROKEN = {
    "looks for a newer claim before the sync": Protocol(looks="before_sync"),
    "never looks for a newer claim": Protocol(looks="never"),
    "looks at a cached directory": Protocol(looks="cached"),
    "reads before it claims": Protocol(claims_before_reading=False),
    "does not sync what it builds on": Protocol(syncs_older=False),
    "does not sync the directory": Protocol(syncs_directory=False),
    "answers before its header is durable": Protocol(answers_after_header=False),
    "takes all segments in full": Protocol(follows_the_chain=False),
}


def test_holds_with_two_owners_rotation_and_power_cuts() -> None:
    found = visit(Protocol(), TWO_OWNERS, worlds_max=100_000)
    assert found.violation is None
    assert found.is_exhaustive
    assert found.worlds_count > 4000


def test_holds_with_three_owners_and_power_cuts() -> None:
    found = visit(Protocol(), THREE_OWNERS, worlds_max=1_000_000)
    assert found.violation is None
    assert found.is_exhaustive
    assert found.worlds_count > 200_000


@pytest.mark.parametrize("protocol", BROKEN.values(), ids=BROKEN)
def test_each_protection_is_needed(protocol: Protocol) -> None:
    assert visit(protocol, TWO_OWNERS, worlds_max=100_000).violation is not None


def test_listing_until_stable_is_needed_with_three_owners() -> None:
    found = visit(Protocol(lists_until_stable=False), THREE_OWNERS, worlds_max=400_000)
    assert found.violation is not None
