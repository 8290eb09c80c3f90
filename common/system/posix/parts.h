/* Parts: what the modules of this folder need of the system that not every POSIX has. One file of
 * the two beside it is built: linux_parts.c, or portable_parts.c, with functions of machine.h and
 * program_start.h as well. For no other folder. */
#ifndef LOCKSTEP_COMMON_SYSTEM_POSIX_PARTS_H
#define LOCKSTEP_COMMON_SYSTEM_POSIX_PARTS_H

#include <stdbool.h>

/* A descriptor that can be read once this child has ended, waited for or not; -1: there is none. */
int ls_child_part_end(int id);

/* A child that does this until it becomes another program or ends; -1 with errno: there is none. On
 * Linux it works in this process's memory, and the calling thread stands still: a copy of a large
 * process takes long to make, and then each page that another thread writes to is copied. */
int ls_child_part_start(int (*run)(void *user), void *user);

/* Becomes a program, which is looked for in PATH, with these variables; NULL: with its own. Returns
 * where it cannot. */
void ls_child_part_execute(const char *program, char *const *arguments, char *const *environment);

/* In a child, behind fork: from now on this process does not outlive its parent. False: the parent
 * is gone already. */
bool ls_child_part_follow(int parent);

void ls_child_part_close_from(int first);

/* As ls_file_open_beneath, of an open folder; -1 with ENOSYS where the system does not do it. */
int ls_file_part_open_beneath(int folder, const char *path);

/* A path that starts this program once more; "" where the system tells none. */
extern const char ls_program_part_path[];

/* At exit, with its code. */
void ls_program_part_at_end(void (*at_end)(int code));

#endif
