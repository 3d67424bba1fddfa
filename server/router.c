/* router.c: path and method to handler. */
#include "server/router.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/api.h"
#include "server/state.h"

struct route {
    const char *path;
    enum method method; /* METHOD_GET also answers HEAD */
    enum metric_route metric;
    void (*handle)(struct exchange *exchange);
    enum api_dialect dialect; /* of its errors */
};

static const struct route routes[] = {
    {"/v1/classify", METHOD_POST, METRIC_ROUTE_CLASSIFY, api_classify, API_DIALECT_NATIVE},
    {"/v1/fill_mask", METHOD_POST, METRIC_ROUTE_FILL_MASK, api_fill_mask, API_DIALECT_NATIVE},
    {"/v1/tokenize", METHOD_POST, METRIC_ROUTE_TOKENIZE, api_tokenize, API_DIALECT_NATIVE},
    {"/v1/detokenize", METHOD_POST, METRIC_ROUTE_DETOKENIZE, api_detokenize, API_DIALECT_NATIVE},
    {"/tokenize", METHOD_POST, METRIC_ROUTE_TEI_TOKENIZE, api_tei_tokenize, API_DIALECT_TEI},
    {"/decode", METHOD_POST, METRIC_ROUTE_TEI_DECODE, api_tei_decode, API_DIALECT_TEI},
    {"/v1/models", METHOD_GET, METRIC_ROUTE_MODELS, api_models, API_DIALECT_NATIVE},
    {"/info", METHOD_GET, METRIC_ROUTE_INFO, api_info, API_DIALECT_NATIVE},
    {"/livez", METHOD_GET, METRIC_ROUTE_LIVEZ, api_livez, API_DIALECT_NATIVE},
    {"/readyz", METHOD_GET, METRIC_ROUTE_READYZ, api_readyz, API_DIALECT_NATIVE},
    {"/health", METHOD_GET, METRIC_ROUTE_HEALTH, api_readyz, API_DIALECT_NATIVE},
    {"/metrics", METHOD_GET, METRIC_ROUTE_METRICS, api_metrics, API_DIALECT_NATIVE},
};

/* The path of an absolute-form target; other targets as they are. */
static const char *path_of(const char *url) {
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    if (scheme == 0)
        return url;
    const char *path = strchr(url + scheme, '/');
    return path ? path : "/";
}

static const struct route *find_route(const char *path) {
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    return NULL;
}

static bool method_fits(const struct route *route, enum method method) {
    return method == route->method || (method == METHOD_HEAD && route->method == METHOD_GET);
}

void router_begin(struct exchange *exchange, const char *url, const struct http_headers *headers) {
    const struct server_options *options = &exchange->server->options;
    struct api_error err;
    const char *path = path_of(url);
    api_text_clean(exchange->path, sizeof exchange->path, path, strlen(path));
    exchange->route = find_route(path);
    exchange->dialect = exchange->route ? exchange->route->dialect : API_DIALECT_NATIVE;
    exchange->timeout_ms = options->call_timeout_ms;
    if (headers->has_timeout && headers->timeout_ms < exchange->timeout_ms)
        exchange->timeout_ms = headers->timeout_ms;
    const struct route *route = exchange->route;
    if (!http_headers_check(headers, &err) || !http_headers_check_request(headers, &err)) {
        exchange_fail(exchange, &err);
    } else if (!route) {
        exchange_refuse(exchange, API_NOT_FOUND, "there is no route %.128s", exchange->path);
    } else if (!method_fits(route, exchange->method)) {
        exchange->answer.allow = route->method == METHOD_POST ? "POST" : "GET, HEAD";
        exchange_refuse(exchange, API_METHOD_NOT_ALLOWED, "%s is not allowed on %s; allowed: %s",
                        exchange->method_name, route->path, exchange->answer.allow);
    } else if (route->method == METHOD_POST &&
               !http_headers_check_json(headers, options->body_bytes_max, &err)) {
        exchange_fail(exchange, &err);
    }
}

void router_handle(struct exchange *exchange) {
    exchange->route->handle(exchange);
}

void router_completed(struct exchange *exchange, bool sent) {
    struct server *server = exchange->server;
    const struct answer *answer = &exchange->answer;
    uint64_t duration_ns = clock_now_ns() - exchange->started_ns;
    metrics_count(&server->metrics, exchange->route ? exchange->route->metric : METRIC_ROUTE_OTHER,
                  sent ? metrics_outcome(answer->code) : METRIC_OUTCOME_CANCELLED, duration_ns);
    if (answer->write_ns > 0)
        metrics_observe_phase(&server->metrics, METRIC_PHASE_WRITE, answer->write_ns);
    if (server->options.access_log)
        log_write(LOG_INFO, "%s %s %u %llu bytes %.3f ms client %llu id %s%s",
                  exchange->method_name, exchange->path, answer->http_status,
                  (unsigned long long)exchange->answer_bytes, (double)duration_ns / NS_PER_MS,
                  (unsigned long long)exchange->client, exchange->request_id,
                  sent ? "" : ", client gone");
}
