/* A library that, loaded before a program, has it count denormal numbers as zero, as one that was
 * built with -ffast-math does. */

__attribute__((constructor)) static void flush_to_zero(void)
{
#if defined(__SSE2__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
}
