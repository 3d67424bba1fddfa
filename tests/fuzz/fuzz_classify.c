/* fuzz_classify.c: any bytes as the body of POST /v1/classify. What is accepted must be a call that
 * the engine can be given: whole texts, ids in range, options inside their enums. */
#include <stdlib.h>

#include "server/classify_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { INPUTS_MAX = 64 };

/* Reads every byte: the sanitizer sees what does not exist. */
static unsigned sum_bytes(struct view text) {
    unsigned sum = 0;
    for (size_t i = 0; i < text.bytes; i++)
        sum += (unsigned char)text.data[i];
    return sum;
}

static void check_input(const struct engine_input *input) {
    if (!input->ids && !input->text.data)
        abort();
    for (uint32_t i = 0; input->ids && i < input->ids_count; i++)
        if (input->ids[i] < 0)
            abort();
    if (sum_bytes(input->text) + sum_bytes(input->text_pair) == UINT32_MAX)
        abort(); /* only a text of 16 MB has such a sum */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const float thresholds[] = {0.5f, 0.25f};
    const struct engine_info info = {.labels_count = 2, .thresholds = thresholds};
    const struct call_rules rules = {"demo", &info, INPUTS_MAX, true};
    struct classify_call call;
    struct api_error err = {.code = API_CODE_COUNT};
    if (!classify_read((struct view){(const char *)data, bytes}, &rules, &call, &err)) {
        unsigned http_status = err.code < API_CODE_COUNT ? api_code_http_status(err.code) : 0;
        if ((http_status != 400 && http_status != 404 && http_status != 413) || !err.message[0])
            abort();
        return 0;
    }
    if (call.body.inputs_count == 0 || call.body.inputs_count > INPUTS_MAX ||
        call.activation > ACTIVATION_NONE || call.body.side > TRUNCATION_LEFT ||
        call.aggregate > AGGREGATE_MEAN || call.cut.kind > THRESHOLD_MODEL)
        abort();
    for (uint32_t i = 0; i < call.body.inputs_count; i++)
        check_input(&call.body.inputs[i]);
    call_body_free(&call.body);
    return 0;
}
