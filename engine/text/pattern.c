/* pattern.c: strings are compared in place, expressions are left to regex.c. */
#include "engine/text/pattern.h"

#include <stdlib.h>

#include "engine/text/utf8.h"

struct pattern {
    struct regex *regex; /* NULL: the string */
    uint32_t *codes;
    size_t count;
};

static enum status pattern_new(struct pattern **out, struct error *err) {
    *out = calloc(1, sizeof **out);
    return *out == NULL ? error_set(err, STATUS_NO_MEMORY, "no memory") : STATUS_OK;
}

enum status pattern_open_string(struct view string, struct pattern **out, struct error *err) {
    enum status status = pattern_new(out, err);
    if (status != STATUS_OK)
        return status;
    struct pattern *pattern = *out;
    pattern->codes = reallocarray(NULL, string.bytes + 1, sizeof *pattern->codes);
    if (pattern->codes == NULL) {
        pattern_close(pattern);
        *out = NULL;
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    }
    for (size_t at = 0; at < string.bytes; at += utf8_length((unsigned char)string.data[at]))
        pattern->codes[pattern->count++] = utf8_decode(string.data + at);
    return STATUS_OK;
}

enum status pattern_open_regex(struct view expression, struct pattern **out, struct error *err) {
    enum status status = pattern_new(out, err);
    if (status == STATUS_OK)
        status = regex_open(expression, &(*out)->regex, err);
    if (status != STATUS_OK) {
        pattern_close(*out);
        *out = NULL;
    }
    return status;
}

void pattern_close(struct pattern *pattern) {
    if (pattern != NULL) {
        regex_close(pattern->regex);
        free(pattern->codes);
        free(pattern);
    }
}

enum status pattern_search_start(struct pattern_search *search, const struct pattern *pattern,
                                 struct regex_scratch *scratch, const struct normal_char *chars,
                                 size_t count) {
    *search = (struct pattern_search){
        .pattern = pattern, .scratch = scratch, .chars = chars, .count = count};
    return pattern->regex == NULL ? STATUS_OK : regex_set_subject(scratch, chars, count);
}

static bool starts_with(const struct pattern *pattern, const struct normal_char *chars) {
    for (size_t i = 0; i < pattern->count; i++)
        if (chars[i].code != pattern->codes[i])
            return false;
    return true;
}

static bool find_string(const struct pattern_search *search, size_t *start, size_t *end) {
    const struct pattern *pattern = search->pattern;
    for (size_t at = search->from; at + pattern->count <= search->count; at++)
        if (starts_with(pattern, search->chars + at)) {
            *start = at;
            *end = at + pattern->count;
            return true;
        }
    return false;
}

enum status pattern_search_next(struct pattern_search *search, bool *found, size_t *start,
                                size_t *end) {
    *found = false;
    while (search->from <= search->count) {
        enum status status = STATUS_OK;
        if (search->pattern->regex == NULL)
            *found = find_string(search, start, end);
        else
            status = regex_find(search->pattern->regex, search->scratch, search->from, found, start,
                                end);
        if (status != STATUS_OK || !*found)
            return status;
        if (*start < *end || !search->matched || *start != search->last_end) {
            search->from = search->last_end = *end;
            search->matched = true;
            return STATUS_OK;
        }
        *found = false;
        search->from++;
    }
    return STATUS_OK;
}
