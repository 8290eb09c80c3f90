/* A plug-in that is right in itself, but needs a library, and that one another. For tests that read
 * their files. */
#include <math.h>

#define EXPORTED __attribute__((visibility("default")))

int needed_turn(int degrees);
int needed_turn_further(int degrees);
int needing_turn(int degrees);

#if defined(NEEDING_IS_DEEPER) /* which a plug-in needs without knowing it */
EXPORTED int needed_turn_further(int degrees)
{
    return (int)(sin(degrees) * 100);
}
#elif defined(NEEDING_IS_NEEDED) /* it keeps a number */
static int needed_turns;

EXPORTED int needed_turn(int degrees)
{
    needed_turns += degrees > 90;
    return needed_turn_further(degrees) + needed_turns;
}
#else
EXPORTED int needing_turn(int degrees)
{
    return needed_turn(degrees) + 1;
}
#endif
