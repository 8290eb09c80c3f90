"""Where the values of a state lie, and how they are read."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, List, Union

from .abi import CField, Type

Number = Union[int, float]

# How struct and NumPy name each type.
_CODES = {
    Type.U8: ("B", "u1"),
    Type.U16: ("H", "u2"),
    Type.U32: ("I", "u4"),
    Type.U64: ("Q", "u8"),
    Type.I8: ("b", "i1"),
    Type.I16: ("h", "i2"),
    Type.I32: ("i", "i4"),
    Type.I64: ("q", "i8"),
    Type.FIXED: ("q", "i8"),
    Type.ANGLE: ("I", "u4"),
    Type.F32: ("f", "f4"),
    Type.F64: ("d", "f8"),
    Type.PADDING: ("B", "u1"),
}
_SCALED = (Type.FIXED, Type.ANGLE)


@dataclass(frozen=True)
class Field:
    """Elements of one type: `length` neighbouring ones in each of `count` items."""

    path: str
    unit: str
    type: Type
    length: int
    count: int
    offset: int
    stride: int

    @classmethod
    def of(cls, field: CField) -> "Field":
        return cls(
            field.path.decode(),
            field.unit.decode(),
            Type(field.type),
            field.length,
            field.count,
            field.offset,
            field.stride,
        )

    def read(self, state: Any, raw: bool = False) -> List[Number]:
        """All elements, item by item. FIXED comes as its value and ANGLE in turns, both exactly
        enough to look at; with `raw` as the integers that the state holds."""
        form = struct.Struct(f"={self.length}{_CODES[self.type][0]}")
        values: List[Number] = []
        for item in range(self.count):
            values += form.unpack_from(state, self.offset + item * self.stride)
        if self.type in _SCALED and not raw:
            return [value / 2**32 for value in values]
        return values

    def array(self, state: Any) -> Any:
        """A NumPy array over the state itself, of count rows and length columns, with the integers
        that the state holds. Nothing is copied."""
        import numpy

        code = _CODES[self.type][1]
        return numpy.ndarray(
            (self.count, self.length),
            dtype=code,
            buffer=state,
            offset=self.offset,
            strides=(self.stride, numpy.dtype(code).itemsize),
        )
