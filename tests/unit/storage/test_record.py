from __future__ import annotations

import struct
from zlib import crc32

import pytest

from memoray.storage.record import HEADER_BYTES, RECORD_BYTES_MAX, Damage, Record, frame_record, read_record

START = 48
PAYLOADS = {
    "short": b"x",
    "text": b"payload of a record",
    "two sectors": bytes(range(1, 250)) * 4,
    "zeros": bytes(3000),
    "mostly zeros": (bytes(400) + b"\x3f") * 9 + b"end",
    "a byte in each sector": (bytes(511) + b"\x01") * 4,
}


def file_of(*payloads: bytes, durable_offset: int | None = None) -> tuple[bytes, list[int]]:
    """A file that starts like a segment, and the offsets of its records."""
    data = b"h" * START
    offsets: list[int] = []
    for payload in payloads:
        offsets.append(len(data))
        data += frame_record(payload, offset=len(data), durable_offset=durable_offset or len(data))
    return data, offsets


def damage_at(data: bytes, offset: int) -> Damage:
    damage = read_record(data, offset)
    assert isinstance(damage, Damage)
    return damage


def test_layout_encoded_by_hand() -> None:
    # 5 bytes of payload and 3 of padding end at a multiple of 8.
    body = b"hello" + b"\xff\xff\xff"
    fields = (
        b"\x05\x00\x00\x00"  # length
        b"\x30\x00\x00\x00\x00\x00\x00\x00"  # durable_offset 48
        b"\x00\x00\x00\x00" + struct.pack("<I", crc32(body))  # emptiness
    )
    assert frame_record(b"hello", offset=64, durable_offset=48) == fields + struct.pack("<I", crc32(fields)) + body


def test_emptiness_counts_whole_sectors() -> None:
    # From 48: the header up to 72, then zeros; sector 512 to 1024 has one byte, 1024 to 1536 none.
    framed = frame_record(bytes(500) + b"x" + bytes(963), offset=48, durable_offset=48)
    assert struct.unpack_from("<I", framed, 12) == (3,)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("before", range(0, 520, 7))
def test_record_reads_back_at_any_place(payload: bytes, before: int) -> None:
    data, offsets = file_of(b"p" * (before + 1), payload)
    record = read_record(data, offsets[1])
    assert isinstance(record, Record)
    assert (bytes(record.payload), record.durable_offset, record.end) == (payload, offsets[1], len(data))
    assert record.end % 8 == 0


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("before", [1, 400, 406, 414, 422])
def test_no_changed_byte_looks_torn(payload: bytes, before: int) -> None:
    data, offsets = file_of(b"p" * before, payload)
    for place in range(offsets[1], len(data)):
        for change in {0xFF, 0x01, data[place]} - {0}:
            damaged = bytearray(data)
            damaged[place] ^= change
            damage = damage_at(bytes(damaged), offsets[1])
            assert (damage.offset, damage.is_torn) == (offsets[1], False), (place, change)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_any_cut_is_torn(payload: bytes) -> None:
    data, offsets = file_of(b"before", payload)
    for end in range(offsets[1] + 1, len(data)):
        assert damage_at(data[:end], offsets[1]).is_torn, end


@pytest.mark.parametrize("name", ["two sectors", "mostly zeros", "zeros"])
def test_sector_that_never_arrived_is_torn(name: str) -> None:
    data, offsets = file_of(b"p" * 300, PAYLOADS[name])
    start = offsets[1]
    for sector in range(start - start % 512, len(data), 512):
        damaged = bytearray(data)
        begin, end = max(start, sector), min(len(data), sector + 512)
        if end - begin - data[begin:end].count(0) < 2:
            continue  # one byte to lose: the same as a changed byte, so corrupt
        damaged[begin:end] = bytes(end - begin)
        assert damage_at(bytes(damaged), start).is_torn, sector


def test_damage_before_a_record_that_knew_it_synced_is_not_torn() -> None:
    for later_knows, is_torn in ((True, False), (False, True)):
        first = frame_record(b"a" * 1000, offset=START, durable_offset=START)
        end = START + len(first)
        second = frame_record(b"b", offset=end, durable_offset=end if later_knows else START)
        data = b"h" * START + first + second
        without_sector = data[:512] + bytes(512) + data[1024:]
        assert damage_at(without_sector, START).is_torn is is_torn
        without_header = data[:START] + bytes(512 - START) + data[512:]
        assert damage_at(without_header, START).is_torn is is_torn


def test_zeros_are_no_record() -> None:
    assert damage_at(b"h" * START + bytes(4096), START).is_torn


def test_limit_is_under_the_four_gib_of_the_length_field() -> None:
    assert RECORD_BYTES_MAX < 1 << 32
    assert HEADER_BYTES == 24
