/* Plot data: what the page's panels show, as named blocks of a gnuplot script: one for each panel
 * and strategy, and the smallest and the largest value of each panel as variables least_PANEL and
 * most_PANEL. Called by plot. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_PLOT_DATA_H
#define LOCKSTEP_TOOLS_TIMESTEP_PLOT_DATA_H

#include "lockstep/tools/timestep/plot.h"

#define STEPPING_PLOT_POSITION_STEPS 6u /* how long the panel about places lasts, in dt */
#define STEPPING_PLOT_BEFORE_MS 400     /* of the panel about steps, from the longest frame's end */
#define STEPPING_PLOT_AFTER_MS 550

typedef enum stepping_plot_panel {
    STEPPING_PLOT_POSITION,
    STEPPING_PLOT_ENERGY,
    STEPPING_PLOT_STEPS,
    STEPPING_PLOT_FRAMES,
    STEPPING_PLOT_DROPPED,
    STEPPING_PLOT_PANEL_COUNT,
} stepping_plot_panel;

/* Blocks of data are called $NAME0, $NAME1, ... by strategy; those of the stutter, $stutter. */
const char *stepping_plot_block_name(stepping_plot_panel panel);

/* A simulation is driven by some strategies only. */
bool stepping_plot_is_shown(const stepping_plot_page *page, uint32_t index);

/* When the panel about places begins: a simulation needs a second to get going. */
uint64_t stepping_plot_position_ns(const stepping_plot_page *page);

/* A trace's name as it may stand in a script: the user chose it, and gnuplot reads marks in it. */
const char *stepping_plot_plain_name(const stepping_trace *trace, char text[LS_NAME_BYTES_MAX]);

/* Errors of stepping_plot_write. */
ls_status stepping_plot_write_data(const stepping_plot_page *page, FILE *script, ls_text *why);

#endif
