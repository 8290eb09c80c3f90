/* Foreign locale: a locale that writes a decimal comma, made here, since the machine that tests has
 * often none installed. Called by the surroundings. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_FOREIGN_LOCALE_H
#define LOCKSTEP_TOOLS_SYNCTEST_FOREIGN_LOCALE_H

/* Numbers of this process have a decimal comma from now on, where the C library is GNU's and files
 * can be written; else nothing is changed. */
void synctest_foreign_locale_enter(void);

#endif
