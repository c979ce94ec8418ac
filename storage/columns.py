"""Files of named columns in Arrow's IPC format: written once, then mapped; a column is a view of the mapped file.

A column is a numpy array (one dimension, or two for vectors) or a `Binary` of byte strings of any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from memoray.errors import CorruptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]

META = b"memoray"


class Binary:
    """Byte strings by row, without a Python object for each."""

    def __init__(self, column: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        """View a column; it has no nulls."""
        self.column = column
        _, offsets, data = column.buffers()
        start = column.offset
        self._offsets: npt.NDArray[np.int64] = np.frombuffer(offsets, np.int64)[start : start + len(column) + 1]
        self._data = memoryview(b"" if data is None else data)

    @classmethod
    def of(cls, values: Sequence[bytes]) -> Binary:
        """A column of these values."""
        return cls(pa.array(values, pa.large_binary()))

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, row: int) -> bytes:
        """The value of a row, from 0."""
        offsets = self._offsets
        return bytes(self._data[offsets[row] : offsets[row + 1]])

    def find(self, value: bytes, start: int, end: int) -> int:
        """Row of a value among rows [start, end), which are sorted bytewise; -1 if it is not there."""
        low, high = start, end
        while low < high:
            middle = (low + high) // 2
            if self[middle] < value:
                low = middle + 1
            else:
                high = middle
        return low if low < end and self[low] == value else -1

    def followed_by(self, values: Sequence[bytes], order: Array) -> Binary:
        """Rows `order` of this column with more values behind it."""
        joined = pa.concat_arrays([self.column, pa.array(values, pa.large_binary())])
        return Binary(joined.take(pa.array(order, pa.int64())))


def write_columns(path: Path, columns: Mapping[str, Array | Binary], meta: bytes) -> None:
    """Write a file; not synced. The columns may differ in length; `meta` comes back as it is.

    Raises:
        OSError: the file system refused.
    """
    # One record batch has one length, so each column is a list with one item.
    fields: list[Any] = []
    arrays: list[Any] = []
    for name, column in columns.items():
        values = column.column if isinstance(column, Binary) else _to_arrow(column)
        kind = pa.large_list(values.type)
        fields.append(pa.field(name, kind))
        arrays.append(pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values))
    schema = pa.schema(fields, metadata={META: meta})
    with path.open("wb") as file, pa.ipc.new_file(pa.PythonFile(file, "w"), schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))


def read_columns(path: Path) -> tuple[dict[str, Any], bytes]:
    """Map a file that `write_columns` wrote: its columns, read-only, and its meta.

    Raises:
        CorruptionError: it is no such file.
        OSError: it cannot be read.
    """
    try:
        source = pa.memory_map(str(path))
        reader = pa.ipc.open_file(source)
        batch = reader.get_batch(0)
        meta = (reader.schema.metadata or {})[META]
    except (pa.ArrowInvalid, KeyError, IndexError) as error:
        raise CorruptionError(str(path), 0, expected="a file of columns", found=str(error)) from error
    return {name: _view(batch.column(name).values) for name in reader.schema.names}, meta


def _to_arrow(array: Array) -> Any:  # noqa: ANN401 - pyarrow has no types
    if array.dtype.kind == "S":
        width = max(array.dtype.itemsize, 1)
        return pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), len(array), [None, pa.py_buffer(np.ascontiguousarray(array, f"S{width}"))]
        )
    if array.ndim == 2:  # noqa: PLR2004 - rows of numbers
        flat = pa.array(np.ascontiguousarray(array).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
    return pa.array(np.ascontiguousarray(array))


def _view(values: Any) -> Array | Binary:  # noqa: ANN401 - likewise
    if pa.types.is_large_binary(values.type):
        return Binary(values)
    if pa.types.is_fixed_size_binary(values.type):
        width = values.type.byte_width
        raw: Array = np.frombuffer(values.buffers()[1], f"S{width}") if len(values) else np.empty(0, f"S{width}")
        return raw[values.offset : values.offset + len(values)]
    if pa.types.is_fixed_size_list(values.type):
        width = values.type.list_size
        flat: Array = values.values.to_numpy(zero_copy_only=True)
        return flat[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)
    array: Array = values.to_numpy(zero_copy_only=True)
    return array


class Keys:
    """Sorted ASCII keys of one range of rows."""

    def __init__(self, column: Array, start: int, end: int) -> None:
        """View rows [start, end) of a column of fixed-width byte strings, sorted in that range."""
        self._keys = column[start:end]

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, row: int) -> str:
        """Key of a row of the range, from 0."""
        key: bytes = self._keys[row]
        return key.decode()

    def __iter__(self) -> Iterator[str]:
        return (key.decode() for key in self._keys.tolist())

    def find(self, key: str) -> int:
        """Row of a key; -1 if it is not there."""
        if not key.isascii() or not len(self._keys):
            return -1
        encoded = key.encode()
        row = int(self._keys.searchsorted(encoded))
        return row if row < len(self._keys) and self._keys[row] == encoded else -1
