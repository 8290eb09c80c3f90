#define _XOPEN_SOURCE 700
#include "lockstep/common/system/file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/lockstep-file-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][sizeof folder + 32];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void open_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    ls_folder *names = ls_folder_open(folder);
    for (const char *name = NULL; (name = ls_folder_next(names)) != NULL;) {
        remove(path_of(name));
    }
    ls_folder_close(names);
    remove(folder);
}

TestSuite(file, .init = open_folder, .fini = remove_folder);

Test(file, facts_are_those_of_what_a_path_names)
{
    ls_file_facts facts;
    write_text("plain", "four");
    cr_assert_eq(symlink(path_of("plain"), path_of("link")), 0);
    cr_assert(ls_file_look(path_of("plain"), &facts));
    cr_expect(facts.kind == LS_FILE_PLAIN && facts.bytes == 4 && !facts.is_link);
    uint64_t number = facts.number;
    cr_assert(ls_file_look(path_of("link"), &facts));
    cr_expect(facts.kind == LS_FILE_PLAIN && facts.bytes == 4 && facts.is_link);
    cr_expect_eq(facts.number, number);
    cr_assert(ls_file_look(folder, &facts));
    cr_expect_eq(facts.kind, LS_FILE_FOLDER);
    cr_assert_eq(mkfifo(path_of("pipe"), 0600), 0);
    cr_assert(ls_file_look(path_of("pipe"), &facts));
    cr_expect_eq(facts.kind, LS_FILE_OTHER);
}

Test(file, nothing_has_no_facts)
{
    ls_file_facts facts = {.bytes = 7};
    cr_expect_not(ls_file_look(path_of("none"), &facts));
    cr_expect_eq(errno, ENOENT);
    cr_assert_eq(symlink(path_of("none"), path_of("link")), 0);
    cr_expect_not(ls_file_look(path_of("link"), NULL), "a link to nothing");
    cr_expect_eq(facts.bytes, 7u);
}

Test(file, lock_is_held_by_one_process_until_it_ends)
{
    int lock = ls_file_lock(path_of("lock"));
    cr_assert_geq(lock, 0);
    cr_expect_eq(ls_file_lock(path_of("lock")), -1);
    cr_expect_eq(errno, EWOULDBLOCK);
    ls_file_unlock(lock);
    pid_t child = fork();
    if (child == 0) {
        _exit(ls_file_lock(path_of("lock")) < 0);
    }
    int end = -1;
    cr_assert_eq(waitpid(child, &end, 0), child);
    cr_expect_eq(end, 0);
    lock = ls_file_lock(path_of("lock"));
    cr_expect_geq(lock, 0, "the child has ended");
    ls_file_unlock(lock);
    cr_expect_eq(ls_file_lock(path_of("none/lock")), -1);
    cr_expect_eq(errno, ENOENT);
}

static void expect_beneath(const char *path, const char *content)
{
    char bytes[16] = "";
    int file = ls_file_open_beneath(path_of("root"), path);
    cr_assert(file >= 0, "%s: %s", path, strerror(errno));
    cr_expect(read(file, bytes, sizeof bytes - 1) >= 0);
    cr_expect_str_eq(bytes, content, "%s", path);
    close(file);
}

static void expect_refused(const char *path, int error)
{
    errno = 0;
    cr_expect_eq(ls_file_open_beneath(path_of("root"), path), -1, "%s", path);
    cr_expect_eq(errno, error, "%s: %s", path, strerror(errno));
}

static void make_link(const char *target, const char *name)
{
    cr_assert_eq(symlink(target, path_of(name)), 0, "%s", name);
}

/* As Kubernetes lays out a volume: names are links through a link to the newest folder. */
Test(file, path_beneath_a_folder_stays_there_by_whatever_links)
{
    cr_assert(ls_folder_make(path_of("root"), true));
    cr_assert(ls_folder_make(path_of("root/..2026"), true));
    write_text("root/..2026/map", "here");
    write_text("secret", "there");
    make_link("..2026", "root/..data");
    make_link("..data/map", "root/map");
    make_link("../map", "root/..2026/up");
    expect_beneath("map", "here");
    expect_beneath("..2026//./map", "here");
    expect_beneath("..data/up", "here");
    expect_refused("none", ENOENT);
    expect_refused("map/map", ENOTDIR);
    expect_refused("../secret", EXDEV);
    expect_refused("..2026/../map", EXDEV);
    expect_refused("..", EXDEV);
    expect_refused(path_of("root/map"), EXDEV);
    make_link("../secret", "root/out");
    make_link(path_of("secret"), "root/absolute");
    make_link("..2026/../..", "root/far");
    make_link("loop", "root/loop");
    expect_refused("out", EXDEV);
    expect_refused("absolute", EXDEV);
    expect_refused("far/secret", EXDEV);
    expect_refused("loop", ELOOP);
    for (const char *const *name = (const char *const[]){"map", "out", "absolute", "far", "loop",
                                                         "..data", "..2026/up", "..2026/map", NULL};
         *name; name++) {
        char path[32];
        snprintf(path, sizeof path, "root/%s", *name);
        cr_expect_eq(unlink(path_of(path)), 0, "%s", path);
    }
    cr_expect(rmdir(path_of("root/..2026")) == 0);
}

Test(file, folder_gives_every_name_once)
{
    static const char *const names[] = {"a", ".b", "c.journal"};
    uint32_t seen[3] = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        write_text(names[i], "");
    }
    ls_folder *open = ls_folder_open(folder);
    cr_assert_not_null(open);
    for (const char *name = NULL; (name = ls_folder_next(open)) != NULL; count++) {
        for (size_t i = 0; i < 3; i++) {
            seen[i] += strcmp(name, names[i]) == 0;
        }
    }
    ls_folder_close(open);
    cr_expect(count == 3 && seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    cr_expect_null(ls_folder_open(path_of("none")));
    cr_expect_eq(errno, ENOENT);
}

Test(file, private_folder_is_for_its_owner_alone)
{
    struct stat found;
    cr_assert(ls_folder_make(path_of("mine"), true));
    cr_assert_eq(stat(path_of("mine"), &found), 0);
    cr_expect_eq(found.st_mode & 0777, 0700u);
    cr_expect_not(ls_folder_make(path_of("mine"), true));
    cr_expect_eq(errno, EEXIST);
}
