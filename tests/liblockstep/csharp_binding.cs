// The C# binding's own tests, with the game of docs/examples/game.cs.
// usage: csharp_binding.exe [rate NAME|ships STEPS]
using System;
using System.Diagnostics;
using System.Runtime.InteropServices;
using Lockstep;

struct Inner { public byte a; public long b; }

[StructLayout(LayoutKind.Explicit, Size = 120)]
unsafe struct Every
{
    [FieldOffset(0)] public byte small;
    [FieldOffset(8), Unit("m")] public long wide;
    [FieldOffset(16)] public fixed ushort half[3];
    [FieldOffset(24)] public float single;
    [FieldOffset(32)] public double real;
    [FieldOffset(40)] public Fixed raw;
    [FieldOffset(48)] public Angle angle;
    [FieldOffset(56)] public Inner inner;
    [FieldOffset(72), Items(2)] public Inner many;
    [FieldOffset(104)] public sbyte last;
}

unsafe class EveryGame : Game
{
    public bool fails, counts;
    int steps;
    public Handle closes;
    public EveryGame() : base("every", typeof(Every), playersMax: 2) { }
    protected override void Init(void* state, ulong seed, int players)
    {
        ((Every*)state)->wide = (long)seed;
    }
    protected override void Step(void* state, Inputs inputs)
    {
        (&((Every*)state)->many)[1].b += counts ? ++steps : inputs.Byte(0);
        ((Every*)state)->last += inputs.HasJoined(1) ? (sbyte)1 : (sbyte)0;
        if (closes != null)
            closes.Dispose();
        if (fails)
            throw new DivideByZeroException("in tick " + inputs.Tick);
    }
}

static unsafe class Tests
{
    static int passed;

    static void Expect(bool holds, string claim)
    {
        if (!holds) {
            Console.WriteLine("FAILED: " + claim);
            Environment.Exit(1);
        }
        passed++;
    }

    static int StatusOf(Action action)
    {
        try { action(); } catch (LockstepException error) { return error.Status; }
        return 0;
    }

    static void TestGame()
    {
        var game = new EveryGame();
        using (var sim = new Simulation(game, "players=2", "seed=9")) {
            sim.Step(new byte[] { 7, 0 });
            sim.Step(new byte[] { 5, 0 });
            lockstep_view view;
            Expect(sim.TryView(out view) && view.tick == 2, "a simulation has a state");
            var now = (Every*)view.state;
            Expect(now->wide == 9 && now->last == 1 && (&now->many)[1].b == 12,
                   "a game of every type of member runs: its fields cover its state");
            game.closes = sim;
            Expect(StatusOf(() => sim.Step(new byte[2])) == Native.LOCKSTEP_BAD_ARGUMENT,
                   "a step cannot close what makes it");
            game.closes = null;
            game.fails = true;
            bool thrown = false;
            try { sim.Step(new byte[2]); } catch (DivideByZeroException) { thrown = true; }
            Expect(thrown, "an exception of a step reaches the caller");
        }
    }

    static void TestSaves()
    {
        using (var sim = new Simulation("arena", "players=2")) {
            ulong first = sim.Hash;
            var inputs = new byte[2 * sim.Info.input_bytes];
            sim.Step(inputs);
            byte[] saved = sim.Save();
            sim.Step(inputs);
            ulong then = sim.Hash;
            sim.Load(saved, 1);
            Expect(sim.Hash != then, "a saved state comes back");
            sim.Step(inputs);
            Expect(sim.Hash == then && sim.Info.tick == 2, "it leads to the same hash again");
            Expect(StatusOf(() => sim.Load(new byte[3], 1)) == Native.LOCKSTEP_MALFORMED, "or is refused");
            sim.Load(null, 0);
            Expect(sim.Hash == first, "state 0 comes back");
            sim.CheckSteps(30);
        }
        using (var sim = new Simulation(new EveryGame { counts = true }))
            Expect(StatusOf(() => sim.CheckSteps(30)) == Native.LOCKSTEP_DESYNCED, "steps are checked");
        Expect(StatusOf(() => new Simulation("no-such")) == Native.LOCKSTEP_NOT_FOUND,
               "a simulation that there is not is refused");
        Expect(StatusOf(() => new Simulation("arena", "playes=2")) == Native.LOCKSTEP_NOT_FOUND,
               "so is a setting");
    }

    static void TestMemory()
    {
        const int ticks = 100000;
        using (var sim = new Simulation(new Ships(), "players=4"))
        using (var host = new Host(new Ships(), "players=1", "bind=127.0.0.1"))
        using (var client = new Client(host.Invite, new Ships())) {
            var inputs = new byte[4];
            lockstep_view view;
            Event happened;
            long allocated = 0, start = 0, collections = 0;
            for (int i = -100; i < ticks; i++) {
                if (i == 0) {
                    start = GC.GetAllocatedBytesForCurrentThread();
                    collections = GC.CollectionCount(0);
                }
                inputs[0] = (byte)(i & 3);
                sim.Step(inputs);
                sim.TryView(out view);
                client.Frame(0);
                host.Frame(0);
                client.Input(inputs[0], false);
                client.TryView(out view);
                while (client.Poll(out happened) || host.Poll(out happened)) { }
            }
            allocated = GC.GetAllocatedBytesForCurrentThread() - start;
            collections = GC.CollectionCount(0) - collections;
            Console.WriteLine("{0} bytes allocated in {1} ticks, {2} collections", allocated, ticks,
                              collections);
            Expect(allocated == 0 && collections == 0, "no tick allocates");
        }
    }

    // What step_rate.c does.
    static void Rate(string name, int steps)
    {
        object source = name;
        if (name == "ships")
            source = new Ships();
        using (var sim = new Simulation(source)) {
            var info = sim.Info;
            var inputs = new byte[info.players * info.input_bytes];
            var watch = Stopwatch.StartNew();
            for (int i = 0; i < steps; i++) {
                inputs[0] = (byte)(i & 3);
                sim.Step(inputs);
            }
            Console.WriteLine("{0:0.0} ns a step, hash {1:x16}",
                              watch.Elapsed.TotalMilliseconds * 1e6 / steps, sim.Hash);
        }
    }

    static void Main(string[] arguments)
    {
        if (arguments.Length == 3) {
            Rate(arguments[1], int.Parse(arguments[2]));
            return;
        }
        TestGame();
        TestSaves();
        TestMemory();
        Console.WriteLine(passed + " passed");
    }
}
