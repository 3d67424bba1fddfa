/* call.h: one HTTP body inside the engine: its inputs, its requests, its answer, in one block.
 *
 * The submitting thread reserves everything the call can come to need, so that engine threads
 * allocate nothing. A call has one atomic state: whoever moves it from pending to answered
 * (completion, deadline, cancel, shutdown) answers it, once. All others see that and drop their
 * work at the next hand-over.
 *
 * References: one for the caller, one for the engine until `done` has returned, and one for each
 * input or request in the hands of a thread. Items that only wait in a queue need none: the one
 * who answers takes them out of the queues before the engine's reference goes. */
#ifndef BERTD_FLOW_CALL_H
#define BERTD_FLOW_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/flow/fair.h"
#include "engine/flow/request.h"

#define CALL_UNLISTED UINT32_MAX

struct call {
    atomic_uint references;
    atomic_bool answered;
    uint64_t client;
    uint64_t deadline_ns; /* UINT64_MAX: none */
    uint32_t heap_index;  /* in deadlines.h, CALL_UNLISTED when it is not in; under its lock */
    struct fair_flow inputs_flow, requests_flow;

    struct input *inputs; /* [inputs_count] */
    uint32_t inputs_count;
    struct request *requests; /* [requests_max] of all inputs */
    uint64_t requests_max;
    char *texts;        /* room for all texts, filled by who opens the call */
    int32_t *given_ids; /* room for all token ids given by the client */
    void *settings;     /* what the owner keeps with the call */

    /* The sequences of all requests: each takes its share with call_take_tokens(). */
    int32_t *ids;
    uint8_t *type_ids;
    uint64_t tokens_room;
    _Atomic uint64_t tokens_used;

    /* Of a head that reads certain tokens and ranks the vocabulary for each: each request takes its
     * share with call_take_reads(). */
    uint32_t *reads;
    struct ranked *ranked; /* ranked_width for each read */
    uint64_t reads_room;
    uint32_t ranked_width;
    _Atomic uint64_t reads_used;

    _Atomic uint64_t reserved; /* tokens that admission still counts for this call */
    atomic_uint inputs_left;   /* not yet tokenized */
    atomic_uint requests_left; /* not yet computed */
    uint64_t submitted_ns;
    _Atomic uint64_t tokenized_ns, taken_ns; /* all inputs; the last request by stage 0 */
    uint64_t answered_ns;

    /* Set by call_answer(), to be read after `done`. */
    struct error outcome;

    /* The owner's hand in answering, before `done` and after it; and who wants the answer. */
    void (*leave)(struct call *call, void *owner);
    void (*gone)(void *owner);
    void *owner;
    void (*done)(struct call *call, void *context);
    void *context;
};

/* What the block must have room for. */
struct call_needs {
    uint32_t inputs_count;
    uint64_t requests_max; /* of all inputs */
    uint64_t texts_bytes, given_ids;
    uint64_t tokens_room; /* of all sequences */
    uint64_t reads_room;  /* of all sequences; 0 where the head reads first tokens */
    uint32_t outputs_width, ranked_width;
    size_t settings_bytes;
};

/* Makes a call with two references (the caller's, the engine's). Records are zeroed except that
 * every input has its scores and every request its outputs. Error: NO_MEMORY. */
enum status call_open(const struct call_needs *needs, struct call **out);

void call_retain(struct call *call);
void call_release(struct call *call); /* also declared in engine.h */

static inline bool call_is_answered(const struct call *call) {
    return atomic_load(&call->answered);
}

/* Room for `tokens` ids at *offset of ids and type_ids. False: the call has no such room. */
bool call_take_tokens(struct call *call, uint32_t tokens, uint64_t *offset);

/* Room for `count` reads at *offset of reads, and as many times ranked_width of ranked. False: the
 * call has no such room. */
bool call_take_reads(struct call *call, uint32_t count, uint64_t *offset);

/* Ends the call unless somebody has already: sets the outcome (NULL: success), runs leave, done
 * and gone, in this order, and gives the engine's reference back. The caller must hold a reference
 * of its own and no lock. True when this was the one that answered. */
bool call_answer(struct call *call, const struct error *outcome);

#endif
