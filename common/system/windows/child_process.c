#include "lockstep/common/system/child_process.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum {
    LINE_BYTES_MAX = 32768, /* of a command line, as the system has it */
    WATCH_MS = 20,          /* between two looks at whether a child is to be stopped */
    IS_OPEN = 1,            /* a descriptor, as the C library notes it */
};

/* ---- files and variables ---- */

bool ls_child_process_file(const char *name, char *out, size_t capacity)
{
    bool is_file = strpbrk(name, "/\\") || strstr(name, ".dll");
    if (is_file) {
        DWORD size = GetFullPathNameA(name, (DWORD)capacity, out, NULL);
        return size > 0 && size < capacity;
    }
    size_t size = strlen(name) + 1;
    if (size <= capacity) {
        memcpy(out, name, size);
    }
    return size <= capacity;
}

static bool is_set_by(const char *variable, const char *const *changed)
{
    for (; *changed; changed++) {
        if (_strnicmp(variable, *changed, strcspn(*changed, "=") + 1) == 0) {
            return true;
        }
    }
    return false;
}

void ls_child_process_variables(const char *const *changed, bool (*keeps)(const char *variable),
                                const char **variables, uint32_t variables_max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; changed[i] && count < variables_max; i++) {
        variables[count++] = changed[i];
    }
    for (char **own = _environ; own && *own && count < variables_max; own++) {
        if (!is_set_by(*own, changed) && (!keeps || keeps(*own))) {
            variables[count++] = *own;
        }
    }
    variables[count] = NULL;
}

/* ---- a program ---- */

typedef struct text_room {
    char *bytes;
    size_t size;
    size_t capacity;
    bool is_full;
} text_room;

static void add(text_room *room, char byte)
{
    room->is_full = room->is_full || room->size + 1 >= room->capacity;
    if (!room->is_full) {
        room->bytes[room->size++] = byte;
        room->bytes[room->size] = '\0';
    }
}

/* As the C library of the child takes it apart: backslashes count before a quotation mark alone. */
static void add_word(text_room *line, const char *word)
{
    size_t slashes = 0;
    add(line, '"');
    for (; *word != '\0'; word++) {
        slashes = *word == '\\' ? slashes + 1 : slashes;
        for (size_t i = 0; *word == '"' && i < slashes + 1; i++) {
            add(line, '\\');
        }
        slashes = *word == '\\' ? slashes : 0;
        add(line, *word);
    }
    for (size_t i = 0; i < slashes; i++) {
        add(line, '\\');
    }
    add(line, '"');
}

/* Texts behind one another, and a NUL more. The caller frees it. NULL: memory is out. */
static char *block_of(const char *const *variables)
{
    size_t size = 2;
    for (size_t i = 0; variables[i]; i++) {
        size += strlen(variables[i]) + 1;
    }
    char *block = ls_allocate(ls_allocator_heap(), size);
    char *at = block;
    for (size_t i = 0; block && variables[i]; i++) {
        size_t bytes = strlen(variables[i]) + 1;
        memcpy(at, variables[i], bytes);
        at += bytes;
    }
    return block;
}

/* A handle that the child has as well; the standard stream's file, or nowhere. */
static HANDLE hand_down(int descriptor)
{
    HANDLE copy = INVALID_HANDLE_VALUE;
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    if (descriptor == 0) {
        return CreateFileA("NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                           &inherited, OPEN_EXISTING, 0, NULL);
    }
    HANDLE file = (HANDLE)_get_osfhandle(descriptor);
    (void)DuplicateHandle(GetCurrentProcess(), file, GetCurrentProcess(), &copy, 0, TRUE,
                          DUPLICATE_SAME_ACCESS);
    return copy;
}

/* A C library hands this down to that of a child: how many descriptors there are, what each is, and
 * their handles. The child has the standard ones another way. */
#pragma pack(push, 1)
typedef struct handed_down {
    uint32_t count;
    uint8_t notes[LS_CHILD_STREAMS + LS_CHILD_DESCRIPTORS_MAX];
    HANDLE handles[LS_CHILD_STREAMS + LS_CHILD_DESCRIPTORS_MAX];
} handed_down;
#pragma pack(pop)

static handed_down hand_all_down(const ls_child_process_config *config)
{
    handed_down all = {.count = LS_CHILD_STREAMS + LS_CHILD_DESCRIPTORS_MAX};
    for (uint32_t i = 0; i < all.count; i++) {
        all.handles[i] = INVALID_HANDLE_VALUE;
    }
    for (uint32_t i = 0; i < config->descriptor_count; i++) {
        all.notes[LS_CHILD_DESCRIPTOR_FIRST + i] = IS_OPEN;
        all.handles[LS_CHILD_DESCRIPTOR_FIRST + i] = hand_down(config->descriptors[i]);
    }
    return all;
}

static bool create(const ls_child_process_config *config, const HANDLE streams[LS_CHILD_STREAMS],
                   const handed_down *all, PROCESS_INFORMATION *made)
{
    char own[MAX_PATH] = "";
    STARTUPINFOA start = {.cb = sizeof start,
                          .dwFlags = STARTF_USESTDHANDLES,
                          .hStdInput = streams[0],
                          .hStdOutput = streams[1],
                          .hStdError = streams[2],
                          .cbReserved2 = sizeof *all,
                          .lpReserved2 = (BYTE *)(uintptr_t)all};
    text_room line = {.bytes = ls_allocate(ls_allocator_heap(), LINE_BYTES_MAX),
                      .capacity = LINE_BYTES_MAX};
    char *block = config->environment ? block_of(config->environment) : NULL;
    bool is_ready = line.bytes && (block || !config->environment);
    (void)GetModuleFileNameA(NULL, own, sizeof own);
    if (is_ready) {
        add_word(&line, config->program[0] ? config->program : own);
        for (size_t i = 1; config->arguments[0] && config->arguments[i]; i++) {
            add(&line, ' ');
            add_word(&line, config->arguments[i]);
        }
    }
    bool is_made =
        is_ready && !line.is_full &&
        CreateProcessA(NULL, line.bytes, NULL, NULL, TRUE,
                       config->has_group ? CREATE_NEW_PROCESS_GROUP : 0, block, NULL, &start, made);
    DWORD error = GetLastError();
    ls_release(ls_allocator_heap(), line.bytes);
    ls_release(ls_allocator_heap(), block);
    SetLastError(error);
    return is_made;
}

/* One job has all children that are to die with this process: the system ends them with it. */
static void tie(HANDLE process)
{
    static HANDLE job;
    if (!job) {
        JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags =
                                                           JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
        job = CreateJobObjectW(NULL, NULL);
        (void)SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                      sizeof limits);
    }
    (void)AssignProcessToJobObject(job, process);
}

ls_status ls_child_process_start(const ls_child_process_config *config, ls_child_process *process,
                                 ls_text *why)
{
    HANDLE streams[LS_CHILD_STREAMS];
    PROCESS_INFORMATION made = {0};
    if (config->prepare) {
        return ls_fail(LS_IO, why, "a child begins with what prepares it on POSIX systems alone");
    }
    for (int i = 0; i < LS_CHILD_STREAMS; i++) {
        streams[i] = hand_down(config->streams[i]);
    }
    const handed_down all = hand_all_down(config);
    bool is_made = create(config, streams, &all, &made);
    if (!is_made) {
        ls_text_set(why, "cannot start %s: %s", config->program, ls_windows_words());
        (void)ls_windows_fail();
    }
    for (int i = 0; i < LS_CHILD_STREAMS; i++) {
        CloseHandle(streams[i]);
    }
    for (uint32_t i = 0; i < config->descriptor_count; i++) {
        CloseHandle(all.handles[LS_CHILD_DESCRIPTOR_FIRST + i]);
    }
    if (!is_made) {
        return errno == ENOENT ? LS_NOT_FOUND : LS_IO;
    }
    if (config->dies_with_parent) {
        tie(made.hProcess);
    }
    CloseHandle(made.hThread);
    /* Handles of the system fit an int. */
    *process = (ls_child_process){.id = (int)made.dwProcessId,
                                  .ended = (int)(intptr_t)made.hProcess,
                                  .has_group = config->has_group};
    return LS_OK;
}

static HANDLE handle_of(const ls_child_process *process)
{
    return (HANDLE)(intptr_t)process->ended;
}

static uint64_t worked_ns(HANDLE process)
{
    FILETIME begun, ended, kernel = {0}, user = {0};
    (void)GetProcessTimes(process, &begun, &ended, &kernel, &user);
    return (((uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
            ((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime)) *
           100;
}

bool ls_child_process_wait(ls_child_process *process, uint32_t wait_ms, ls_child_process_end *end)
{
    DWORD code = 0;
    if (WaitForSingleObject(handle_of(process),
                            wait_ms == LS_CHILD_WAIT_FOREVER ? INFINITE : wait_ms) !=
        WAIT_OBJECT_0) {
        return false;
    }
    (void)GetExitCodeProcess(handle_of(process), &code);
    if (end) {
        *end =
            (ls_child_process_end){.exit_code = code, .worked_ns = worked_ns(handle_of(process))};
    }
    CloseHandle(handle_of(process));
    *process = (ls_child_process){0};
    return true;
}

/* A console program without a window has nothing that it could be asked by. */
void ls_child_process_ask(const ls_child_process *process)
{
    if (!process->has_group || !GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, (DWORD)process->id)) {
        ls_child_process_strike(process);
    }
}

void ls_child_process_strike(const ls_child_process *process)
{
    (void)TerminateProcess(handle_of(process), EXIT_FAILURE);
}

void ls_child_process_kill(ls_child_process *process)
{
    if (process->id != 0) {
        ls_child_process_strike(process);
        ls_child_process_wait(process, LS_CHILD_WAIT_FOREVER, NULL);
    }
}

/* ---- a program, until its end ---- */

/* Files of the system's: pipes would wait for one another. */
static int open_passage(const uint8_t *bytes, size_t size)
{
    int file = ls_shared_memory_make("passage");
    if (file >= 0 && !ls_shared_memory_write(file, bytes, size, 0)) {
        ls_shared_memory_close(file);
        file = -1;
    }
    return file;
}

static void read_output(int file, const ls_child_process_exchange *exchange,
                        ls_child_process_end *end)
{
    int got = 1;
    (void)_lseeki64(file, 0, SEEK_SET);
    while (got > 0 && end->output_bytes < exchange->output_bytes_max) {
        size_t room = exchange->output_bytes_max - end->output_bytes;
        got = _read(file, exchange->output + end->output_bytes,
                    (unsigned)LS_MIN(room, (size_t)INT_MAX));
        end->output_bytes += got > 0 ? (size_t)got : 0;
    }
}

static bool is_too_much(int file, const ls_child_process_exchange *exchange)
{
    return (uint64_t)_filelengthi64(file) > exchange->output_bytes_max;
}

static void follow(ls_child_process *child, const ls_child_process_exchange *exchange, int output,
                   ls_child_process_end *end)
{
    bool is_overdue = false;
    for (uint32_t waited_ms = 0; !ls_child_process_wait(child, WATCH_MS, end);
         waited_ms += WATCH_MS) {
        bool is_stopped = exchange->is_stopped && atomic_load(exchange->is_stopped);
        uint64_t work_max_ns = exchange->work_max_ms * LS_NS_PER_MS;
        is_overdue = is_overdue || waited_ms >= exchange->time_max_ms ||
                     (work_max_ns > 0 && worked_ns(handle_of(child)) >= work_max_ns);
        if (is_stopped || is_overdue || is_too_much(output, exchange)) {
            ls_child_process_strike(child);
        }
    }
    end->is_overdue = is_overdue;
}

ls_status ls_child_process_run(const ls_child_process_config *config,
                               const ls_child_process_exchange *exchange, ls_child_process_end *end,
                               ls_text *why)
{
    ls_child_process child = {0};
    ls_child_process_config with_files = *config;
    int input = exchange->input ? open_passage(exchange->input, exchange->input_bytes) : -1;
    int output = open_passage(NULL, 0);
    ls_status status = LS_IO;
    with_files.dies_with_parent = true;
    if (output < 0 || (exchange->input && input < 0)) {
        ls_text_set(why, "no file for what a process says: %s", ls_windows_words());
    } else {
        with_files.streams[0] = exchange->input ? input : config->streams[0];
        with_files.streams[1] = output;
        status = ls_child_process_start(&with_files, &child, why);
    }
    *end = (ls_child_process_end){0};
    if (status == LS_OK) {
        follow(&child, exchange, output, end);
        read_output(output, exchange, end);
    }
    ls_shared_memory_close(input);
    ls_shared_memory_close(output);
    return status;
}

/* ---- copies of this process, which this system does not make ---- */

ls_status ls_child_process_fork(const ls_child_process_work *work, ls_child_process *process,
                                int *channel, ls_text *why)
{
    (void)work;
    (void)process;
    (void)channel;
    return ls_fail(LS_IO, why, "a process copies itself on POSIX systems alone");
}

int ls_child_process_keep(int descriptor)
{
    return descriptor;
}

bool ls_child_process_hush(void)
{
    return freopen("NUL", "w", stdout) && freopen("NUL", "w", stderr);
}
