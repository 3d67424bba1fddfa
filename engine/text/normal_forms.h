/* normal_forms.h: NFC, NFD, NFKC and NFKD of a text under normalization, by the tables of the
 * pinned library. */
#ifndef BERTD_TEXT_NORMAL_FORMS_H
#define BERTD_TEXT_NORMAL_FORMS_H

#include <stdbool.h>

#include "engine/base/status.h"
#include "engine/text/normal_text.h"

/* Decomposes and reorders, by compatibility if asked; then joins again if asked. Linear time.
 * Error: NO_MEMORY. */
enum status normal_form_apply(struct normal_text *text, bool compatibility, bool compose);

#endif
