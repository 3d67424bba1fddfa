/* call_write.c: the common fields of answers. */
#include "server/call_write.h"

void call_write_head(const struct call_head *head, struct json_writer *out) {
    json_put_key(out, "id");
    json_put_string(out, head->id);
    json_put_key(out, "object");
    json_put_string(out, "list");
    json_put_key(out, "created");
    json_put_integer(out, head->created);
    json_put_key(out, "model");
    json_put_string(out, head->model_name);
}

void call_write_usage(uint64_t tokens, struct json_writer *out) {
    json_put_key(out, "usage");
    json_put_begin_object(out);
    json_put_key(out, "prompt_tokens");
    json_put_unsigned(out, tokens);
    json_put_key(out, "total_tokens");
    json_put_unsigned(out, tokens);
    json_put_end_object(out);
}
