/* In place of a library that a test's programs link and do not call: see ls_add_stand_ins. A program
 * that does call it ends with the name of the function that is missing. */

extern const char ls_tests_stand_in[];
const char ls_tests_stand_in[] = "a library that no test calls";
