/* limits.h: every maximum of the program in one place, with its unit. What an option of `serve`
 * can change is named LIMIT_… and is that option's default; the rest is fixed. */
#ifndef BERTD_BASE_LIMITS_H
#define BERTD_BASE_LIMITS_H

/* Calls (options of serve) */
#define LIMIT_BODY_BYTES             (8ULL << 20)   /* --max-body */
#define LIMIT_BODY_MEMORY_BYTES      (256ULL << 20) /* --max-body-memory, over all connections */
#define LIMIT_CONNECTIONS            4096u          /* --max-connections */
#define LIMIT_CALL_INPUTS            2048u          /* --max-call-inputs */
#define LIMIT_CALL_TOKENS            262144u        /* --max-call-tokens */
#define LIMIT_HEADER_TIMEOUT_MS      10000u         /* --header-timeout */
#define LIMIT_BODY_TIMEOUT_MS        30000u         /* --body-timeout */
#define LIMIT_IDLE_TIMEOUT_MS        75000u         /* --idle-timeout */
#define LIMIT_CALL_TIMEOUT_MS        30000u         /* --timeout */
#define LIMIT_DRAIN_TIMEOUT_MS       30000u         /* --drain-timeout */
#define LIMIT_STAGE_TIMEOUT_MS       30000u         /* --stage-timeout, for one part of the model */

/* HTTP and JSON */
#define LIMIT_HEADER_BYTES           (32u << 10)   /* one request's headers together */
#define LIMIT_CONNECTION_BYTES       (64u << 10)   /* libmicrohttpd's memory for one connection */
#define LIMIT_TARGET_BYTES           (8u << 10)    /* path and query of one request */
#define LIMIT_DISCARD_BYTES          (64ULL << 20) /* of a refused body, before the close */
#define LIMIT_REQUEST_ID_BYTES       128u
#define LIMIT_BODY_INLINE_BYTES      (16u << 10) /* longer bodies are read by the reader thread */
#define LIMIT_SEND_TIMEOUT_MS        75000u      /* a client that does not read its answer */
#define LIMIT_JSON_DEPTH             16u
#define LIMIT_JSON_VALUES            (1u << 20)  /* in one body */
#define LIMIT_ANSWER_BYTES           (64u << 20) /* held at once; longer ones go in slices */
#define LIMIT_ANSWER_SLICE_BYTES     (8u << 10)  /* then other connections have their turn */

/* Model files */
#define LIMIT_CONFIG_FILE_BYTES      (4u << 20)
#define LIMIT_TOKENIZER_FILE_BYTES   (128u << 20)
#define LIMIT_SAFETENSORS_HEADER     (8u << 20)  /* bytes; parsed JSON takes many times as much */
#define LIMIT_TENSORS                65536u      /* in one file */
#define LIMIT_TENSOR_NAME_BYTES      256u        /* of a name that a family asks for */
#define LIMIT_MODEL_ARENA_BYTES      (64u << 20) /* names, labels and layer specs */
#define LIMIT_SAFETENSORS_SHARDS     512u
#define LIMIT_TENSOR_RANK            8u
#define LIMIT_LABELS                 65536u
#define LIMIT_LAYERS                 256u
#define LIMIT_HIDDEN_SIZE            16384u
#define LIMIT_INTERMEDIATE_SIZE      65536u
#define LIMIT_POSITIONS              65536u
#define LIMIT_VOCABULARY             4000000u
#define LIMIT_TOKEN_BYTES            65536u /* one vocabulary entry */

/* Text */
#define LIMIT_TEXT_BYTES             (64ULL << 20) /* one text given to the tokenizer */
#define LIMIT_DECODED_BYTES          (64ULL << 20) /* the text that ids are decoded to */
#define LIMIT_NORMAL_CHARS           (128u << 20)  /* code points that a text may become */
#define LIMIT_LINE_BYTES             (64ULL << 20) /* one line of a file given to a command */

/* Flow */
#define LIMIT_CALLS                  16384u /* in flight; more are refused as queue_full */
#define LIMIT_QUEUE_TOKENS_MIN       4096u  /* the automatic --max-queue-tokens is never less */
#define LIMIT_OUTPUTS_BYTES          (16u << 20) /* outputs of one microbatch, or one row's */
#define LIMIT_CALL_RANKED            (1u << 20)  /* predictions of one call: masks times top_k */
#define LIMIT_CALL_FILLED_TOKENS     (1u << 22)  /* of all filled texts of a fill-mask answer */
#define LIMIT_CALL_TARGETS           65536u      /* of one fill-mask call */
#define LIMIT_DECODER_CHUNKS         65536u
#define LIMIT_STAGES                 64u
#define LIMIT_REPLICAS               64u
#define LIMIT_STAGE_THREADS          64u
#define LIMIT_MICROBATCH_TOKENS      65536u
#define LIMIT_MICROBATCHES_IN_FLIGHT 256u
#define LIMIT_TOKENIZER_THREADS      16u
#define LIMIT_HTTP_THREADS           64u

/* bertd bench */
#define LIMIT_BENCH_INPUTS           100000u /* lines of a file that are kept */
#define LIMIT_BENCH_PASSES           1000000u
#define LIMIT_BENCH_CLIENTS          4096u

#endif
