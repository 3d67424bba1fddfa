/* process_metrics.h: the usual process_* series, from /proc. */
#ifndef BERTD_PROCESS_METRICS_H
#define BERTD_PROCESS_METRICS_H

#include "server/json_write.h"

/* What /proc does not tell is 0; the series are always there. */
void process_metrics_write(struct json_writer *out);

#endif
