"""Deterministic lockstep matches and simulations, over liblockstep.so.0.

    with lockstep.Host(sim="arena", players=2) as host:
        print(host.invite)
        for event in host.run():
            print(event.text)

Settings are keyword arguments with the names of the programs' flags, `_` for `-`; settings(kind)
lists them. A call that fails raises lockstep.Error with its status and a sentence."""

from __future__ import annotations

import atexit
import ctypes
import os
import weakref
from dataclasses import dataclass, fields as members
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import abi
from .abi import EventKind, Kind, ShapeKind, Status, Type
from .fields import Field, Number
from .game import Game, Inputs, Slot

__all__ = [
    "Batch", "Client", "Environment", "Error", "Event", "EventKind", "Field", "Game", "Host",
    "Info", "Inputs", "Kind", "Number", "Player", "ShapeKind", "Simulation", "Slot", "Status",
    "Type", "settings", "step_many", "version",
]

_library = abi.load()
Sim = Union[str, "os.PathLike[str]", Game, None]


class Error(Exception):
    """A call that failed: `status`, a Status where it has a name here, and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        name = _library.lockstep_status_name(status).decode()
        super().__init__(f"{name}: {sentence}" if sentence else name)
        self.status: int = _named(Status, status)
        self.sentence = sentence


@dataclass(frozen=True)
class Event:
    """Something that has happened; `text` says it to a person."""

    kind: int  # an EventKind, or a newer library's number
    status: int
    slot: Optional[int]
    tick: int
    text: str


@dataclass(frozen=True)
class Info:
    """How a handle is now; lockstep.h says what belongs to which kind."""

    status: int
    is_running: bool
    is_over: bool
    slot: Optional[int]
    players: int
    players_here: int
    tick: int
    tick_rate_hz: int
    input_bytes: int
    input_delay_ticks: int
    desyncs: int
    rollback_depth_max: int
    port: int
    rtt_ms: float
    lost_percent: float
    stalled_ticks: int
    rollback_ticks: int
    bytes_up: int
    bytes_down: int
    sim: str
    invite: str


@dataclass(frozen=True)
class Player:
    """A player, as a host or a client sees it."""

    is_here: bool
    is_desynced: bool
    agreed_tick: int
    ticks_behind: int
    rtt_ms: float
    inputs_late: int
    name: str


def _named(kind: Any, number: int) -> int:
    try:
        return kind(number)
    except ValueError:
        return number


def _plain(kind: Any, struct: Any) -> Any:
    """A dataclass with the members of a C struct."""
    values = {}
    for member in members(kind):
        value = getattr(struct, member.name)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif member.name == "slot" and value == abi.NO_SLOT:
            value = None
        elif member.name.startswith("is_"):
            value = bool(value)
        elif member.name == "status":
            value = _named(Status, value)
        elif kind is Event and member.name == "kind":
            value = _named(EventKind, value)
        values[member.name] = value
    return kind(**values)


def version() -> str:
    """The library's version."""
    return _library.lockstep_version().decode()


def settings(kind: Kind) -> Dict[str, Tuple[str, str]]:
    """What each setting of a kind of handle takes, and its help."""
    found = {}
    name, takes, text = (ctypes.c_char_p() for _ in range(3))
    while _library.lockstep_setting(kind, len(found), name, takes, text) == Status.OK:
        found[name.value.decode()] = (takes.value.decode(), text.value.decode())
    return found


def _values(name: str, value: Any) -> Iterator[str]:
    """The texts of a setting; a mapping (param) and a list are many."""
    if isinstance(value, Mapping):
        yield from (f"{key}={one}" for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _values(name, one)
    elif isinstance(value, bool):
        yield "on" if value else "off"
    else:
        yield os.fspath(value) if isinstance(value, os.PathLike) else str(value)


class _Handle:
    """What client, host and simulation share. Started by its constructor, closed by `with`."""

    _kind: Kind
    _closed = 0  # handles so far, for whoever keeps handles of others
    _open: "weakref.WeakSet[_Handle]" = weakref.WeakSet()
    _left: List[Optional[Game]] = []  # of handles that could not be closed any more

    def __init__(self, sim: Sim, options: Mapping[str, Any]) -> None:
        self._game = sim if isinstance(sim, Game) else None
        game = ctypes.byref(self._game.c_game) if self._game else None
        self._handle: Optional[int] = _library.lockstep_create(self._kind, game)
        if self._handle is None:
            raise Error(Status.BAD_ARGUMENT, "no such game, or no memory")
        _Handle._open.add(self)
        try:
            if sim is not None and self._game is None:
                self._set("sim", sim)
            for name, value in options.items():
                self._set(name.replace("_", "-"), value)
            self._check(_library.lockstep_start(self._handle))
        except BaseException:
            self.close()
            raise

    def _set(self, name: str, value: Any) -> None:
        for text in _values(name, value):
            self._check(_library.lockstep_set(self._handle, name.encode(), text.encode()))

    def _check(self, result: int) -> int:
        if self._game is not None and self._game.failure is not None:
            self._game.raise_failure()
        if result < 0:
            if self._handle is None:
                raise Error(Status.BAD_ARGUMENT, "the handle is closed")
            raise Error(result, _library.lockstep_error(self._handle).decode(errors="replace"))
        return result

    def close(self) -> None:
        """Ends at once what has not ended. May be called again."""
        if getattr(self, "_handle", None) is not None:
            result = _library.lockstep_close(self._handle)
            if result < 0:  # within a step of its own
                raise Error(result, _library.lockstep_error(self._handle).decode())
            _Handle._closed += 1
            self._handle = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *reason: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Error:  # within a step of its own, which goes on
            _Handle._left.append(self._game)

    @property
    def info(self) -> Info:
        info = abi.CInfo(size=ctypes.sizeof(abi.CInfo))
        self._check(_library.lockstep_get_info(self._handle, info))
        return _plain(Info, info)

    def hash(self) -> int:
        """The hash by which machines compare a state: that of the tick of `info`."""
        found = _library.lockstep_hash(self._handle)
        self._check(0 if found else int(Status.NOT_FOUND))
        return found


@atexit.register
def _close_all() -> None:
    """The thread of a handle may be in a step of Python, which ends before the interpreter does."""
    for handle in list(_Handle._open):
        handle.close()


class _Stateful(_Handle):
    """Client and simulation: their states can be looked at."""

    def _view(self) -> abi.CView:
        view = abi.CView(size=ctypes.sizeof(abi.CView))
        self._check(_library.lockstep_get_view(self._handle, view))
        return view

    @staticmethod
    def _memory(address: int, size: int) -> memoryview:
        return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B").toreadonly()

    @property
    def state(self) -> memoryview:
        """The newest state, borrowed: it must not be read after the next frame, step, load or
        close. bytes(x.state) is a copy, numpy.frombuffer(x.state, "u1") a view."""
        view = self._view()
        return self._memory(view.state, view.state_bytes)

    @property
    def view(self) -> Tuple[memoryview, memoryview, float]:
        """The state before, the newest one, and how far between them the picture is (0 to 1)."""
        view = self._view()
        size = view.state_bytes
        return self._memory(view.previous, size), self._memory(view.state, size), view.alpha

    def fields(self) -> List[Field]:
        """All fields of the state."""
        found: List[Field] = []
        field = abi.CField()
        while True:
            result = _library.lockstep_find_field(self._handle, None, len(found), field)
            if result == Status.NOT_FOUND and found:
                return found
            self._check(result)
            found.append(Field.of(field))

    def field(self, path: str) -> Field:
        """Where a field lies, by its path."""
        field = abi.CField()
        self._check(_library.lockstep_find_field(self._handle, path.encode(), 0, field))
        return Field.of(field)

    def __getitem__(self, path: str) -> List[Number]:
        """The values of a field in the newest state."""
        return self.field(path).read(self.state)

    def array(self, path: str) -> Any:
        """A field of the newest state as a NumPy array, borrowed as `state` is."""
        return self.field(path).array(self.state)


class Simulation(_Stateful):
    """One simulation by itself: a built-in by its name, a plug-in by its file, or a Game."""

    _kind = Kind.SIM

    def __init__(self, sim: Sim, **options: Any) -> None:
        super().__init__(sim, options)
        info = self.info
        self.players, self.input_bytes = info.players, info.input_bytes

    def step(self, inputs: Sequence[bytes] = ()) -> None:
        """One tick, with the bytes of each slot; those that are left out give none."""
        if len(inputs) > self.players or any(len(one) > self.input_bytes for one in inputs):
            limits = f"{self.players} slots give up to {self.input_bytes} bytes each"
            raise Error(Status.BAD_ARGUMENT, limits)
        sizes = (ctypes.c_uint32 * self.players)(*map(len, inputs))
        laid = b"".join(bytes(one).ljust(self.input_bytes, b"\0") for one in inputs)
        laid = laid.ljust(self.players * self.input_bytes, b"\0")
        handle = ctypes.c_void_p(self._handle)
        result = _library.lockstep_step(handle, 1, laid, sizes)
        self._check(result if self._handle is not None else -1)

    def save(self) -> bytes:
        """The state, the same bytes on every kind of machine."""
        size = self._check(_library.lockstep_save(self._handle, None, 0))
        saved = ctypes.create_string_buffer(size)
        self._check(_library.lockstep_save(self._handle, saved, size))
        return saved.raw

    def load(self, saved: bytes, tick: int) -> None:
        """Puts a saved state in the place of this one; `tick` is its number from now on."""
        self._check(_library.lockstep_load(self._handle, saved, len(saved), tick))

    def rewind(self) -> None:
        """State 0, as it was at the start."""
        self._check(_library.lockstep_load(self._handle, None, 0, 0))

    def check_steps(self, ticks: int = 600) -> None:
        """Plays ticks of random inputs from the start, each step twice; raises an Error with
        DESYNCED and the field when they differ. The simulation itself stays where it is."""
        self._check(_library.lockstep_check_steps(self._handle, ticks))


class Batch:
    """Simulations that are stepped together, again and again, in one call a tick."""

    def __init__(self, simulations: Sequence[Simulation]) -> None:
        self.simulations = tuple(simulations)
        self.input_bytes = sum(one.players * one.input_bytes for one in self.simulations)
        self.slots = sum(one.players for one in self.simulations)
        self._games = {id(one._game): one for one in self.simulations if one._game is not None}
        self._handles = (ctypes.c_void_p * len(self.simulations))()
        self._take_handles()

    def _take_handles(self) -> None:
        self._closed = _Handle._closed
        for place, one in enumerate(self.simulations):
            one._check(0 if one._handle is not None else -1)
            self._handles[place] = one._handle

    def step(self, inputs: Any, sizes: Optional[Sequence[int]] = None) -> None:
        """One tick of each. `inputs` is a buffer (bytes, a bytearray, a NumPy array) of
        `input_bytes`: for each simulation its slots, as many bytes for each as it takes at most.
        `sizes` has how many of them each slot uses; without it, all."""
        if self._closed != _Handle._closed:
            self._take_handles()
        if not isinstance(inputs, bytes):
            laid = memoryview(inputs).cast("B")
            whole = ctypes.c_ubyte * len(laid)
            inputs = bytes(laid) if laid.readonly else whole.from_buffer(laid)
        if len(inputs) != self.input_bytes or (sizes is not None and len(sizes) != self.slots):
            raise Error(
                Status.BAD_ARGUMENT,
                f"inputs are {self.input_bytes} bytes, not {len(inputs)}, and sizes {self.slots}",
            )
        used = (ctypes.c_uint32 * self.slots)(*sizes) if sizes is not None else None
        count = len(self.simulations)
        result = _library.lockstep_step(self._handles, count, inputs, used)
        for one in self._games.values():
            one._game.raise_failure()
        if result < 0:
            # The sentence is that of the simulation that could not be stepped.
            texts = (_library.lockstep_error(one._handle) for one in self.simulations)
            raise Error(result, next(filter(None, texts), b"").decode())


def step_many(
    simulations: Sequence[Simulation], inputs: Any, sizes: Optional[Sequence[int]] = None
) -> None:
    """Steps many simulations once, in one call. Who does so every tick keeps a Batch."""
    Batch(simulations).step(inputs, sizes)


class _Match(_Handle):
    """Client and host: what belongs to a match."""

    def frame(self, wait_ms: int = 16) -> bool:
        """Works for up to wait_ms, until something happens. False: it is over, and `events` has the
        rest. Raises Error when it ended early."""
        return self._check(_library.lockstep_frame(self._handle, max(wait_ms, 0))) > 0

    def events(self) -> Iterator[Event]:
        """What has happened and was not asked for yet."""
        event = abi.CEvent(size=ctypes.sizeof(abi.CEvent))
        while self._check(_library.lockstep_poll(self._handle, event)) > 0:
            yield _plain(Event, event)

    def run(self, wait_ms: int = 16) -> Iterator[Event]:
        """Frames until it is over, with all that happens. Raises Error when it ended early."""
        try:
            while self.frame(wait_ms):
                yield from self.events()
        finally:
            left = list(self.events()) if self._handle is not None else []
        yield from left

    def say(self, text: str) -> None:
        """Says something to everybody in the match."""
        self._check(_library.lockstep_say(self._handle, text.encode()))

    def player(self, slot: int) -> Player:
        """NOT_FOUND is raised for a slot that there is not, or not yet."""
        player = abi.CPlayer(size=ctypes.sizeof(abi.CPlayer))
        self._check(_library.lockstep_get_player(self._handle, slot, player))
        return _plain(Player, player)


class Host(_Match):
    """Hosts a match. Its frames have to be run, unless thread=True."""

    _kind = Kind.HOST

    def __init__(self, sim: Sim, **options: Any) -> None:
        super().__init__(sim, options)

    @property
    def invite(self) -> str:
        """One line that a player gives to Client."""
        return self.info.invite

    def kick(self, slot: int, why: str) -> None:
        """Sends a player away, with a sentence that it reads."""
        self._check(_library.lockstep_kick(self._handle, slot, why.encode()))

    def pause(self, why: str = "") -> None:
        """Halts the match, with a sentence that all read."""
        self._check(_library.lockstep_pause(self._handle, 1, why.encode()))

    def resume(self, why: str = "") -> None:
        """Lets a match that was halted go on."""
        self._check(_library.lockstep_pause(self._handle, 0, why.encode()))

    def end(self) -> None:
        """Ends the match at its newest tick; frames go on until everybody knows."""
        self._check(_library.lockstep_end(self._handle, 0))

    def save(self) -> None:
        """Ends the match so that the setting `resume` goes on with its journal another time."""
        self._check(_library.lockstep_end(self._handle, 1))


class Client(_Match, _Stateful):
    """Plays in, or watches, a match that somebody hosts: by its invite, or HOST[:PORT]."""

    _kind = Kind.CLIENT

    def __init__(self, server: str, sim: Sim = None, **options: Any) -> None:
        super().__init__(sim, {"server": server, **options})

    def input(self, keys: bytes, once: bool = False) -> None:
        """This player's input from now on; with `once` for one tick alone."""
        self._check(_library.lockstep_input(self._handle, keys, len(keys), once))

    def draw(self, capacity: int = 4096) -> List[abi.CShape]:
        """The picture of this frame, as the game itself draws it."""
        shapes = (abi.CShape * capacity)()
        size = ctypes.sizeof(abi.CShape)
        return shapes[: self._check(_library.lockstep_draw(self._handle, shapes, size, capacity))]

    def leave(self) -> None:
        """Leaves the match; frames go on until the host knows."""
        self._check(_library.lockstep_end(self._handle, 0))


from .environment import Environment  # noqa: E402  (which is made of the above)
