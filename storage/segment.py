"""Segments: names and headers of the files that hold records. Pure; knows no file.

An owner writes one segment for its epoch, in one or more parts (files). Part 0 says where the chain of epochs goes on;
a further part says where the part before it ended.

    offset  size
    0       8     "memoray" and a line feed
    8       4     format version
    12      4     shard
    16      8     epoch
    24      8     base_epoch: part 0: the epoch that this one builds on, 0 for none; further parts: the own epoch
    32      8     base_seq: last seq of what it builds on; the first record has seq base_seq + 1
    40      4     part, from 0
    44      4     CRC-32 of the 44 bytes above

Integers are little-endian.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple
from zlib import crc32

from memoray.errors import CorruptionError, InvalidRequestError

FORMAT_VERSION = 1
SEGMENT_BYTES_MAX = 64 * 1024 * 1024

_MAGIC = b"memoray\n"
_FIELDS = struct.Struct("<8sIIQQQI")
_CRC = struct.Struct("<I")
SEGMENT_HEADER_BYTES = _FIELDS.size + _CRC.size

_SEGMENT_NAME = re.compile(r"(\d{8,})-(\d{4,})\.segment")
_CLAIM_NAME = re.compile(r"(\d{8,})\.claim")


class SegmentId(NamedTuple):
    """Epoch and part of a segment file; sorts as the files were begun."""

    epoch: int
    part: int


class SegmentHeader(NamedTuple):
    """What a segment file says of itself."""

    shard: int
    epoch: int
    part: int
    base_epoch: int
    base_seq: int


def segment_name(epoch: int, part: int) -> str:
    """File name of a part of an epoch's segment; names sort as the numbers do."""
    return f"{epoch:08d}-{part:04d}.segment"


def claim_name(epoch: int) -> str:
    """File name of the claim on an epoch."""
    return f"{epoch:08d}.claim"


def parse_segment_name(name: str) -> SegmentId | None:
    """Epoch and part that a file name stands for; None for a file that is no segment."""
    match = _SEGMENT_NAME.fullmatch(name)
    return SegmentId(int(match[1]), int(match[2])) if match else None


def parse_claim_name(name: str) -> int | None:
    """Epoch that a file name claims; None for a file that is no claim."""
    match = _CLAIM_NAME.fullmatch(name)
    return int(match[1]) if match else None


def encode_segment_header(header: SegmentHeader) -> bytes:
    """The first `SEGMENT_HEADER_BYTES` bytes of a segment file."""
    fields = _FIELDS.pack(
        _MAGIC, FORMAT_VERSION, header.shard, header.epoch, header.base_epoch, header.base_seq, header.part
    )
    return fields + _CRC.pack(crc32(fields))


def decode_segment_header(data: bytes, *, path: str, shard: int, segment: SegmentId) -> SegmentHeader | None:
    """Header of a segment file, checked against where it was found.

    Args:
        data: the file's content, or its first bytes if those are not all zero.
        path: of the file, for errors.
        shard: whose log the file lies in.
        segment: what its name says.

    Returns:
        None where the header was being written when its owner ended: the file is too short or nothing but zeros. As a
        header is synced before any record follows, such a file holds nothing.

    Raises:
        CorruptionError: the bytes are not a header, or one of another file.
        InvalidRequestError: a later format version wrote it.
    """
    if len(data) < SEGMENT_HEADER_BYTES or not data.strip(b"\0"):
        return None
    fields = data[: _FIELDS.size]
    if _CRC.unpack_from(data, _FIELDS.size)[0] != crc32(fields) or not fields.startswith(_MAGIC):
        raise CorruptionError(path, 0, expected="a segment header with a matching CRC-32", found=fields[:16].hex())
    _, version, *numbers = _FIELDS.unpack(fields)
    if version > FORMAT_VERSION:
        message = f"{path} has format version {version}, this release reads up to {FORMAT_VERSION}: use a later release"
        raise InvalidRequestError(message)
    header = SegmentHeader(numbers[0], numbers[1], numbers[4], numbers[2], numbers[3])
    here = (shard, segment.epoch, segment.part)
    if header[:3] != here:
        raise CorruptionError(path, 0, expected=f"shard, epoch, part {here}", found=str(header[:3]))
    return header
