"""A game that is written in Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Type as Class

from . import abi
from .abi import CField, CGame, Type

_TYPES = {
    **dict(zip("BHILQ", (Type.U8, Type.U16, Type.U32, Type.U64, Type.U64))),
    **dict(zip("bhilq", (Type.I8, Type.I16, Type.I32, Type.I64, Type.I64))),
    **{"f": Type.F32, "d": Type.F64},
}
if ctypes.sizeof(ctypes.c_long) == 4:
    _TYPES.update({"L": Type.U32, "l": Type.I32})


@dataclass(frozen=True)
class Slot:
    """One player's part of a tick: any bytes, from any machine."""

    bytes: bytes
    has_joined: bool
    has_left: bool


@dataclass(frozen=True)
class Inputs:
    """All players' parts of a tick, and what is fixed for the match."""

    tick: int
    seed: int
    tick_rate_hz: int
    slots: List[Slot]


Place = Tuple[str, Type, int, int, int, int]  # path, type, length, count, offset, stride


def _elements(kind: Any) -> Tuple[Any, int]:
    if issubclass(kind, ctypes.Array):
        return kind._type_, kind._length_
    return kind, 1


def _places(state: Any, prefix: str, offset: int, count: int, stride: int) -> Iterator[Place]:
    """The fields of a ctypes structure. Bytes between its members become padding."""
    end = 0
    rows = [row for kind in reversed(state.__mro__) for row in vars(kind).get("_fields_", ())]
    for name, kind, *bits in rows:
        if bits:
            raise TypeError(f"{prefix}{name}: a state holds whole numbers of bytes")
        member = getattr(state, name)
        path = prefix + name
        if member.offset > end:
            yield f"{path}_padding", Type.PADDING, member.offset - end, count, offset + end, stride
        end = member.offset + member.size
        element, length = _elements(kind)
        if issubclass(element, ctypes.Structure) and (count == 1 or length == 1):
            inner = ctypes.sizeof(element) if length > 1 else stride
            yield from _places(
                element, path + ".", offset + member.offset, max(count, length), inner
            )
        elif getattr(element, "_type_", None) in _TYPES:
            yield path, _TYPES[element._type_], length, count, offset + member.offset, stride
        else:
            raise TypeError(f"{path}: a state holds numbers, and arrays inside one array at most")
    if ctypes.sizeof(state) > end:
        size = ctypes.sizeof(state) - end
        yield f"{prefix}end_padding", Type.PADDING, size, count, offset + end, stride


def _mask_of(bits: bytes, input_bytes: int) -> Optional[ctypes.Array]:
    if len(bits) > input_bytes:
        raise ValueError(f"a mask of {len(bits)} bytes for an input of {input_bytes}")
    if not bits:
        return None
    return (ctypes.c_uint8 * input_bytes).from_buffer_copy(bits.ljust(input_bytes, b"\0"))


class Game:
    """A game of the caller's own: a ctypes structure as its state, and a step.

    `step(state, inputs)` changes the state by its own content and the inputs alone: no clock, no
    random numbers that are not in the state, and integers where machines of several kinds play
    together. `init(state, inputs)` fills the first one, which comes zeroed; its inputs have no
    slots. Machines play together where name, version, and the state's fields are the same; they may
    be written in different languages. `edges` and `buttons` are masks of an input's bits, as
    lockstep.h explains: an edge (a jump) is not repeated where an input comes too late."""

    def __init__(
        self,
        name: str,
        state: Class[ctypes.Structure],
        step: Callable[[Any, Inputs], None],
        *,
        init: Optional[Callable[[Any, Inputs], None]] = None,
        version: int = 1,
        tick_rate_hz: int = 60,
        players_max: int = 2,
        input_bytes: int = 1,
        units: Optional[Dict[str, str]] = None,
        edges: bytes = b"",
        buttons: bytes = b"",
    ) -> None:
        self.state = state
        self.failure: Optional[BaseException] = None  # of a function of the game
        places = list(_places(state, "", 0, 1, 0))
        units = units or {}
        self._fields = (CField * len(places))()
        for field, (path, *numbers) in zip(self._fields, places):
            field.path, field.unit = path.encode(), units.get(path, "").encode()
            field.type, field.length, field.count, field.offset, field.stride = numbers

        self._masks = [_mask_of(bits, input_bytes) for bits in (edges, buttons)]

        def run_init(user: Any, memory: int, setup: Any) -> None:
            first = Inputs(0, setup[0].seed, setup[0].tick_rate_hz, [])
            self._call(init, memory, lambda: first)

        def run_step(user: Any, memory: int, inputs: Any) -> None:
            self._call(step, memory, lambda: _inputs_of(inputs[0]))

        self.c_game = CGame(
            size=ctypes.sizeof(CGame),
            name=name.encode(),
            version=version,
            tick_rate_hz=tick_rate_hz,
            players_max=players_max,
            input_bytes=input_bytes,
            state_bytes=ctypes.sizeof(state),
            fields=self._fields,
            field_count=len(places),
            init=abi.INIT(run_init) if init else abi.INIT(),
            step=abi.STEP(run_step),
            edges=ctypes.cast(self._masks[0], ctypes.c_void_p),
            buttons=ctypes.cast(self._masks[1], ctypes.c_void_p),
        )

    def _call(self, function: Any, memory: int, inputs: Callable[[], Inputs]) -> None:
        """An exception must not leave through frames of C: the next call from Python raises it."""
        try:
            function(self.state.from_address(memory), inputs())
        except BaseException as failure:  # pylint: disable=broad-except
            self.failure = self.failure or failure

    def raise_failure(self) -> None:
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure


def _inputs_of(inputs: Any) -> Inputs:
    setup = inputs.setup[0]
    slots = [
        Slot(
            ctypes.string_at(slot.bytes, slot.size) if slot.size else b"",
            bool(slot.events & abi.JOINED),
            bool(slot.events & abi.LEFT),
        )
        for slot in inputs.slots[: setup.players]
    ]
    return Inputs(inputs.tick, setup.seed, setup.tick_rate_hz, slots)
