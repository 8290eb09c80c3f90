/* Fuzzes the file of operators of a service: any text. Each operator in it has a name and a token
 * of its own, and is found by it alone. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/control/operators.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    TEXT_BYTES_MAX = 1 << 15,
};

static void check_row(const ls_operators *operators, uint32_t index)
{
    const ls_operator *row = &operators->rows[index];
    LS_ASSERT(row->role <= LS_OPERATOR_ADMIN && ls_operator_role_word(row->role));
    LS_ASSERT(memchr(row->name, '\0', sizeof row->name) && row->name[0] != '\0');
    LS_ASSERT(memchr(row->token, '\0', sizeof row->token));
    LS_ASSERT(strlen(row->token) >= LS_OPERATOR_TOKEN_BYTES_MIN);
    LS_ASSERT(ls_operators_find(operators, row->token) == row);
    for (uint32_t i = 0; i < index; i++) {
        LS_ASSERT(strcmp(operators->rows[i].name, row->name) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[TEXT_BYTES_MAX];
    static ls_operators operators;
    ls_text why = {{0}};
    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    memset(&operators, 0, sizeof operators);
    ls_status status = ls_operators_parse(&operators, text, "operators", &why);
    LS_ASSERT(status == LS_OK || why.bytes[0] != '\0');
    LS_ASSERT(operators.count <= LS_OPERATORS_MAX);
    for (uint32_t i = 0; i < operators.count; i++) {
        check_row(&operators, i);
    }
    LS_ASSERT(!ls_operators_find(&operators, ""));
    LS_ASSERT(size > 0 || operators.count == 0);
    return 0;
}
