/* A library, loaded before a program, whose one function has the calling thread count denormal
 * numbers as zero, as some libraries do on their way. */

__attribute__((visibility("default"))) void flush_to_zero(void);

void flush_to_zero(void)
{
#if defined(__SSE2__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
}
