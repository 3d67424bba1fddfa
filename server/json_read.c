/* json_read.c: jansson behind one scan of our own.
 *
 * jansson recurses 2048 deep and makes a heap object of each value, so one scan over the bytes
 * refuses depth and number of values before it sees them. The scan need not know JSON exactly:
 * what it miscounts in a malformed body, jansson refuses. */
#include "server/json_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/options.h"

enum { READ_FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY };

struct scan {
    uint32_t depth_max, values;
    size_t line, column; /* where depth_max was first reached beyond the limit */
};

static void scan_body(struct view body, struct scan *out) {
    uint32_t depth = 0;
    bool quoted = false;
    size_t line = 1, line_start = 0;
    *out = (struct scan){.values = 1};
    for (size_t i = 0; i < body.bytes; i++) {
        char c = body.data[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
            continue;
        }
        if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            out->values++;
        } else if (c == '[' || c == '{') {
            out->values++;
            depth++;
            if (depth > out->depth_max) {
                out->depth_max = depth;
                if (depth == LIMIT_JSON_DEPTH + 1) {
                    out->line = line;
                    out->column = i - line_start + 1;
                }
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        } else if (c == '\n') {
            line++;
            line_start = i + 1;
        }
    }
}

static bool report(const json_error_t *error, struct api_error *err) {
    enum json_error_code code = json_error_code(error);
    if (code == json_error_out_of_memory)
        return api_error_set(err, API_INTERNAL, NULL, "%s", status_meaning(STATUS_NO_MEMORY));
    if (code == json_error_invalid_utf8)
        return api_error_set(err, API_INVALID_UTF8, NULL,
                             "the body is not valid UTF-8 at line %d, column %d: %s", error->line,
                             error->column, error->text);
    if (strncmp(error->text, "invalid Unicode '\\u", 19) == 0)
        return api_error_set(err, API_INVALID_UTF8, NULL,
                             "half of a surrogate pair at line %d, column %d: %s", error->line,
                             error->column, error->text);
    return api_error_set(err, API_INVALID_JSON, NULL,
                         "the body is not valid JSON at line %d, column %d: %s", error->line,
                         error->column, error->text);
}

bool json_read_document(struct view body, json_t **out, struct api_error *err) {
    *out = NULL;
    if (body.bytes == 0)
        return api_error_set(err, API_INVALID_JSON, NULL, "the body is empty");
    struct scan scan;
    scan_body(body, &scan);
    if (scan.depth_max > LIMIT_JSON_DEPTH)
        return api_error_set(err, API_INVALID_JSON, NULL,
                             "the body nests deeper than %u at line %zu, column %zu",
                             LIMIT_JSON_DEPTH, scan.line, scan.column);
    if (scan.values > LIMIT_JSON_VALUES)
        return api_error_set(err, API_CALL_TOO_LARGE, NULL, "the body has more than %u JSON values",
                             LIMIT_JSON_VALUES);
    json_error_t error;
    *out = json_loadb(body.data, body.bytes, READ_FLAGS, &error);
    /* A second reading lets the field's own check name the field that is out of range. */
    if (!*out && json_error_code(&error) == json_error_numeric_overflow)
        *out = json_loadb(body.data, body.bytes, READ_FLAGS | JSON_DECODE_INT_AS_REAL, &error);
    return *out ? true : report(&error, err);
}

struct view json_read_view(const json_t *string) {
    return (struct view){json_string_value(string), json_string_length(string)};
}

bool json_read_whole(const json_t *value, int64_t *out) {
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    const double real = json_is_real(value) ? json_real_value(value) : NAN, end = 0x1p63;
    if (!(real >= -end && real < end) || real != floor(real))
        return false;
    *out = (int64_t)real;
    return true;
}

const char *json_read_type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "a boolean";
    }
}

/* The field's value, or NULL when it is absent or null. */
static json_t *field(const json_t *object, const char *name) {
    json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

bool json_read_bool(const json_t *object, const char *name, bool *out, struct api_error *err) {
    const json_t *value = field(object, name);
    if (!value)
        return true;
    if (!json_is_boolean(value))
        return api_error_set(err, API_INVALID_TYPE, name, "'%s' must be true or false, not %s",
                             name, json_read_type_name(value));
    *out = json_is_true(value);
    return true;
}

bool json_read_whole_in(const json_t *object, const char *name, int64_t min, int64_t max,
                        int64_t *out, struct api_error *err) {
    const json_t *value = field(object, name);
    if (!value)
        return true;
    if (!json_is_number(value))
        return api_error_set(err, API_INVALID_TYPE, name, "'%s' must be a whole number, not %s",
                             name, json_read_type_name(value));
    int64_t whole;
    if (!json_read_whole(value, &whole) || whole < min || whole > max)
        return api_error_set(err, API_INVALID_VALUE, name,
                             "'%s' must be a whole number from %lld to %lld", name, (long long)min,
                             (long long)max);
    *out = whole;
    return true;
}

bool json_read_choice(const json_t *object, const char *name, const char *const *words,
                      uint32_t *out, struct api_error *err) {
    const json_t *value = field(object, name);
    if (!value)
        return true;
    if (!json_is_string(value))
        return api_error_set(err, API_INVALID_TYPE, name, "'%s' must be a string, not %s", name,
                             json_read_type_name(value));
    char allowed[128] = "";
    for (uint32_t i = 0, n = 0; words[i] && n < sizeof allowed; i++) {
        if (view_equals_c(json_read_view(value), words[i])) {
            *out = i;
            return true;
        }
        n += (uint32_t)snprintf(allowed + n, sizeof allowed - n, "%s%s", i ? ", " : "", words[i]);
    }
    return api_error_set(err, API_INVALID_VALUE, name, "'%s' is '%.64s'; allowed: %s", name,
                         json_string_value(value), allowed);
}

bool json_read_known(const json_t *object, const char *const *known, size_t count,
                     const char *prefix, struct api_error *err) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;
        while (i < count && strcmp(known[i], key) != 0)
            i++;
        if (i < count)
            continue;
        char param[API_PARAM_BYTES], fields[256] = "";
        snprintf(param, sizeof param, "%s%s%s", prefix ? prefix : "", prefix ? "." : "", key);
        for (size_t k = 0, n = 0; k < count && n < sizeof fields; k++)
            n += (size_t)snprintf(fields + n, sizeof fields - n, "%s%s", k ? ", " : "", known[k]);
        const char *nearest = options_nearest(key, known, count);
        return api_error_set(err, API_UNKNOWN_FIELD, param,
                             "unknown field '%.64s'%s%s%s; the fields are: %s", key,
                             nearest ? ", the nearest is '" : "", nearest ? nearest : "",
                             nearest ? "'" : "", fields);
    }
    return true;
}
