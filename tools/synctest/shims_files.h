/* The shims for files that a plug-in names without a folder: those that are there are not, and
 * those that are not are. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SHIMS_FILES_H
#define LOCKSTEP_TOOLS_SYNCTEST_SHIMS_FILES_H

/* From now on. Called by the surroundings, in the folder that the plug-in's user is in. */
void synctest_shims_files_turn(void);

#endif
