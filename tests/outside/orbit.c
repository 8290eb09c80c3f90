/* A library that was not written for Lockstep: it calls the C library's maths. */
#include <math.h>

double orbit_height(double angle);

double orbit_height(double angle)
{
    return sin(angle) * exp(-angle) + pow(2, cos(angle));
}
