/* fuzz_expect.c: any bytes as a line of `bertd check --expect`. What is accepted has an input and
 * a first label that the model has. */
#include <stdlib.h>

#include "server/expect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char *const labels[] = {"a", "b", "c"};
    const struct engine_info info = {
        .labels = labels, .labels_count = 3, .activation = ACTIVATION_SOFTMAX};
    float scores[3];
    struct expected_answer expected = {.scores = scores};
    struct text_item item;
    struct error err;
    if (expect_parse((struct view){(const char *)data, bytes}, &info, &item, &expected, &err) ==
            STATUS_OK &&
        (expected.first_label >= info.labels_count || !item.text.data))
        abort();
    text_item_free(&item);
    return 0;
}
