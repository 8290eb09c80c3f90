# The game of game.c, whose step is the plug-in game.so, hosted or played from Godot.
# LOCKSTEP_ARGUMENTS is "PLAYERS TICKS", to host, or "INVITE", to play.
extends SceneTree

const LEFT = 1
const RIGHT = 2
const JUMP = 4


func _init():
    var arguments = OS.get_environment("LOCKSTEP_ARGUMENTS").split(" ")
    var lockstep = preload("res://lockstep.gd").new()
    var is_host = arguments.size() > 1
    var settings = {"server": arguments[0]}
    if is_host:
        settings = {"players": arguments[0], "ticks": arguments[1]}
    var kind = lockstep.HOST if is_host else lockstep.CLIENT
    var held = 0
    var result = 1 if lockstep.open(kind, "./game.so", settings) else -1
    if is_host and result > 0:
        print(lockstep.invite())
    while result > 0:
        result = lockstep.frame(16)
        if not is_host and lockstep.tick() >= 0:
            var keys = LEFT if lockstep.tick() / 60 % 2 else RIGHT
            if keys != held:
                lockstep.input([keys | JUMP], true)  # in one tick
            lockstep.input([keys])  # from now on
            held = keys
        var text = lockstep.poll()
        while text != null:
            print(text)
            text = lockstep.poll()
    if not is_host and lockstep.tick() >= 0:
        print("tick %d: the first ship is at %d mm" % [lockstep.tick(), lockstep.field("ships.place")])
    if result < 0:
        print(lockstep.error)
    lockstep.close()
    quit(1 if result < 0 else 0)
