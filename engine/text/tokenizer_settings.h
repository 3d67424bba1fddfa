/* tokenizer_settings.h: what stands beside a vocabulary that is no tokenizer.json: the class of the
 * tokenizer, its special and added tokens, its flags, from tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json and config.json, by the rules of the pinned
 * `transformers`. Internal to engine/text; used while a tokenizer is opened.
 *
 * Those rules, quirks included: with added_tokens_decoder in tokenizer_config.json the other two
 * files do not count; without it special_tokens_map.json overrides the configuration. The tokens of
 * the decoder, or of added_tokens.json, are added first, by id, then the named ones in the order of
 * enum special_role, then the list of extra ones. Of equal tokens among the latter two the last one
 * counts, and its flags replace those of the one before. */
#ifndef BERTD_TEXT_TOKENIZER_SETTINGS_H
#define BERTD_TEXT_TOKENIZER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/text/json_field.h"
#include "engine/text/tokenizer_parts.h"

enum special_role {
    SPECIAL_BOS,
    SPECIAL_EOS,
    SPECIAL_UNK,
    SPECIAL_SEP,
    SPECIAL_PAD,
    SPECIAL_CLS,
    SPECIAL_MASK,
    SPECIAL_ROLES
};

struct special_token {
    struct view content;
    struct added_token token; /* its id is not set */
    bool says_normalized;     /* else it is what `special` is not */
    bool is_object;           /* in the file; else it is a plain string */
};

struct tokenizer_settings {
    json_t *config, *map, *added, *model; /* NULL where there is no file; views are into them */
    struct view class_name;               /* without "Fast" at its end; empty: none is said */
    struct view model_type;               /* of config.json; empty: none */
    struct special_token roles[SPECIAL_ROLES];
};

/* Reads the files of a directory. Errors: IO, BAD_FILE, NO_MEMORY. */
enum status tokenizer_settings_open(const char *dir, struct tokenizer_settings *out,
                                    struct error *err);
void tokenizer_settings_close(struct tokenizer_settings *settings);

/* Fills the roles; `usual` has the names of tokens that no file names. Errors: BAD_FILE,
 * UNSUPPORTED (a named token is null). */
enum status tokenizer_settings_read_roles(struct tokenizer_settings *settings,
                                          const char *const usual[SPECIAL_ROLES],
                                          struct error *err);

/* A flag of tokenizer_config.json; absent and null leave *out alone. Error: BAD_FILE. */
enum status tokenizer_settings_flag(const struct tokenizer_settings *settings, const char *name,
                                    bool *out, struct error *err);

/* Adds all added tokens; `extra` counts where no file has a list of extra ones (NULL: then that of
 * special_tokens_map.json does, by its old name). The vocabulary, the normalizer and the roles are
 * complete. Errors: BAD_FILE, UNSUPPORTED, NO_MEMORY. */
enum status tokenizer_settings_add_tokens(const struct tokenizer_settings *settings,
                                          struct tokenizer *tokenizer,
                                          const struct special_token *extra, size_t extra_count,
                                          struct error *err);

#endif
