"""Records: how one batch is framed in a segment, and what a damaged record tells. Pure; knows no file.

    offset  size
    0       4     length: bytes of the payload
    4       8     durable_offset: file offset up to which the owner knew this file to be synced when it framed this
    12      4     emptiness: 2 for each 512-byte sector of this record with zeros only, 1 for each with one other byte
    16      4     CRC-32 of payload and padding
    20      4     CRC-32 of the 20 bytes above
    24      n     payload: msgpack of a batch
    24 + n  2-9   padding: bytes 0xFF, so that the next record starts at a multiple of 8

Integers are little-endian. Records start at multiples of 8.

A write that a crash interrupted and a byte that rotted must not be mistaken for each other: the first was never
acknowledged and is cut; the second may be anything and stops the shard. Disks write whole sectors, and one that never
arrived reads as zeros, so a torn record either ends too early or misses a sector. The layout makes that sign exact.
Padding and alignment leave at least two non-zero bytes in every piece of a header or of a record's end that lies in a
sector of its own. `emptiness` tells the zeros of the payload (vectors have them) from those of a missing sector: a
changed byte raises it by one at most, a missing sector by two, unless that had only one byte to lose. So no change of
one byte can look like a torn write. And where a later record says, by its `durable_offset`, that the damaged one had
been synced, it is not torn, whatever its shape. In doubt a record is corrupt, never cut.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from zlib import crc32

RECORD_BYTES_MAX = 64 * 1024 * 1024
ALIGNMENT = 8
SECTOR_BYTES = 512

_FIELDS = struct.Struct("<IQII")
_CRC = struct.Struct("<I")
HEADER_BYTES = _FIELDS.size + _CRC.size
_PADDING = b"\xff" * (ALIGNMENT + 1)
_PADDING_BYTES_MIN = 2
# Any header has at least two non-zero bytes in each piece that a sector boundary can cut from it.
_HEADER_STAND_IN = b"\xff" * HEADER_BYTES
# A sector with at most one non-zero byte holds a run of zeros at least this long.
_EMPTY_RUN = bytes((SECTOR_BYTES - 1) // 2)


class Record(NamedTuple):
    """A whole record. `end` is the offset of the next one."""

    payload: memoryview
    durable_offset: int
    end: int


class Damage(NamedTuple):
    """A bad record. `is_torn` tells that its shape is that of an interrupted write, which nobody had synced."""

    offset: int
    is_torn: bool
    expected: str
    found: str


class _Header(NamedTuple):
    length: int
    durable_offset: int
    emptiness: int
    body_crc: int

    def end(self, offset: int) -> int:
        return offset + HEADER_BYTES + self.length + _padding_bytes(self.length)


def frame_record(payload: bytes, *, offset: int, durable_offset: int) -> bytes:
    """Bytes of a record that will start at `offset` of its file.

    Args:
        payload: 1 to `RECORD_BYTES_MAX` bytes.
        offset: where it will be written; a multiple of 8.
        durable_offset: up to where the file is known to be synced; at most `offset`.
    """
    assert 0 < len(payload) <= RECORD_BYTES_MAX, f"payload of {len(payload)} bytes"
    assert offset % ALIGNMENT == 0, f"offset {offset} is no multiple of {ALIGNMENT}"
    assert 0 < durable_offset <= offset, f"durable offset {durable_offset} of a record at {offset}"
    body = payload + _PADDING[: _padding_bytes(len(payload))]
    emptiness = _emptiness(_HEADER_STAND_IN + body, offset) if _EMPTY_RUN in payload else 0
    fields = _FIELDS.pack(len(payload), durable_offset, emptiness, crc32(body))
    return b"".join((fields, _CRC.pack(crc32(fields)), body))


def read_record(data: bytes, offset: int) -> Record | Damage:
    """The record that starts at `offset` of a file with content `data`, or what is wrong with it.

    Args:
        data: the file from its start to its end.
        offset: where a record starts; less than `len(data)`.
    """
    left = len(data) - offset
    if left < HEADER_BYTES:
        expected, found = f"a record header of {HEADER_BYTES} bytes", f"end of file after {left}"
        return Damage(offset, not _is_known_synced(data, offset), expected, found)
    header = _read_header(data, offset)
    if header is None:
        is_torn = _misses_sector(data, offset, offset + HEADER_BYTES) and not _is_known_synced(data, offset)
        return Damage(offset, is_torn, "a record header with a matching CRC-32", data[offset : offset + 8].hex())
    end = header.end(offset)
    if end > len(data):
        expected, found = f"a record of {end - offset} bytes", f"end of file after {left}"
        return Damage(offset, not _is_known_synced(data, offset), expected, found)
    body = memoryview(data)[offset + HEADER_BYTES : end]
    crc = crc32(body)
    if crc != header.body_crc:
        is_torn = _misses_sector(data, offset, end, header.emptiness) and not _is_known_synced(data, offset)
        return Damage(offset, is_torn, f"a payload with CRC-32 {header.body_crc:08x}", f"{crc:08x}")
    return Record(body[: header.length], header.durable_offset, end)


def _padding_bytes(length: int) -> int:
    return _PADDING_BYTES_MIN + -(length + _PADDING_BYTES_MIN) % ALIGNMENT


def _read_header(data: bytes, offset: int) -> _Header | None:
    fields = data[offset : offset + _FIELDS.size]
    if _CRC.unpack_from(data, offset + _FIELDS.size)[0] != crc32(fields):
        return None
    return _Header._make(_FIELDS.unpack(fields))


def _is_known_synced(data: bytes, offset: int) -> bool:
    """Whether any whole record after `offset` was framed by an owner that knew the byte at `offset` to be synced."""
    for later in range(offset + ALIGNMENT, len(data) - HEADER_BYTES + 1, ALIGNMENT):
        length, durable_offset = struct.unpack_from("<IQ", data, later)
        # The cheap conditions first: nearly every place fails them, and a damaged file may be long.
        if not length or not offset < durable_offset <= later:
            continue
        header = _read_header(data, later)
        if header is None or header.end(later) > len(data):
            continue
        if crc32(memoryview(data)[later + HEADER_BYTES : header.end(later)]) == header.body_crc:
            return True
    return False


def _misses_sector(data: bytes, start: int, end: int, emptiness: int = 0) -> bool:
    """Whether a sector that overlaps [start, end) never arrived, given how empty they were when written."""
    sectors_end = end + -end % SECTOR_BYTES
    return _emptiness(data[start:sectors_end], start) >= emptiness + 2


def _emptiness(piece: bytes, offset: int) -> int:
    """What the sectors of a piece of a file lack to two non-zero bytes; those at its ends count as far as they go."""
    emptiness = 0
    begin = 0
    while begin < len(piece):
        end = begin + SECTOR_BYTES - (offset + begin) % SECTOR_BYTES
        sector = piece[begin:end]
        emptiness += max(0, 2 - (len(sector) - sector.count(0)))
        begin = end
    return emptiness
