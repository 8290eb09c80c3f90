/* Report code: traced writes with their call stacks, and the machine code of both builds around the
 * first write in which they differ, as tables. Reads evidence, decides nothing. Called by the
 * reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPORT_CODE_H
#define LOCKSTEP_TOOLS_DESYNC_REPORT_CODE_H

#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/report.h"

void explain_report_add_trace(explain_sheet *sheet, const explain_report *report);
void explain_report_add_differing_write(explain_sheet *sheet, const explain_report *report);
void explain_report_add_chain(explain_sheet *sheet, const explain_report *report);

/* The machine code around two writes, each marked where the other has another instruction; of one
 * that is NULL the list is empty. */
void explain_report_listings(const explain_report *report, const explain_field_write *here,
                             const explain_field_write *other, explain_listing listings[2]);

#endif
