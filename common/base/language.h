/* Language: lets C++ call what the installed headers declare, and lets those headers stay free of
 * what only C knows. LS_C_BEGIN and LS_C_END stand round their declarations; LS_LITERAL(type){...}
 * is a value of a struct. Included by every installed header that declares a function. */
#ifndef LOCKSTEP_COMMON_BASE_LANGUAGE_H
#define LOCKSTEP_COMMON_BASE_LANGUAGE_H

#ifdef __cplusplus
#define LS_C_BEGIN extern "C" {
#define LS_C_END }
#define LS_LITERAL(type) type
#else
#define LS_C_BEGIN
#define LS_C_END
#define LS_LITERAL(type) (type)
#endif

#endif
