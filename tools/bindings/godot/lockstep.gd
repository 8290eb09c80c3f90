# A host, a client or a simulation over liblockstep. docs/godot.md is the page for those who use it.
extends Reference

const CLIENT = 1
const HOST = 2

var error = ""  # why the newest call failed
var _library = GDNative.new()
var _handle = 0


# `sim`: a built-in's name or a plug-in's file. Settings are the flags of the programs by their
# names, without the dashes: {"players": 2}.
func open(kind, sim, settings):
    _library.library = load("res://lockstep.gdnlib")
    if not _library.initialize():
        error = "liblockstep_godot.so does not load"
        return false
    var lines = PoolStringArray()
    for name in settings:
        lines.append("%s=%s" % [name, settings[name]])
    _handle = _call("open", [kind, sim, lines.join("\n")])
    error = _call("error", [_handle])
    return error == ""


func _call(name, arguments):
    return _library.call_native("standard_varcall", "lockstep_gd_" + name, arguments)


# Works for up to so many milliseconds: 1, or 0 once it is over; negative: `error` says why.
func frame(wait_ms):
    var result = _call("frame", [_handle, wait_ms])
    if result < 0:
        error = _call("error", [_handle])
    return result


# This player's input from now on; with `once` of one tick alone.
func input(bytes, once = false):
    return _call("input", [_handle, PoolByteArray(bytes), int(once)])


# What has happened, as a text; null: nothing more.
func poll():
    return _call("poll", [_handle])


# The tick of the newest state; -1: there is none yet.
func tick():
    return _call("tick", [_handle])


# Element `number` of a field of that state, as in field("ships.place", 2).
func field(path, number = 0):
    return _call("field", [_handle, path, number])


func invite():
    return _call("invite", [_handle])


func state_hash():
    return _call("hash", [_handle])


func close():
    _call("close", [_handle])
    _library.terminate()
    _handle = 0
