/* test_resolve.c: names and numbers of hosts. */
#include "server/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>

static void assert_loopback(const struct addrinfo *address) {
    if (address->ai_family == AF_INET) {
        struct sockaddr_in in = *(const struct sockaddr_in *)(const void *)address->ai_addr;
        assert_int_equal(ntohl(in.sin_addr.s_addr), INADDR_LOOPBACK);
        assert_int_equal(ntohs(in.sin_port), 8080);
    } else {
        struct sockaddr_in6 in = *(const struct sockaddr_in6 *)(const void *)address->ai_addr;
        assert_true(IN6_IS_ADDR_LOOPBACK(&in.sin6_addr));
        assert_int_equal(ntohs(in.sin6_port), 8080);
    }
}

static void localhost_is_the_loopback_in_any_case(void **state) {
    (void)state;
    const char *names[] = {"localhost", "LocalHost"};
    for (size_t i = 0; i < 2; i++) {
        struct addrinfo *found = NULL;
        assert_int_equal(resolve_host(names[i], "8080", &found), 0);
        assert_non_null(found);
        for (const struct addrinfo *a = found; a; a = a->ai_next)
            assert_loopback(a);
        freeaddrinfo(found);
    }
}

static void numbers_are_taken_as_they_are(void **state) {
    (void)state;
    struct addrinfo *found = NULL;
    assert_int_equal(resolve_host("127.0.0.1", "8080", &found), 0);
    assert_loopback(found);
    freeaddrinfo(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(localhost_is_the_loopback_in_any_case),
        cmocka_unit_test(numbers_are_taken_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
