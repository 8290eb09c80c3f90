"""lockstep.h for ctypes: its structs, numbers and functions, and the library that is loaded.

The environment variable LOCKSTEP_LIBRARY names the library's file; otherwise the system finds
liblockstep.so.0. Programs use the package itself, which hides all of this."""

from __future__ import annotations

import ctypes
import ctypes.util
import enum
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p

VERSION = "0.1.0"  # of the header that this is written after
PLAYERS_MAX = 128
INPUT_BYTES_MAX = 1024
NO_SLOT = 0xFFFFFFFF
JOINED = 1
LEFT = 2


class Kind(enum.IntEnum):
    CLIENT = 1
    HOST = 2
    SIM = 3


class Status(enum.IntEnum):
    OK = 0
    NO_MEMORY = -1
    IO = -2
    BAD_ARGUMENT = -3
    MALFORMED = -4
    FULL = -5
    NOT_FOUND = -6
    UNSUPPORTED = -7
    SCHEMA = -8
    PLUGIN = -9
    PROTOCOL_MISMATCH = -20
    SIMULATION_MISMATCH = -22
    CONTENT_MISMATCH = -26
    MATCH_FULL = -30
    ALREADY_OVER = -32
    TIMED_OUT = -33
    DESYNCED = -35
    DISCONNECTED = -37
    REFUSED = -38
    NOT_ADMITTED = -39
    KICKED = -40
    SAVED = -41
    UNREACHABLE = -42


class Type(enum.IntEnum):
    """What an element of a state is. FIXED and ANGLE count in 2^-32 (of a turn)."""

    PADDING = 0
    U8 = 1
    U16 = 2
    U32 = 3
    U64 = 4
    I8 = 5
    I16 = 6
    I32 = 7
    I64 = 8
    FIXED = 9
    ANGLE = 10
    F32 = 11
    F64 = 12


class EventKind(enum.IntEnum):
    LOG = 0
    CONNECTED = 1
    STARTED = 2
    JOINING = 3
    PLAYING = 4
    PLAYER_JOINED = 5
    PLAYER_LOST = 6
    PLAYER_LEFT = 7
    REFUSED_PEER = 8
    WAITING = 9
    LAG = 10
    CHAT = 11
    SAID = 12
    PAUSED = 13
    UNPAUSED = 14
    LOST = 15
    DESYNC = 16
    CAUSE = 17
    BUNDLE = 18
    HEALED = 19
    ENDED = 20
    OVER = 21


class ShapeKind(enum.IntEnum):
    DISC = 0
    BOX = 1
    LINE = 2
    TRIANGLE = 3
    TEXT = 5
    WHEEL = 6


class CField(ctypes.Structure):
    _fields_ = [
        ("path", c_char_p),
        ("unit", c_char_p),
        ("type", c_uint32),
        ("length", c_uint32),
        ("count", c_uint32),
        ("offset", c_size_t),
        ("stride", c_size_t),
    ]


class CSetup(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("seed", c_uint64),
        ("players", c_uint32),
        ("tick_rate_hz", c_uint32),
    ]


class CSlot(ctypes.Structure):
    _fields_ = [("bytes", c_void_p), ("size", c_uint32), ("events", c_uint32)]


class CInputs(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("setup", POINTER(CSetup)),
        ("slots", POINTER(CSlot)),
        ("tick", c_uint32),
        ("wrote", c_void_p),
        ("step", c_void_p),
    ]


INIT = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, POINTER(CSetup))
STEP = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, POINTER(CInputs))


class CGame(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("version", c_uint32),
        ("tick_rate_hz", c_uint32),
        ("players_max", c_uint32),
        ("input_bytes", c_uint32),
        ("state_bytes", c_size_t),
        ("fields", POINTER(CField)),
        ("field_count", c_size_t),
        ("init", INIT),
        ("step", STEP),
        ("user", c_void_p),
        ("edges", c_void_p),
        ("buttons", c_void_p),
        ("names_writes", c_uint32),
    ]


class CEvent(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int32),
        ("status", c_int32),
        ("slot", c_uint32),
        ("tick", c_uint32),
        ("text", c_char_p),
    ]


class CInfo(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("status", c_int32),
        ("is_running", c_int32),
        ("is_over", c_int32),
        ("slot", c_uint32),
        ("players", c_uint32),
        ("players_here", c_uint32),
        ("tick", c_uint32),
        ("tick_rate_hz", c_uint32),
        ("input_bytes", c_uint32),
        ("input_delay_ticks", c_uint32),
        ("desyncs", c_uint32),
        ("rollback_depth_max", c_uint32),
        ("port", c_uint32),
        ("rtt_ms", c_double),
        ("lost_percent", c_double),
        ("stalled_ticks", c_uint64),
        ("rollback_ticks", c_uint64),
        ("bytes_up", c_uint64),
        ("bytes_down", c_uint64),
        ("sim", c_char_p),
        ("invite", c_char_p),
    ]


class CPlayer(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("is_here", c_int32),
        ("is_desynced", c_int32),
        ("agreed_tick", c_uint32),
        ("ticks_behind", c_uint32),
        ("rtt_ms", c_double),
        ("inputs_late", c_uint64),
        ("name", c_char_p),
    ]


class CView(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("state", c_void_p),
        ("previous", c_void_p),
        ("state_bytes", c_size_t),
        ("tick", c_uint32),
        ("alpha", c_double),
    ]


class CShape(ctypes.Structure):
    """A part of a picture: kind is a ShapeKind, colour 0xRRGGBBAA, slot NO_SLOT or its owner."""

    _fields_ = [
        ("kind", c_int32),
        ("id", c_uint32),
        ("colour", c_uint32),
        ("slot", c_uint32),
        ("x", c_float),
        ("y", c_float),
        ("half_width", c_float),
        ("half_height", c_float),
        ("angle", c_float),
        ("corners", c_float * 6),
        ("text", c_char * 64),
    ]


STRUCTS = (CField, CSetup, CSlot, CInputs, CGame, CEvent, CInfo, CPlayer, CView, CShape)
_TEXTS = POINTER(c_char_p)

# What each function gives, and what it takes.
FUNCTIONS = {
    "version": (c_char_p,),
    "status_name": (c_char_p, c_int),
    "create": (c_void_p, c_int, POINTER(CGame)),
    "set": (c_int, c_void_p, c_char_p, c_char_p),
    "setting": (c_int, c_int, c_uint32, _TEXTS, _TEXTS, _TEXTS),
    "start": (c_int, c_void_p),
    "frame": (c_int, c_void_p, c_uint32),
    "end": (c_int, c_void_p, c_int),
    "close": (c_int, c_void_p),
    "error": (c_char_p, c_void_p),
    "poll": (c_int, c_void_p, POINTER(CEvent)),
    "get_info": (c_int, c_void_p, POINTER(CInfo)),
    "get_player": (c_int, c_void_p, c_uint32, POINTER(CPlayer)),
    "say": (c_int, c_void_p, c_char_p),
    "get_view": (c_int, c_void_p, POINTER(CView)),
    "find_field": (c_int, c_void_p, c_char_p, c_uint32, POINTER(CField)),
    "draw": (c_int, c_void_p, POINTER(CShape), c_size_t, c_uint32),
    "input": (c_int, c_void_p, c_void_p, c_uint32, c_int),
    "kick": (c_int, c_void_p, c_uint32, c_char_p),
    "pause": (c_int, c_void_p, c_int, c_char_p),
    "step": (c_int, POINTER(c_void_p), c_size_t, c_void_p, POINTER(c_uint32)),
    "save": (c_int64, c_void_p, c_void_p, c_size_t),
    "load": (c_int, c_void_p, c_void_p, c_size_t, c_uint32),
    "check_steps": (c_int, c_void_p, c_uint32),
    "hash": (c_uint64, c_void_p),
}


class _Number(c_uint32):
    """An argument of which ctypes by itself would take the lowest bits: -5 as 4,294,967,291."""

    @classmethod
    def from_param(cls, value: int) -> c_uint32:
        if not 0 <= value <= NO_SLOT:
            raise ValueError(f"a number from 0 to {NO_SLOT} is needed, not {value}")
        return c_uint32(value)


def load() -> ctypes.CDLL:
    """The library, with its functions declared."""
    path = os.environ.get("LOCKSTEP_LIBRARY") or ctypes.util.find_library("lockstep")
    library = ctypes.CDLL(path or "liblockstep.so.0")
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(library, "lockstep_" + name)
        function.restype = result
        function.argtypes = [_Number if one is c_uint32 else one for one in arguments]
    there = library.lockstep_version().decode()
    numbers = [int(number) for number in there.split(".")]
    own = [int(number) for number in VERSION.split(".")]
    if numbers[0] != own[0] or numbers < own:
        raise ImportError(f"{library._name} is version {there}, and this package needs {VERSION}")
    return library
