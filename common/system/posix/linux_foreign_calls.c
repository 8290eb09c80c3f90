#define _GNU_SOURCE
#include "lockstep/common/system/foreign_calls.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/system_clock.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GLIBC__)
#define CALL_SLOT R_X86_64_JUMP_SLOT
#define DATA_SLOT R_X86_64_GLOB_DAT
#elif defined(__aarch64__) && defined(__GLIBC__)
#define CALL_SLOT R_AARCH64_JUMP_SLOT
#define DATA_SLOT R_AARCH64_GLOB_DAT
#endif

#if defined(CALL_SLOT) && !LS_HAS_ADDRESS_SANITIZER && !LS_HAS_THREAD_SANITIZER

typedef struct replacement {
    const char *name;
    uintptr_t code;
} replacement;

/* ---- the heap ---- */

static void (*fill)(uint8_t *bytes, size_t size);

/* The program's own calls may be changed as well: these stay as they are. */
static void *(*volatile library_malloc)(size_t bytes) = malloc;
static void *(*volatile library_calloc)(size_t count, size_t each) = calloc;
static void *(*volatile library_realloc)(void *block, size_t bytes) = realloc;
static void *(*volatile library_memalign)(size_t alignment, size_t bytes) = memalign;

/* Each block is so much longer than was asked for: what is read past its end is noise as well. */
#define PAST_BYTES 64u

/* SIZE_MAX: so much is nowhere. */
static size_t longer(size_t count, size_t each)
{
    bool is_too_much = each != 0 && count > (SIZE_MAX - PAST_BYTES) / each;
    return is_too_much ? SIZE_MAX : count * each + PAST_BYTES;
}

static void *filled(void *block, size_t from)
{
    size_t bytes = block ? malloc_usable_size(block) : 0;
    if (bytes > from) {
        fill((uint8_t *)block + from, bytes - from);
    }
    return block;
}

static void *filled_malloc(size_t bytes)
{
    return filled(library_malloc(longer(bytes, 1)), 0);
}

static void *filled_calloc(size_t count, size_t each)
{
    return filled(library_calloc(longer(count, each), 1), count * each);
}

static void *filled_reallocarray(void *block, size_t count, size_t each)
{
    size_t kept = block ? malloc_usable_size(block) : 0;
    return filled(library_realloc(block, longer(count, each)), LS_MIN(kept, count * each));
}

static void *filled_realloc(void *block, size_t bytes)
{
    return filled_reallocarray(block, bytes, 1);
}

static void *filled_memalign(size_t alignment, size_t bytes)
{
    return filled(library_memalign(alignment, longer(bytes, 1)), 0);
}

static void *filled_valloc(size_t bytes)
{
    return filled_memalign(ls_pages_size(), bytes);
}

static int filled_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    void *block = filled_memalign(alignment, bytes);
    *out = block ? block : *out;
    return block ? 0 : ENOMEM;
}

static const replacement of_heap[] = {
    {"malloc", (uintptr_t)filled_malloc},     {"calloc", (uintptr_t)filled_calloc},
    {"realloc", (uintptr_t)filled_realloc},   {"reallocarray", (uintptr_t)filled_reallocarray},
    {"memalign", (uintptr_t)filled_memalign}, {"aligned_alloc", (uintptr_t)filled_memalign},
    {"valloc", (uintptr_t)filled_valloc},     {"posix_memalign", (uintptr_t)filled_posix_memalign},
};

/* ---- threads ---- */

enum {
    NS_PER_S = 1000000000,
    DELAYS_MAX = 2000, /* code that takes a lock a million times is not delayed for ever */
    LOCKS_A_DELAY = 16,
    DELAY_NS_MAX = 150000,
    MEETING_NS = 250000,
};

typedef void *thread_code(void *argument);

typedef struct late_thread {
    thread_code *code;
    void *argument;
} late_thread;

static int (*volatile library_create)(pthread_t *thread, const pthread_attr_t *attributes,
                                      thread_code *code, void *argument) = pthread_create;
static int (*volatile library_lock)(pthread_mutex_t *lock) = pthread_mutex_lock;
static atomic_uint calls, delays;

static uint64_t now_ns(void)
{
    const ls_clock clock = ls_clock_system();
    return ls_clock_now_ns(&clock);
}

/* Differs from call to call, in all bits. */
static uint64_t chance_of(uint64_t now, uint64_t count)
{
    uint64_t mixed = (now ^ count << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 32;
}

/* Others go on meanwhile. A sleep takes longer than the threads of many steps. */
static void delay(void)
{
    uint64_t start_ns = now_ns();
    uint64_t chance = chance_of(start_ns, atomic_fetch_add(&delays, 1));
    uint64_t wait_ns = chance % 4 == 0 ? 0 : (chance >> 8) % DELAY_NS_MAX;
    while (now_ns() - start_ns < wait_ns && atomic_load(&delays) < DELAYS_MAX) {
        sched_yield();
    }
}

/* Threads that begin one after the other, each by itself, do what they do without a lock apart from
 * each other. Of some times all that were to begin then begin at their end, so that it meets. */
static void begin_by_chance(void)
{
    uint64_t time = now_ns() / MEETING_NS;
    if (chance_of(time, (uint64_t)getpid()) % 2 == 0) {
        delay();
        return;
    }
    atomic_fetch_add(&delays, 1);
    while (now_ns() / MEETING_NS == time && atomic_load(&delays) < DELAYS_MAX) {
        sched_yield();
    }
}

static void *begin_late(void *user)
{
    const late_thread thread = *(late_thread *)user;
    ls_release(ls_allocator_heap(), user);
    begin_by_chance();
    return thread.code(thread.argument);
}

static int late_create(pthread_t *thread, const pthread_attr_t *attributes, thread_code *code,
                       void *argument)
{
    late_thread *late = ls_allocate(ls_allocator_heap(), sizeof *late);
    if (!late) {
        return EAGAIN;
    }
    *late = (late_thread){code, argument};
    int error = library_create(thread, attributes, begin_late, late);
    if (error != 0) {
        ls_release(ls_allocator_heap(), late);
    }
    return error;
}

static int late_lock(pthread_mutex_t *lock)
{
    if (atomic_fetch_add(&calls, 1) % LOCKS_A_DELAY == 0) {
        delay();
    }
    return library_lock(lock);
}

static const replacement of_threads[] = {
    {"pthread_create", (uintptr_t)late_create},
    {"pthread_mutex_lock", (uintptr_t)late_lock},
};

/* ---- the clock ---- */

#define SHIFT_S_MAX 100000000u /* three years */

static struct timespec shift;

static void shift_time(struct timespec *time)
{
    time->tv_sec += shift.tv_sec;
    time->tv_nsec += shift.tv_nsec;
    time->tv_sec += time->tv_nsec / NS_PER_S;
    time->tv_nsec %= NS_PER_S;
}

static int shifted_gettime(clockid_t clock, struct timespec *out)
{
    int error = clock_gettime(clock, out);
    if (error == 0) {
        shift_time(out);
    }
    return error;
}

static int shifted_timespec(struct timespec *out, int base)
{
    int given = timespec_get(out, base);
    if (given != 0) {
        shift_time(out);
    }
    return given;
}

static int shifted_timeofday(struct timeval *out, void *zone)
{
    struct timespec time;
    int error = gettimeofday(out, zone);
    time = (struct timespec){out->tv_sec, out->tv_usec * 1000};
    shift_time(&time);
    *out = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return error;
}

static time_t shifted_time(time_t *out)
{
    struct timespec now;
    (void)shifted_gettime(CLOCK_REALTIME, &now);
    if (out) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

static const replacement of_clock[] = {
    {"clock_gettime", (uintptr_t)shifted_gettime},
    {"timespec_get", (uintptr_t)shifted_timespec},
    {"gettimeofday", (uintptr_t)shifted_timeofday},
    {"time", (uintptr_t)shifted_time},
};

/* ---- the calls of one object ---- */

/* The dynamic linker goes by these. */
typedef struct link_tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * slots[2]; /* of data, and of calls */
    size_t slot_bytes[2];
} link_tables;

static const void *place_of(const struct dl_phdr_info *info, ElfW(Addr) address)
{
    return (const void *)(uintptr_t)(address < info->dlpi_addr ? info->dlpi_addr + address
                                                               : address);
}

static link_tables read_tables(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
    link_tables tables = {.symbols = NULL};
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *place = place_of(info, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) {
            tables.symbols = place;
        } else if (entry->d_tag == DT_STRTAB) {
            tables.names = place;
        } else if (entry->d_tag == DT_RELA) {
            tables.slots[0] = place;
        } else if (entry->d_tag == DT_RELASZ) {
            tables.slot_bytes[0] = entry->d_un.d_val;
        } else if (entry->d_tag == DT_JMPREL) {
            tables.slots[1] = place;
        } else if (entry->d_tag == DT_PLTRELSZ) {
            tables.slot_bytes[1] = entry->d_un.d_val;
        }
    }
    return tables;
}

typedef struct replacements {
    const replacement *list;
    size_t count;
    bool is_left_here; /* where this code lies, which needs the functions as they are */
} replacements;

static const replacement *replacement_of(const replacements *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) {
            return &all->list[i];
        }
    }
    return NULL;
}

static void replace(uintptr_t slot, uintptr_t code)
{
    const uintptr_t page_bytes = ls_pages_size();
    uintptr_t page = slot / page_bytes * page_bytes;
    if (ls_pages_allow((void *)page, page_bytes, LS_PAGES_WRITTEN)) {
        memcpy((void *)slot, &code, sizeof code);
    }
}

/* An object that has a heap of its own, or finds one nearer than the C library's, has its function
 * in the slot: only where a name is not its own is it looked up, in the program's libraries first.
 */
static void replace_calls(const replacements *all, const struct dl_phdr_info *info,
                          const ElfW(Dyn) * entries)
{
    const link_tables tables = read_tables(info, entries);
    for (size_t table = 0; table < 2 && tables.symbols && tables.names; table++) {
        size_t count = tables.slots[table] ? tables.slot_bytes[table] / sizeof(ElfW(Rela)) : 0;
        for (size_t i = 0; i < count; i++) {
            const ElfW(Rela) *slot = &tables.slots[table][i];
            const ElfW(Sym) *symbol = &tables.symbols[ELF64_R_SYM(slot->r_info)];
            uint32_t kind = (uint32_t)ELF64_R_TYPE(slot->r_info);
            const replacement *other = kind == CALL_SLOT || kind == DATA_SLOT
                                           ? replacement_of(all, tables.names + symbol->st_name)
                                           : NULL;
            if (other && symbol->st_shndx == SHN_UNDEF) {
                replace(info->dlpi_addr + slot->r_offset, other->code);
            }
        }
    }
}

/* The library itself and its linker go on as they are; so does a program that lies at a place of
 * its own, whose functions have another address for others. */
static bool is_left_alone(const struct dl_phdr_info *info)
{
    static const char *const names[] = {"libc.so", "libc-", "ld-", "linux-vdso", "linux-gate"};
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    bool is_one = info->dlpi_addr == 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is_one = is_one || strncmp(name, names[i], strlen(names[i])) == 0;
    }
    return is_one;
}

static bool is_here(const struct dl_phdr_info *info)
{
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD &&
            (uintptr_t)is_here - (info->dlpi_addr + header->p_vaddr) < header->p_memsz) {
            return true;
        }
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    const replacements *all = user;
    bool is_left = is_left_alone(info) || (all->is_left_here && is_here(info));
    for (uint16_t i = 0; !is_left && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_DYNAMIC) {
            replace_calls(all, info, (const ElfW(Dyn) *)(info->dlpi_addr + header->p_vaddr));
        }
    }
    return 0;
}

/* The heap of a sanitizer that came with a plug-in says what is wrong by itself, as long as each
 * block is as long as it was asked for. */
static bool has_heap_of_its_own(void)
{
    static const char *const beginnings[] = {"__asan_init", "__lsan_init", "__msan_init",
                                             "__tsan_init"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (ls_library_find(NULL, beginnings[i])) {
            return true;
        }
    }
    return false;
}

void ls_foreign_calls_fill_heap(void (*filler)(uint8_t *bytes, size_t size))
{
    if (has_heap_of_its_own()) {
        return;
    }
    replacements all = {of_heap, sizeof of_heap / sizeof of_heap[0], false};
    fill = filler;
    (void)dl_iterate_phdr(visit, &all);
}

void ls_foreign_calls_delay_threads(void)
{
    replacements all = {of_threads, sizeof of_threads / sizeof of_threads[0], false};
    (void)dl_iterate_phdr(visit, &all);
}

void ls_foreign_calls_shift_clock(void)
{
    replacements all = {of_clock, sizeof of_clock / sizeof of_clock[0], true};
    uint64_t chance = chance_of(now_ns(), (uint64_t)getpid());
    shift =
        (struct timespec){1 + (time_t)(chance % SHIFT_S_MAX), (long)((chance >> 32) % NS_PER_S)};
    (void)dl_iterate_phdr(visit, &all);
}

#else
void ls_foreign_calls_fill_heap(void (*filler)(uint8_t *bytes, size_t size))
{
    (void)filler;
}

void ls_foreign_calls_delay_threads(void)
{
}

void ls_foreign_calls_shift_clock(void)
{
}
#endif

/* ---- file writes ---- */

enum {
    PATH_BYTES_MAX = 4096,
};

static char written[PATH_BYTES_MAX]; /* "": none since the last call */

static int first_argument(void *context)
{
#if defined(__x86_64__)
    return (int)((ucontext_t *)context)->uc_mcontext.gregs[REG_RDI];
#else
    (void)context;
    return -1;
#endif
}

/* In the call that was refused, whose first argument is the file: the signal comes nowhere else.
 * Where the registers of a call do not tell it any more, no file is named. */
static void on_refused(int signal_number, siginfo_t *info, void *context)
{
    char link[32];
    int fd = first_argument(context);
    (void)signal_number;
    (void)info;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (written[0] == '\0') {
        ssize_t length = readlink(link, written, sizeof written - 1);
        written[length > 0 ? length : 0] = '\0';
    }
}

void ls_file_writes_refuse(void)
{
    const struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};
    struct rlimit limit;
    (void)fflush(NULL);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && sigaction(SIGXFSZ, &action, NULL) == 0) {
        limit.rlim_cur = 0;
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
}

/* A stream keeps what could not be written, and its file is met again. */
bool ls_file_writes_next(char *name, size_t capacity)
{
    (void)fflush(NULL);
    const char *folder = strrchr(written, '/');
    bool is_one = written[0] != '\0';
    if (is_one) {
        ls_name_copy(name, capacity, folder ? folder + 1 : written);
    }
    written[0] = '\0';
    return is_one;
}
