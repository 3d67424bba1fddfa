/* regex.c: PCRE2 under a budget that is linear in the text.
 *
 * PCRE2 bounds the steps at one start of a match, not those of a search. So a search first runs
 * with a small bound at every start; most never need more. Where that is not enough, each start is
 * tried by itself with growing bounds, and what was granted is taken off the subject's budget. */
#include "engine/text/regex.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "engine/text/normal_text.h"
#include "engine/text/regex_syntax.h"
#include "engine/text/utf8.h"

enum {
    STEPS_FIRST = 64,       /* at each start of the quick search */
    STEPS_GROWTH = 8,       /* from one trial of a start to the next */
    STEPS_PER_BYTE = 64,    /* of the budget */
    STEPS_ALWAYS = 1 << 20, /* of the budget, for short texts */
    HEAP_KIB = 64 << 10,
    MESSAGE_BYTES = 128
};

struct regex {
    pcre2_code *code;
};

void regex_scratch_free(struct regex_scratch *scratch) {
    free(scratch->subject);
    pcre2_match_data_free(scratch->match);
    pcre2_match_context_free(scratch->context);
    *scratch = (struct regex_scratch){0};
}

static enum status compile(struct regex *regex, struct view pattern, struct error *err) {
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_bsr(context, PCRE2_BSR_UNICODE);
    int code = 0;
    PCRE2_SIZE place = 0;
    regex->code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.bytes,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                &code, &place, context);
    pcre2_compile_context_free(context);
    if (regex->code != NULL)
        return STATUS_OK;
    PCRE2_UCHAR message[MESSAGE_BYTES] = "";
    pcre2_get_error_message(code, message, sizeof message);
    return error_set(err, STATUS_UNSUPPORTED, "the expression is not supported: %s",
                     (const char *)message);
}

enum status regex_open(struct view expression, struct regex **out, struct error *err) {
    *out = NULL;
    struct regex *regex = calloc(1, sizeof *regex);
    if (regex == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    char *pattern = NULL;
    size_t bytes = 0;
    enum status status = regex_syntax_translate(expression, &pattern, &bytes, err);
    if (status == STATUS_OK)
        status = compile(regex, (struct view){pattern, bytes}, err);
    free(pattern);
    if (status == STATUS_OK)
        *out = regex;
    else
        regex_close(regex);
    return status;
}

void regex_close(struct regex *regex) {
    if (regex != NULL) {
        pcre2_code_free(regex->code);
        free(regex);
    }
}

enum status regex_set_subject(struct regex_scratch *scratch, const struct normal_char *chars,
                              size_t count) {
    size_t bytes = count * UTF8_BYTES_MAX;
    if (bytes > scratch->capacity) {
        char *subject = realloc(scratch->subject, bytes);
        if (subject == NULL)
            return STATUS_NO_MEMORY;
        scratch->subject = subject;
        scratch->capacity = bytes;
    }
    if (scratch->match == NULL)
        scratch->match = pcre2_match_data_create(1, NULL);
    if (scratch->context == NULL)
        scratch->context = pcre2_match_context_create(NULL);
    if (scratch->match == NULL || scratch->context == NULL)
        return STATUS_NO_MEMORY;
    pcre2_set_heap_limit(scratch->context, HEAP_KIB);
    scratch->bytes = scratch->at_byte = scratch->at_char = 0;
    for (size_t i = 0; i < count; i++)
        scratch->bytes +=
            utf8_encode(regex_syntax_stand_in(chars[i].code), scratch->subject + scratch->bytes);
    scratch->steps_left = STEPS_ALWAYS + (uint64_t)STEPS_PER_BYTE * scratch->bytes;
    return STATUS_OK;
}

/* Moves the known place forward to a code point, to a byte. */
static void move_to_char(struct regex_scratch *scratch, size_t place) {
    for (; scratch->at_char < place; scratch->at_char++)
        scratch->at_byte += utf8_length((unsigned char)scratch->subject[scratch->at_byte]);
}

static size_t char_at_byte(const struct regex_scratch *scratch, size_t byte) {
    size_t place = scratch->at_char;
    for (size_t at = scratch->at_byte; at < byte; place++)
        at += utf8_length((unsigned char)scratch->subject[at]);
    return place;
}

/* One call of PCRE2; the result is its own. */
static int match(const struct regex *regex, struct regex_scratch *scratch, size_t byte,
                 uint32_t options, uint32_t steps) {
    static const char EMPTY[] = "";
    pcre2_set_match_limit(scratch->context, steps);
    const char *subject = scratch->bytes == 0 ? EMPTY : scratch->subject;
    return pcre2_match(regex->code, (PCRE2_SPTR)subject, scratch->bytes, byte,
                       options | PCRE2_NO_UTF_CHECK, scratch->match, scratch->context);
}

/* Tries one start after the other, each with as many steps as it needs and the budget has. */
static int match_slowly(const struct regex *regex, struct regex_scratch *scratch, size_t byte) {
    for (;;) {
        int result;
        uint64_t steps = STEPS_FIRST;
        do {
            if (scratch->steps_left < steps || steps > UINT32_MAX)
                return PCRE2_ERROR_MATCHLIMIT;
            scratch->steps_left -= steps;
            result = match(regex, scratch, byte, PCRE2_ANCHORED, (uint32_t)steps);
            steps *= STEPS_GROWTH;
        } while (result == PCRE2_ERROR_MATCHLIMIT);
        if (result != PCRE2_ERROR_NOMATCH || byte >= scratch->bytes)
            return result;
        byte += utf8_length((unsigned char)scratch->subject[byte]);
    }
}

enum status regex_find(const struct regex *regex, struct regex_scratch *scratch, size_t from,
                       bool *found, size_t *start, size_t *end) {
    *found = false;
    move_to_char(scratch, from);
    int result = match(regex, scratch, scratch->at_byte, 0, STEPS_FIRST);
    if (result == PCRE2_ERROR_MATCHLIMIT)
        result = match_slowly(regex, scratch, scratch->at_byte);
    if (result == PCRE2_ERROR_NOMATCH)
        return STATUS_OK;
    if (result < 0)
        return result == PCRE2_ERROR_NOMEMORY ? STATUS_NO_MEMORY : STATUS_INPUT_TOO_LONG;
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scratch->match);
    *found = true;
    *start = char_at_byte(scratch, ends[0]);
    *end = *start;
    for (size_t at = ends[0]; at < ends[1]; (*end)++)
        at += utf8_length((unsigned char)scratch->subject[at]);
    return STATUS_OK;
}
