/* version.h: the program's version, for `bertd version`, /info and the metrics. */
#ifndef BERTD_VERSION_H
#define BERTD_VERSION_H

#define BERTD_VERSION "0.1.0"

#endif
