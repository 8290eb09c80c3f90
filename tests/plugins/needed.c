/* A library that a plug-in needs: it keeps a number, and needs another library. */
int needed_turn(int degrees);
int needed_turn_further(int degrees);

static int needed_turns;

__attribute__((visibility("default"))) int needed_turn(int degrees)
{
    needed_turns += degrees > 90;
    return needed_turn_further(degrees) + needed_turns;
}
