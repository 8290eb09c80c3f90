/* No Git: Criterion, which starts a process for every test, can show how two texts differ with a
 * library for Git, which brings fifteen others (TLS, SSH, Kerberos) to each start. That took more
 * than half of the time of a short test. No test asks for such differences, so this stands in for
 * the library. */

#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int git_libgit2_init(void);
EXPORTED int git_libgit2_shutdown(void);
EXPORTED int git_diff_buffers(void);

int git_libgit2_init(void)
{
    return 1; /* of those that use it */
}

int git_libgit2_shutdown(void)
{
    return 0;
}

int git_diff_buffers(void)
{
    fputs("tests: no differences of texts without Git: use cr_assert_str_eq\n", stderr);
    abort();
}
