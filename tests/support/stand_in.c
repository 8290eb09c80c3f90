/* In place of a library that the programs of a test link and do not call: see ls_add_stand_ins. A
 * program that calls it ends with the name of the function. */

extern const char ls_tests_stand_in[];
const char ls_tests_stand_in[] = "a library that no test calls";
