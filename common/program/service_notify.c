#include "lockstep/common/program/service_notify.h"

#include <stdio.h>
#include <systemd/sd-daemon.h>

enum {
    SENTENCE_BYTES_MAX = 256,
    NS_PER_US = 1000,
};

void ls_service_notify_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

void ls_service_notify_status(const char *sentence)
{
    char line[SENTENCE_BYTES_MAX];
    snprintf(line, sizeof line, "%s", sentence);
    for (char *at = line; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\r' ? ' ' : *at; /* a line of its own would be a command */
    }
    (void)sd_notifyf(0, "STATUS=%s", line);
}

void ls_service_notify_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

uint64_t ls_service_notify_watchdog_ns(void)
{
    uint64_t interval_us = 0;
    return sd_watchdog_enabled(0, &interval_us) > 0 ? interval_us * NS_PER_US : 0;
}

void ls_service_notify_alive(void)
{
    (void)sd_notify(0, "WATCHDOG=1");
}
