// The game of game.c in C#. It plays with those of the other languages, with equal hashes.
// usage: game.exe PLAYERS TICKS hosts, game.exe INVITE plays.
using System;
using System.Runtime.InteropServices;
using Lockstep;

struct Ship
{
    [Unit("mm")] public int place;
    [Unit("mm/tick")] public int speed;
}

[StructLayout(LayoutKind.Sequential, Size = 4 * 8)]
struct State
{
    [Items(4)] public Ship ships; // the first of them
}

unsafe class Ships : Game
{
    public const byte Left = 1, Right = 2, Jump = 4;

    public Ships() : base("ships", typeof(State), playersMax: 4, edges: new[] { Jump },
                          buttons: new[] { (byte)(Left | Right) }) { }

    protected override void Step(void* state, Inputs inputs)
    {
        Ship* ships = &((State*)state)->ships;
        for (int i = 0; i < inputs.Players; i++) {
            int keys = inputs.Byte(i);
            ships[i].speed += ((keys & Right) != 0 ? 1 : 0) - ((keys & Left) != 0 ? 1 : 0);
            ships[i].place += ships[i].speed + ((keys & Jump) != 0 ? 1000 : 0);
        }
    }
}

static unsafe class Program
{
    static void PrintEvents(Handle handle)
    {
        Event happened;
        while (handle.Poll(out happened))
            Console.WriteLine(happened.Text);
    }

    static void Host(string players, string ticks)
    {
        using (var host = new Host(new Ships(), "players=" + players, "ticks=" + ticks)) {
            Console.WriteLine(host.Invite);
            bool goesOn = true;
            while (goesOn) {
                goesOn = host.Frame(16);
                PrintEvents(host);
            }
        }
    }

    static void Play(string invite)
    {
        using (var client = new Client(invite, new Ships())) {
            byte held = 0;
            lockstep_view view;
            bool goesOn = true;
            while (goesOn) {
                goesOn = client.Frame(16);
                if (client.TryView(out view)) {
                    // Draw the ships here, view.alpha of the way from view.previous to view.state.
                    byte keys = view.tick / 60 % 2 != 0 ? Ships.Left : Ships.Right;
                    if (keys != held)
                        client.Input((byte)(keys | Ships.Jump), true); // in one tick
                    client.Input(keys, false); // from now on
                    held = keys;
                }
                PrintEvents(client);
            }
            if (client.TryView(out view))
                Console.WriteLine("tick {0}: the first ship is at {1} mm", view.tick,
                                  ((State*)view.state)->ships.place);
        }
    }

    static int Main(string[] arguments)
    {
        try {
            if (arguments.Length > 1)
                Host(arguments[0], arguments[1]);
            else
                Play(arguments.Length > 0 ? arguments[0] : "");
            return 0;
        } catch (LockstepException error) {
            Console.WriteLine(error.Message);
            return 1;
        }
    }
}
