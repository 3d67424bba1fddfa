/* path.h: paths of files inside a directory. */
#ifndef BERTD_BASE_PATH_H
#define BERTD_BASE_PATH_H

#include <limits.h>

#include "engine/base/status.h"

/* Writes DIR/NAME. Error: IO when that is longer than the system takes. */
enum status path_join(const char *dir, const char *name, char path[PATH_MAX], struct error *err);

#endif
