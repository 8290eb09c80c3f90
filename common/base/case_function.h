/* Case function: a function that says something of each value in a list. The list is an X macro, as
 * LS_STATUS_MAP; `row` turns one of its rows into an LS_CASE. Used by the files that own a list. */
#ifndef LOCKSTEP_COMMON_BASE_CASE_FUNCTION_H
#define LOCKSTEP_COMMON_BASE_CASE_FUNCTION_H

#define LS_CASE(label, result)                                                                     \
    case label:                                                                                    \
        return result;

#define LS_CASE_FUNCTION(result_type, function, type, map, row, otherwise)                         \
    result_type function(type value)                                                               \
    {                                                                                              \
        switch ((int)value) {                                                                      \
            map(row)                                                                               \
        }                                                                                          \
        return otherwise;                                                                          \
    }

/* Rows of lists X(NAME, number, text): the name as it is written, or the text. */
#define LS_CASE_NAME(name, number, text) LS_CASE(number, #name)
#define LS_CASE_TEXT(name, number, text) LS_CASE(number, text)

#endif
