from __future__ import annotations

import struct
from zlib import crc32

import pytest

from memoray.errors import CorruptionError, InvalidRequestError
from memoray.storage.segment import (
    SEGMENT_HEADER_BYTES,
    SegmentHeader,
    SegmentId,
    claim_name,
    decode_segment_header,
    encode_segment_header,
    parse_claim_name,
    parse_segment_name,
    segment_name,
)

HEADER = SegmentHeader(shard=3, epoch=7, part=2, base_epoch=6, base_seq=500)


def decode(data: bytes, *, shard: int = 3, segment: SegmentId = SegmentId(7, 2)) -> SegmentHeader | None:  # noqa: B008 - immutable
    return decode_segment_header(data, path="p", shard=shard, segment=segment)


def test_layout_encoded_by_hand() -> None:
    fields = (
        b"memoray\n"
        b"\x01\x00\x00\x00"  # format version
        b"\x03\x00\x00\x00"  # shard
        b"\x07\x00\x00\x00\x00\x00\x00\x00"  # epoch
        b"\x06\x00\x00\x00\x00\x00\x00\x00"  # base_epoch
        b"\xf4\x01\x00\x00\x00\x00\x00\x00"  # base_seq
        b"\x02\x00\x00\x00"  # part
    )
    assert encode_segment_header(HEADER) == fields + struct.pack("<I", crc32(fields))
    assert decode(encode_segment_header(HEADER)) == HEADER
    assert len(encode_segment_header(HEADER)) == SEGMENT_HEADER_BYTES


def test_unfinished_header_is_none() -> None:
    data = encode_segment_header(HEADER)
    assert [decode(data[:end]) for end in range(len(data))] == [None] * len(data)
    assert decode(bytes(100)) is None


def test_any_changed_byte_is_corruption() -> None:
    data = encode_segment_header(HEADER)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        with pytest.raises(CorruptionError) as caught:
            decode(bytes(damaged))
        assert (caught.value.path, caught.value.offset) == ("p", 0)


def test_header_of_another_file_is_corruption() -> None:
    data = encode_segment_header(HEADER)
    for shard, segment in ((4, SegmentId(7, 2)), (3, SegmentId(8, 2)), (3, SegmentId(7, 1))):
        with pytest.raises(CorruptionError, match="shard, epoch, part"):
            decode(data, shard=shard, segment=segment)


def test_later_format_is_named() -> None:
    fields = bytearray(encode_segment_header(HEADER)[:-4])
    fields[8] = 9
    with pytest.raises(InvalidRequestError, match="format version 9"):
        decode(bytes(fields) + struct.pack("<I", crc32(fields)))


def test_names_sort_as_the_numbers_do_and_parse_back() -> None:
    ids = [SegmentId(epoch, part) for epoch in (1, 9, 10, 12345678) for part in (0, 9, 10, 9999)]
    names = [segment_name(*segment) for segment in ids]
    assert names == sorted(names)
    assert [parse_segment_name(name) for name in names] == ids
    assert parse_claim_name(claim_name(17)) == 17


@pytest.mark.parametrize(
    "name", ["", "x", "00000001.claim.0.tmp", "00000001-0000.segment.0.tmp", "1.claim", "snapshot"]
)
def test_other_names_are_nothing(name: str) -> None:
    assert parse_claim_name(name) is None
    assert parse_segment_name(name) is None
