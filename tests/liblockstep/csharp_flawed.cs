// A game with the mistake that a plug-in of C# makes most easily: a static that no state holds.
using Lockstep;

struct Steps
{
    public int count;
}

unsafe class Flawed : Game
{
    static int count;
    public Flawed() : base("flawed", typeof(Steps), playersMax: 2) { }
    protected override void Step(void* state, Inputs inputs) { ((Steps*)state)->count = ++count; }
}
