/* A library that a plug-in needs without knowing it: it asks the maths library. */
#include <math.h>

int needed_turn_further(int degrees);

__attribute__((visibility("default"))) int needed_turn_further(int degrees)
{
    return (int)(sin(degrees) * 100);
}
