#include "lockstep/tools/synctest/lint_rules.h"

#include "lockstep/tools/synctest/lint.h"

#include <stdio.h>
#include <string.h>

enum {
    NAME_BYTES_MAX = 64,
};

/* Functions of libm that IEEE 754 fixes to the bit (sqrt, fma, floor, fmod, ldexp ...) are not
 * here: they do no harm. */
static const synctest_lint_rule functions[] = {
    {"sin cos tan sincos asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 exp10 "
     "expm1 "
     "log log2 log10 log1p pow cbrt hypot erf erfc tgamma lgamma j0 j1 jn y0 y1 yn",
     true, "libm", "its last bits differ between C libraries, versions and processors",
     "use ls_fixed_sin and its kin, or a table"},
    {"csin ccos cexp clog cpow csqrt cabs", true, "libm",
     "its last bits differ between C libraries, versions and processors", "use fixed point"},
    {"rand srand random srandom rand_r initstate setstate drand48 erand48 lrand48 nrand48 mrand48 "
     "jrand48 srand48 seed48 arc4random* getrandom getentropy _ZNSt13random_device*",
     true, SYNCTEST_LINT_TOPIC_RANDOM,
     "its state is hidden, shared by the whole process and other in every C library",
     "keep an ls_rng in the state"},
    {"time clock clock_gettime gettimeofday timespec_get times ftime localtime* gmtime* mktime "
     "strftime _ZNSt6chrono*",
     true, "clock", "no two machines have the same time", "count ticks"},
    {"getenv secure_getenv setenv putenv getpid gettid getuid gethostname uname getcwd sysconf "
     "get_nprocs sched_getcpu",
     true, "environment", "it tells the machines of a match apart", "make it a parameter"},
    {"qsort qsort_r _ZSt*sort*", true, "sort", "elements that compare equal end in any order",
     "use ls_stable_sort, and end ties by id"},
    {"setlocale uselocale newlocale localeconv nl_langinfo* strcoll* strxfrm* wcscoll", true,
     "locale", "its answer is a setting of the machine", "compare bytes; format without a locale"},
    {"strtod strtof strtold atof sscanf fscanf scanf vsscanf wcstod", true, "locale",
     "it reads numbers as the machine's language writes them (a decimal comma)",
     "read numbers with code of your own"},
    {"isalpha isupper islower isalnum isspace isprint ispunct toupper tolower __ctype_b_loc "
     "__ctype_toupper_loc __ctype_tolower_loc",
     true, "locale", "what is a letter is a setting of the machine", "compare byte ranges"},
    {"sprintf snprintf vsprintf vsnprintf asprintf vasprintf swprintf", false, "locale",
     "it writes numbers as the machine's language does: harmless for integers and names",
     "keep its text out of the state"},
    {"malloc calloc realloc free aligned_alloc posix_memalign memalign strdup mmap munmap _Znwm "
     "_Znam _ZdlPv* _ZdaPv*",
     false, "allocation",
     "memory from the heap is not in the state: it is neither saved nor hashed, its addresses "
     "differ, and it comes with anything in it",
     "use the state and the step's scratch"},
    {"pthread_create thrd_create _ZNSt6thread* GOMP_* __kmpc_*", false, "threads",
     "who is first differs from run to run",
     "declare workers_max, obey tuning->workers and add up in a fixed order"},
    {"signal sigaction raise kill setjmp _setjmp __sigsetjmp longjmp alarm setitimer timer_create",
     false, "signals", "a signal comes when it likes", "do without"},
    {"fopen fopen64 open open64 openat fread read pread mmap64 opendir readdir stat fstat "
     "dlopen dlsym socket recv recvfrom",
     false, "files", "what is on this machine's disk or network is not what the others have",
     "read data in init alone, and put its digest into content_digest"},
    {"fesetround fesetenv feholdexcept feupdateenv", false, "rounding mode",
     "it changes how the code that runs after it rounds",
     "set the mode back at the end of the step"},
};

#define FUSED(names)                                                                               \
    {                                                                                              \
        names, true, SYNCTEST_LINT_TOPIC_FUSED,                                                    \
            "it rounds once where a multiply and an add round twice: a build without it differs",  \
            "build with -ffp-contract=off"                                                         \
    }
static const synctest_lint_rule x86[] = {
    FUSED("vfm* vfnm*"),
    {"rcpps rcpss rsqrtps rsqrtss vrcp* vrsqrt*", true, "approximation",
     "Intel's and AMD's processors give other bits", "divide, and take the square root"},
    {"rdtsc rdtscp", true, "clock", "it counts this machine's cycles", "count ticks"},
    {"rdrand rdseed", true, SYNCTEST_LINT_TOPIC_RANDOM, "it is real chance",
     "keep an ls_rng in the state"},
    {"cpuid xgetbv", false, "environment", "it asks which processor this is",
     "do the same on every one"},
    {"ldmxcsr vldmxcsr fldcw", false, "rounding mode",
     "it changes how the code that runs after it rounds",
     "set the mode back at the end of the step"},
};
static const synctest_lint_rule x87[] = {
    {"fld fild fadd faddp fiadd fmul fmulp fimul fsub fsubp fsubr fsubrp fdiv fdivp fdivr fdivrp "
     "fsqrt fsin fcos fptan fpatan f2xm1 fyl2x",
     false, "long double", "it computes with 80 bits, which other processors do not have",
     "use double, and on i386 -msse2 -mfpmath=sse"},
};
static const synctest_lint_rule arm64[] = {
    FUSED("fmadd fmsub fnmadd fnmsub fmla fmls fmlal* fmlsl*")};
static const synctest_lint_rule arm[] = {FUSED("vfma* vfms* vfnma* vfnms*")};
static const synctest_lint_rule ppc64[] = {FUSED(
    "fmadd* fmsub* fnmadd* fnmsub* xsmadd* xsmsub* xsnmadd* xsnmsub* xvmadd* xvmsub* xvnmadd* "
    "xvnmsub* vmaddfp vnmsubfp")};
static const synctest_lint_rule s390x[] = {
    FUSED("madb madbr msdb msdbr maeb maebr mseb msebr wfmadb wfmsdb vfmadb vfmsdb")};

typedef struct rule_list {
    const synctest_lint_rule *rules;
    uint32_t count;
} rule_list;

#define LIST(rules) ((rule_list){rules, sizeof(rules) / sizeof((rules)[0])})

static bool fits(const synctest_lint_rule *rule, const char *name)
{
    size_t size = strlen(name);
    for (const char *word = rule->names; *word; word += strspn(word, " ")) {
        size_t word_size = strcspn(word, " ");
        bool is_beginning = word[word_size - 1] == '*';
        size_t compared = is_beginning ? word_size - 1 : word_size;
        if (size >= compared && memcmp(word, name, compared) == 0 &&
            (is_beginning || size == compared)) {
            return true;
        }
        word += word_size;
    }
    return false;
}

static const synctest_lint_rule *find(rule_list list, const char *name)
{
    for (uint32_t i = 0; i < list.count; i++) {
        if (fits(&list.rules[i], name)) {
            return &list.rules[i];
        }
    }
    return NULL;
}

/* The name without what stands before and behind the plain one. */
static bool strip(const char *name, const char *before, const char *behind,
                  char plain[NAME_BYTES_MAX])
{
    size_t size = strlen(name), head = strlen(before), tail = strlen(behind);
    if (size <= head + tail || size >= NAME_BYTES_MAX || memcmp(name, before, head) != 0 ||
        memcmp(name + size - tail, behind, tail) != 0) {
        return false;
    }
    snprintf(plain, NAME_BYTES_MAX, "%.*s", (int)(size - head - tail), name + head);
    return true;
}

const synctest_lint_rule *synctest_lint_rule_of_function(const char *name)
{
    static const struct {
        const char *before;
        const char *behind;
        const char *topic; /* only for rules of this one; NULL for all */
    } forms[] = {{"__", "_chk", NULL},      {"__isoc99_", "", NULL}, {"__isoc23_", "", NULL},
                 {"__", "_finite", "libm"}, {"", "f", "libm"},       {"", "l", "libm"},
                 {"__", "64", NULL}};
    const synctest_lint_rule *rule = find(LIST(functions), name);
    for (size_t i = 0; !rule && i < sizeof forms / sizeof forms[0]; i++) {
        char plain[NAME_BYTES_MAX];
        if (strip(name, forms[i].before, forms[i].behind, plain)) {
            rule = find(LIST(functions), plain);
            rule = rule && forms[i].topic && strcmp(rule->topic, forms[i].topic) != 0 ? NULL : rule;
        }
    }
    return rule;
}

const synctest_lint_rule *synctest_lint_rule_of_instruction(synctest_lint_processor processor,
                                                            const char *mnemonic)
{
    const synctest_lint_rule *rule = NULL;
    switch (processor) {
    case SYNCTEST_PROCESSOR_X86_64:
    case SYNCTEST_PROCESSOR_I386:
        rule = find(LIST(x86), mnemonic);
        return rule ? rule : find(LIST(x87), mnemonic);
    case SYNCTEST_PROCESSOR_ARM64:
        return find(LIST(arm64), mnemonic);
    case SYNCTEST_PROCESSOR_ARM:
        return find(LIST(arm), mnemonic);
    case SYNCTEST_PROCESSOR_PPC64:
        return find(LIST(ppc64), mnemonic);
    case SYNCTEST_PROCESSOR_S390X:
        return find(LIST(s390x), mnemonic);
    default:
        return NULL;
    }
}
