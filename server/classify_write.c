/* classify_write.c: the list around the items that classification.c writes. */
#include "server/classify_write.h"

#include <stdlib.h>

#include "server/classify_read.h"

bool classify_writer_init(struct classify_writer *writer) {
    writer->ranked = calloc(writer->info->labels_count, sizeof *writer->ranked);
    return writer->ranked;
}

void classify_writer_free(struct classify_writer *writer) {
    if (!writer)
        return;
    free(writer->ranked);
    writer->ranked = NULL;
}

static void write_head(const struct classify_writer *writer, struct json_writer *out) {
    json_put_begin_object(out);
    call_write_head(&writer->head, out);
    json_put_key(out, "activation");
    json_put_string(out, classify_activation_words[writer->activation]);
    json_put_key(out, "data");
    json_put_begin_array(out);
}

static void write_tail(const struct classify_writer *writer, struct json_writer *out) {
    json_put_end_array(out);
    call_write_usage(writer->tokens, out);
    json_put_end_object(out);
}

bool classify_writer_slice(struct classify_writer *writer, size_t slice_bytes,
                           struct json_writer *out) {
    size_t start = out->bytes;
    if (writer->input == 0)
        write_head(writer, out);
    while (writer->input < writer->inputs_count) {
        if (out->bytes - start >= slice_bytes || json_writer_failed(out))
            return true;
        struct call_answer answer;
        call_get_answer(writer->call, writer->input, &answer);
        classification_write(out, writer->info, &answer, &writer->cut, writer->input,
                             writer->ranked);
        writer->tokens += answer.tokens;
        writer->input++;
    }
    write_tail(writer, out);
    return false;
}
