/* Stands before an engine's step in a plug-in that is linked with --wrap: the engine's arithmetic
 * differs in the last bit of a product, as that of a build with fused multiply-adds does. */
#if defined(ALTERED_BOX2D)

#define STEP(prefix) prefix##_ZN7b2World4StepEfii
void STEP(__real_)(void *world, float seconds, int velocity_iterations, int position_iterations);
void STEP(__wrap_)(void *world, float seconds, int velocity_iterations, int position_iterations);
void STEP(__wrap_)(void *world, float seconds, int velocity_iterations, int position_iterations)
{
    STEP(__real_)(world, seconds * (1 + 0x1p-23f), velocity_iterations, position_iterations);
}

#else

#define STEP(prefix) prefix##cpSpaceStep
void STEP(__real_)(void *space, double seconds);
void STEP(__wrap_)(void *space, double seconds);
void STEP(__wrap_)(void *space, double seconds)
{
    STEP(__real_)(space, seconds * (1 + 0x1p-52));
}

#endif
