/* fault.h: places where a build for tests can make the program fail as machines do.
 *
 * Only a build with BERTD_FAULTS knows faults: the program bertd-faults, which only tests use; in
 * any other build these are nothing. */
#ifndef BERTD_BASE_FAULT_H
#define BERTD_BASE_FAULT_H

#ifdef BERTD_FAULTS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The calling stage hangs as long as the file $BERTD_FAULT_STAGES/STAGE.REPLICA is there. */
static inline void fault_stage_hang(const char *stage, unsigned replica) {
    const char *folder = getenv("BERTD_FAULT_STAGES");
    char path[4096];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s.%u", folder, stage, replica);
    while (access(path, F_OK) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}
#else
#define fault_stage_hang(stage, replica) ((void)0)
#endif

#endif
