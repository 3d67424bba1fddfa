/* api.h: the handlers that the table of routes names. Each runs on the HTTP thread with the body
 * complete, and leaves an answer or a task in the exchange. */
#ifndef BERTD_API_H
#define BERTD_API_H

#include "server/exchange.h"

void api_classify(struct exchange *exchange);     /* POST /v1/classify */
void api_fill_mask(struct exchange *exchange);    /* POST /v1/fill_mask */
void api_tokenize(struct exchange *exchange);     /* POST /v1/tokenize */
void api_detokenize(struct exchange *exchange);   /* POST /v1/detokenize */
void api_tei_tokenize(struct exchange *exchange); /* POST /tokenize */
void api_tei_decode(struct exchange *exchange);   /* POST /decode */
void api_models(struct exchange *exchange);       /* GET /v1/models */
void api_info(struct exchange *exchange);         /* GET /info */
void api_livez(struct exchange *exchange);        /* GET /livez */
void api_readyz(struct exchange *exchange);       /* GET /readyz, /health */
void api_metrics(struct exchange *exchange);      /* GET /metrics */

#endif
