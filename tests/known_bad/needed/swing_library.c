/* A library that libm_needed needs: its maths is that of the machine, and it keeps a
 * result in a static. */
#include <math.h>

double swing_library_swing(double angle);

#if GAME_FAULTY
static double swing_before;
#endif

__attribute__((visibility("default"))) double swing_library_swing(double angle)
{
#if GAME_FAULTY
    double result = sin(angle) + swing_before / 2.0;
    swing_before = result;
    return result;
#else
    return sqrt(angle);
#endif
}
