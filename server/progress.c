/* progress.c: draws the bar in place with a carriage return. */
#include "server/progress.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"

enum { BAR_CELLS = 30 };

void progress_init(struct progress *progress, FILE *input) {
    struct stat st;
    *progress = (struct progress){.started_ns = clock_now_ns()};
    if (!isatty(STDERR_FILENO) || fstat(fileno(input), &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size == 0)
        return;
    progress->shown = true;
    progress->bytes_total = (uint64_t)st.st_size;
}

void progress_update(struct progress *progress, uint64_t inputs, uint64_t bytes) {
    if (!progress->shown)
        return;
    uint64_t now = clock_now_ns();
    if (now < progress->next_ns)
        return;
    progress->next_ns = now + NS_PER_S / 10;
    double share = (double)bytes / (double)progress->bytes_total;
    double seconds = (double)(now - progress->started_ns) / (double)NS_PER_S;
    int cells = share >= 1.0 ? BAR_CELLS : (int)(share * BAR_CELLS);
    fprintf(stderr, "\r[%.*s%*s] %3.0f %% %llu inputs, %.0f/s ", cells,
            "##############################", BAR_CELLS - cells, "",
            share >= 1.0 ? 100.0 : share * 100.0, (unsigned long long)inputs,
            seconds > 0.0 ? (double)inputs / seconds : 0.0);
}

void progress_end(struct progress *progress) {
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
