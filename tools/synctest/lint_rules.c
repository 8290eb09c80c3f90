#include "lockstep/tools/synctest/lint_rules.h"

#include "lockstep/tools/disassembler/disassembler.h"
#include "lockstep/tools/synctest/lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules ---- */

enum {
    NAME_BYTES_MAX = 64,
};

static const char libm_why[] =
    "its last bits differ between C libraries, versions and processors (with and without FMA)";

static const synctest_lint_rule functions[] = {
    {"sin cos tan sincos asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log2 log10 log1p "
     "pow cbrt hypot",
     true, "libm", libm_why, "include lockstep/strict_libm.h, which has it in double"},
    {"asinh acosh atanh exp10 pow10 erf erfc tgamma gamma lgamma lgamma_r lgammaf_r lgammal_r j0 "
     "j1 jn y0 y1 yn sinpi cospi tanpi __powidf2 __powisf2 _ZGV*",
     true, "libm", libm_why, "make it of the functions in lockstep/strict_math.h, or use a table"},
    {"csin ccos ctan casin cacos catan csinh ccosh ctanh casinh cacosh catanh cexp clog clog10 "
     "cpow csqrt cabs carg",
     true, "libm", libm_why, "use fixed point"},
    {"rand srand random srandom rand_r initstate setstate drand48 erand48 lrand48 nrand48 mrand48 "
     "jrand48 srand48 seed48 random_r srandom_r drand48_r lrand48_r mrand48_r erand48_r "
     "arc4random* getrandom getentropy _ZNSt13random_device*",
     true, SYNCTEST_LINT_TOPIC_RANDOM,
     "its state is hidden, shared by the whole process and other in every C library",
     "keep an ls_rng in the state"},
    {"time clock clock_gettime clock_getres gettimeofday timespec_get times ftime getrusage "
     "localtime* gmtime* mktime strftime _ZNSt6chrono*",
     true, "clock", "no two machines have the same time", "count ticks"},
    {"getenv secure_getenv setenv putenv environ _environ __environ getpid gettid getuid getppid "
     "gethostname gethostid uname getcwd get_current_dir_name sysconf getpagesize get_nprocs "
     "get_nprocs_conf get_phys_pages get_avphys_pages sched_getcpu getcpu sched_getaffinity "
     "pthread_getaffinity_np getauxval sysinfo getloadavg getrlimit getlogin* getpw* isatty "
     "ttyname* confstr pathconf program_invocation_name program_invocation_short_name __progname*",
     true, "environment", "it tells the machines of a match apart", "make it a parameter"},
    {"__cpu_model __cpu_features2 __cpu_indicator_init __aarch64_cpu_features "
     "__init_cpu_features_resolver",
     false, "environment", "code is chosen by the processor that it runs on",
     "do the same on every one"},
    {"syscall", true, "system call",
     "it asks the system directly for what no other machine of the match has",
     "compute from the state and the inputs alone"},
    {"pthread_self thrd_current pthread_getcpuclockid", true, "threads",
     "the number of a thread is an address: other in every process", "use the index of the worker"},
    {"qsort qsort_r _ZSt*sort*", true, "sort", "elements that compare equal end in any order",
     "use ls_stable_sort, and end ties by id"},
    {"setlocale uselocale newlocale localeconv nl_langinfo* strcoll* strxfrm* wcscoll wcsxfrm "
     "strcasecmp strncasecmp strcasestr strerror strerror_r strsignal mblen mbtowc wctomb mbrtowc "
     "wcrtomb mbstowcs wcstombs mbsrtowcs wcsrtombs towlower towupper isw*",
     true, SYNCTEST_LINT_TOPIC_LOCALE, "its answer is a setting of the machine",
     "compare bytes; format without a locale"},
    {"strtod strtof strtold atof wcstod", true, SYNCTEST_LINT_TOPIC_LOCALE,
     "it reads numbers as the machine's language writes them (a decimal comma)",
     "read numbers with code of your own"},
    {"sscanf fscanf scanf vsscanf swscanf", false, SYNCTEST_LINT_TOPIC_LOCALE,
     "it reads fractions as the machine's language writes them: harmless for whole numbers and "
     "words",
     "read fractions with code of your own"},
    {"isalpha isupper islower isalnum isspace isprint ispunct toupper tolower __ctype_b_loc "
     "__ctype_toupper_loc __ctype_tolower_loc",
     true, SYNCTEST_LINT_TOPIC_LOCALE, "what is a letter is a setting of the machine",
     "compare byte ranges"},
    {"sprintf snprintf vsprintf vsnprintf asprintf vasprintf swprintf", false,
     SYNCTEST_LINT_TOPIC_LOCALE,
     "it writes numbers as the machine's language does: harmless for integers and names",
     "keep its text out of the state"},
    {"malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc strdup "
     "strndup malloc_usable_size mmap munmap mremap sbrk _Znw* _Zna* _ZdlPv* _ZdaPv*",
     false, "allocation",
     "memory from the heap is not in the state: it is neither saved nor hashed, its addresses "
     "differ, and it comes with anything in it",
     "use the state and the step's scratch"},
    {"pthread_* thrd_* mtx_* cnd_* sem_* _ZNSt6thread* _ZNSt18condition_variable* GOMP_* omp_* "
     "__kmpc_*",
     false, "threads", "who is first differs from run to run",
     "declare workers_max, obey tuning->workers and add up in a fixed order"},
    {"signal sigaction raise kill setjmp _setjmp __sigsetjmp longjmp alarm setitimer timer_create",
     false, "signals", "a signal comes when it likes", "do without"},
    {"fopen freopen fdopen popen open openat creat fread read readv pread fgets fgetc getc getchar "
     "getline getdelim fseek* ftell* lseek mmap64 opendir readdir scandir glob stat lstat fstat "
     "statx access readlink realpath dlopen dlsym dladdr dl_iterate_phdr socket connect accept "
     "recv recvfrom recvmsg poll select system fork vfork execv* posix_spawn* waitpid",
     false, "files", "what is on this machine's disk or network is not what the others have",
     "read data in init alone, and put its digest into content_digest"},
    {"fetestexcept fegetexceptflag", false, "left by other code",
     "it tells of all code that has run in this thread",
     "clear the flags first (feclearexcept), in the same step"},
    {"fesetround fesetenv feholdexcept feupdateenv", false, "rounding mode",
     "it changes how the code that runs after it rounds",
     "set the mode back at the end of the step"},
};

/* Known to do no harm: their results follow from their arguments alone, or nobody gets a result.
 * Of libm those that IEEE 754 fixes to the bit; of C++ what its headers need from the library. */
static const synctest_lint_rule safe_functions[] = {
    {.names =
         "sqrt fabs fma floor ceil trunc round roundeven rint nearbyint lrint llrint lround "
         "llround fmod remainder drem remquo ldexp scalbn scalbln frexp modf copysign fmax fmin "
         "fdim nextafter nexttoward logb ilogb finite isnan isinf __isnan __isinf __finite "
         "__fpclassify __signbit",
     .topic = "libm"},
    {.names =
         "memcpy memmove memset memcmp memchr memrchr rawmemchr memmem mempcpy memccpy bcopy "
         "bzero bcmp explicit_bzero strlen strnlen strcmp strncmp strcpy strncpy stpcpy "
         "stpncpy strcat strncat strlcpy strlcat strchr strrchr strchrnul strstr strspn "
         "strcspn strpbrk strtok_r strsep ffs ffsl ffsll abs labs llabs div ldiv lldiv bsearch "
         "lfind lsearch atoi atol atoll strtol strtoll strtoul strtoull strtoimax strtoumax "
         "htonl htons ntohl ntohs"},
    {.names = "abort exit _exit _Exit atexit __assert __assert_fail __cxa_* __gxx_personality_v0 "
              "__gcc_personality_v0 _Unwind_* __stack_chk_* __fortify_fail __chk_fail "
              "__tls_get_addr ___tls_get_addr __errno_location __gmon_start__ _ITM_* "
              "_Jv_RegisterClasses __register_frame* __deregister_frame* __libc_single_threaded "
              "__dso_handle __sched_cpucount __sched_cpualloc __sched_cpufree __asan_* __ubsan_* "
              "__tsan_* __lsan_* __msan_* __sanitizer_* __gcov_* "
              "__llvm_* __cyg_profile_*"},
    {.names = "__div* __mod* __udiv* __umod* __mul* __ashl* __ashr* __lshr* __float* __fix* "
              "__popcount* __clz* __ctz* __ffs* __parity* __bswap* __add* __sub* __neg* __cmp* "
              "__ucmp* __extend* __trunc* __eq?f2 __ne?f2 __lt?f2 __le?f2 __gt?f2 __ge?f2 "
              "__unord* __aeabi_* __atomic_* __sync_* __aarch64_*"},
    {.names = "printf fprintf vprintf vfprintf dprintf puts fputs putchar putc fputc fwrite fflush "
              "fclose setvbuf perror write stdout stderr syslog fegetenv fegetround feclearexcept"},
    {.names = "_ZTV* _ZTI* _ZTS* _ZTT* _ZSt7nothrow _ZSt*throw* _ZSt9terminatev _ZNSt*exception* "
              "_ZNKSt*exception* _ZNSt*error* _ZNKSt*error* _ZNSt*bad_alloc* _ZNKSt*bad_alloc* "
              "_ZNSt*basic_string* _ZNKSt*basic_string* _ZNSs* _ZNKSs* _ZSt*_Rb_tree_* "
              "_ZNSt8__detail*_List_node_base* _ZNKSt8__detail*_Prime_rehash_policy* "
              "_ZSt11_Hash_bytes* _ZNSt8ios_base4Init*"},
    {.names = "ls_* lockstep_*"}, /* Lockstep's own */
};

static const synctest_lint_rule unknown_function = {
    .topic = SYNCTEST_LINT_TOPIC_UNKNOWN,
    .why = "it is not known to give the same results on every machine",
    .instead = "see what it reads besides its arguments, and keep that out of the state"};

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
    {"syscall sysenter rdpid", true, "system call",
     "it asks the system directly for what no other machine of the match has",
     "compute from the state and the inputs alone"},
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
    FUSED("fmadd fmsub fnmadd fnmsub fmla fmls fmlal* fmlsl*"),
    {"svc", true, "system call",
     "it asks the system directly for what no other machine of the match has",
     "compute from the state and the inputs alone"}};
static const synctest_lint_rule arm[] = {FUSED("vfma* vfms* vfnma* vfnms*")};
static const synctest_lint_rule ppc64[] = {FUSED(
    "fmadd* fmsub* fnmadd* fnmsub* xsmadd* xsmsub* xsnmadd* xsnmsub* xvmadd* xvmsub* xvnmadd* "
    "xvnmsub* vmaddfp vnmsubfp")};
static const synctest_lint_rule s390x[] = {
    FUSED("madb madbr msdb msdbr maeb maebr mseb msebr wfmadb wfmsdb vfmadb vfmsdb")};

#define FLAG_TOPIC "compiler flag"
static const synctest_lint_rule flags[] = {
    {"-ffast-math -Ofast -funsafe-math-optimizations -fassociative-math -freciprocal-math "
     "-ffinite-math-only -fno-signed-zeros -fcx-limited-range -fcx-fortran-rules",
     false, FLAG_TOPIC,
     "each compiler, version and optimisation computes something else with it, so that only this "
     "very file gives the same on every machine",
     "compile every file of the game without"},
    {"-ffp-contract=fast -mfma -mfma4 -march=native -march=*-v3 -march=*-v4", false, FLAG_TOPIC,
     "products and sums are fused where the processor can, and another build does not",
     "compile every file of the game with -ffp-contract=off, for the oldest processor"},
    {"-mfpmath=387 -mno-sse2 -mno-sse", false, FLAG_TOPIC,
     "it computes with 80 bits, which other processors do not have", "use -msse2 -mfpmath=sse"},
};

/* A pattern of so many bytes: '*' is any bytes or none, '?' is any one. */
static bool is_like(const char *pattern, size_t size, const char *name)
{
    const char *star = NULL, *resumed = NULL, *end = pattern + size;
    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            resumed = name;
        } else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resumed;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*') {
        pattern++;
    }
    return pattern == end;
}

typedef struct rule_list {
    const synctest_lint_rule *rules;
    uint32_t count;
} rule_list;

#define LIST(rules) ((rule_list){rules, sizeof(rules) / sizeof((rules)[0])})

static bool fits(const synctest_lint_rule *rule, const char *name)
{
    for (const char *word = rule->names; *word; word += strspn(word, " ")) {
        size_t word_size = strcspn(word, " ");
        if (is_like(word, word_size, name)) {
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

/* The rule of the name itself, or of the plain one that it is a form of. */
static const synctest_lint_rule *find_form(rule_list list, const char *name)
{
    static const struct {
        const char *before;
        const char *behind;
        const char *topic; /* only for rules of this one; NULL for all */
    } forms[] = {{"__", "_chk", NULL},      {"__isoc99_", "", NULL}, {"__isoc23_", "", NULL},
                 {"__", "_finite", "libm"}, {"", "f", "libm"},       {"", "l", "libm"},
                 {"__", "f", "libm"},       {"__", "l", "libm"},     {"", "64", NULL},
                 {"__", "64", NULL}};
    const synctest_lint_rule *rule = find(list, name);
    for (size_t i = 0; !rule && i < sizeof forms / sizeof forms[0]; i++) {
        char plain[NAME_BYTES_MAX];
        if (strip(name, forms[i].before, forms[i].behind, plain)) {
            rule = find(list, plain);
            bool is_other = rule && forms[i].topic &&
                            (!rule->topic || strcmp(rule->topic, forms[i].topic) != 0);
            rule = is_other ? NULL : rule;
        }
    }
    return rule;
}

const synctest_lint_rule *synctest_lint_rule_of_function(const char *name)
{
    const synctest_lint_rule *rule = find_form(LIST(functions), name);
    bool is_known = rule || find_form(LIST(safe_functions), name);
    return is_known ? rule : &unknown_function;
}

const synctest_lint_rule *synctest_lint_rule_of_flag(const char *flag)
{
    return find(LIST(flags), flag);
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

/* ---- code ---- */

struct synctest_lint_code {
    synctest_lint_processor processor;
    disassembler reader;
};

typedef struct dialect {
    bool is_known;
    cs_arch arch;
    cs_mode mode;
} dialect;

static const dialect dialects[SYNCTEST_PROCESSOR_COUNT] = {
    [SYNCTEST_PROCESSOR_X86_64] = {true, CS_ARCH_X86, CS_MODE_64},
    [SYNCTEST_PROCESSOR_I386] = {true, CS_ARCH_X86, CS_MODE_32},
    [SYNCTEST_PROCESSOR_ARM64] = {true, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
    [SYNCTEST_PROCESSOR_ARM] = {true, CS_ARCH_ARM, CS_MODE_ARM},
    [SYNCTEST_PROCESSOR_PPC64] = {true, CS_ARCH_PPC, (cs_mode)(CS_MODE_64 | CS_MODE_LITTLE_ENDIAN)},
    [SYNCTEST_PROCESSOR_S390X] = {true, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN},
};

ls_status synctest_lint_code_open(synctest_lint_processor processor, synctest_lint_code **out)
{
    const dialect *spoken = &dialects[processor];
    synctest_lint_code *code = calloc(1, sizeof *code);
    if (!code) {
        return LS_NO_MEMORY;
    }
    code->processor = processor;
    ls_status status = spoken->is_known ? disassembler_open(&code->reader, spoken->arch,
                                                            spoken->mode, CS_OPT_SKIPDATA)
                                        : LS_UNSUPPORTED;
    if (status != LS_OK) {
        free(code);
        return status;
    }
    *out = code;
    return LS_OK;
}

void synctest_lint_code_close(synctest_lint_code *code)
{
    if (code) {
        disassembler_close(&code->reader);
        free(code);
    }
}

static uint32_t add_count(synctest_lint_code_count *counts, uint32_t used, const char *mnemonic,
                          const synctest_lint_rule *rule)
{
    for (uint32_t i = 0; i < used; i++) {
        if (strcmp(counts[i].mnemonic, mnemonic) == 0) {
            counts[i].count++;
            return used;
        }
    }
    if (used == SYNCTEST_LINT_CODE_COUNTS_MAX) {
        return used; /* what is there is bad enough */
    }
    counts[used].rule = rule;
    counts[used].count = 1;
    snprintf(counts[used].mnemonic, sizeof counts[used].mnemonic, "%s", mnemonic);
    return used + 1;
}

uint32_t synctest_lint_code_read(synctest_lint_code *code, const uint8_t *bytes, size_t size,
                                 uint64_t address,
                                 synctest_lint_code_count counts[SYNCTEST_LINT_CODE_COUNTS_MAX],
                                 uint64_t *instructions)
{
    uint32_t used = 0;
    while (disassembler_next(&code->reader, &bytes, &size, &address)) {
        const char *mnemonic = code->reader.instruction->mnemonic;
        const synctest_lint_rule *rule =
            synctest_lint_rule_of_instruction(code->processor, mnemonic);
        (*instructions)++;
        if (rule) {
            used = add_count(counts, used, mnemonic, rule);
        }
    }
    return used;
}
