from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoray.storage.record import Damage, Record, frame_record, read_record
from memoray.storage.segment import SEGMENT_HEADER_BYTES, SegmentHeader, SegmentId, decode_segment_header
from memoray.storage.segment import encode_segment_header as encode

START = SEGMENT_HEADER_BYTES
# Payloads with long runs of zeros, as vectors have them.
runs = st.tuples(st.binary(max_size=40), st.integers(0, 1200)).map(lambda run: run[0] + bytes(run[1]))
payloads = st.lists(runs, min_size=1, max_size=4).map(b"".join).filter(bool)


@given(st.lists(payloads, min_size=1, max_size=6))
def test_records_read_back(written: list[bytes]) -> None:
    data = b"h" * START
    for payload in written:
        data += frame_record(payload, offset=len(data), durable_offset=len(data))
    offset, found = START, list[bytes]()
    while offset < len(data):
        record = read_record(data, offset)
        assert isinstance(record, Record)
        assert record.durable_offset == offset
        found.append(bytes(record.payload))
        offset = record.end
    assert found == written


@given(payloads, st.integers(0, 600), st.data())
def test_changed_byte_never_looks_torn_and_a_cut_always_does(payload: bytes, before: int, data: st.DataObject) -> None:
    start = START + before // 8 * 8
    file = b"h" * start + frame_record(payload, offset=start, durable_offset=start)
    place = data.draw(st.integers(start, len(file) - 1), label="place")
    value = data.draw(st.integers(0, 255).filter(lambda value: value != file[place]), label="value")
    changed = read_record(file[:place] + bytes([value]) + file[place + 1 :], start)
    assert isinstance(changed, Damage)
    assert not changed.is_torn
    if place > start:
        cut = read_record(file[:place], start)
        assert isinstance(cut, Damage)
        assert cut.is_torn


u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)


@given(st.builds(SegmentHeader, shard=u32, epoch=u64, part=u32, base_epoch=u64, base_seq=u64))
def test_segment_header_reads_back(header: SegmentHeader) -> None:
    segment = SegmentId(header.epoch, header.part)
    assert decode_segment_header(encode(header), path="p", shard=header.shard, segment=segment) == header
