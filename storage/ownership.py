"""Ownership of a shard's log: claims, and the look for a newer one.

Epoch N belongs to whoever creates the file `N.claim`. A claim is never removed or changed. It does not stop the older
owner from writing; it stops it from acknowledging: after each sync, and before anything is answered, an owner looks
whether a newer epoch exists.
"""

from __future__ import annotations

import os
import posixpath

import msgspec

from memoray.errors import FencedError
from memoray.storage.filesystem import FileSystem, publish_new
from memoray.storage.segment import claim_name, parse_claim_name, parse_segment_name


class Claim(msgspec.Struct, frozen=True):
    """Who claimed an epoch. Only for messages and for the take-over rule of the caller; the file's existence counts.

    Attributes:
        owner: the cluster id, or whatever the caller identifies itself by.
        pid: process id on the claimant's host.
    """

    owner: str
    pid: int


def claim_next_epoch(fs: FileSystem, directory: str, owner: str) -> int:
    """Claim the epoch after the newest one; the claim is durable on return.

    Of several claimants each gets an epoch of its own.
    """
    content = msgspec.json.encode(Claim(owner, os.getpid()))
    while True:
        epoch = newest_epoch(fs, directory) + 1
        try:
            publish_new(fs, posixpath.join(directory, claim_name(epoch)), content)
        except FileExistsError:
            continue
        return epoch


def newest_epoch(fs: FileSystem, directory: str) -> int:
    """The highest epoch that anybody claimed, 0 for none; looked up in the directory on each call.

    Segments count too, should an operator have removed claims.
    """
    newest = 0
    for name in fs.list(directory):
        epoch = parse_claim_name(name)
        if epoch is None:
            segment = parse_segment_name(name)
            epoch = segment.epoch if segment else 0
        newest = max(newest, epoch)
    return newest


def look_for_newer_claim(fs: FileSystem, directory: str, epoch: int) -> None:
    """Return if no epoch after `epoch` has been claimed.

    Raises:
        FencedError: one has.
    """
    newest = newest_epoch(fs, directory)
    if newest > epoch:
        message = f"{directory}: epoch {newest} has been claimed; the owner of epoch {epoch} must stop"
        raise FencedError(message, epoch=epoch, newer_epoch=newest)


def read_claim(fs: FileSystem, directory: str, epoch: int) -> Claim | None:
    """Who claimed an epoch; None if nobody did, or if the file does not say."""
    try:
        return msgspec.json.decode(fs.read(posixpath.join(directory, claim_name(epoch))), type=Claim)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
