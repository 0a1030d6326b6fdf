/* sourceshow.c: what a source of names says, a line per call, for integration tests: sourceshow KIND:WHAT
 * [KEY=VALUE]...
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"
#include "relay/source.h"

static void on_list(void *arg, struct source *s, const struct found *v, size_t n, const char *error)
{
    (void)arg;
    printf("%s n=%zu", error ? "failing" : "list", n);
    for (size_t i = 0; i < n; i++) {
        printf(" %s%s%s@%s:%d", v[i].user ? v[i].user : "", v[i].user ? "/" : "", v[i].name, v[i].address, v[i].port);
        struct str rest = str_of(v[i].labels ? v[i].labels : ""), name, value;
        for (char c = '{'; labels_next(&rest, &name, &value); c = ',')
            printf("%c%.*s=%.*s", c, STR_ARG(name), STR_ARG(value));
        printf("%s", v[i].labels ? "}" : "");
    }
    printf(" | %s\n", error ? error : s->note);
    fflush(stdout);
}

static void on_term(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    event_base_loopbreak(arg);
}

int main(int argc, char **argv)
{
    struct source_conf conf = {0};
    const struct {
        const char *key;
        const char **to;
    } keys[] = {{"only", &conf.only},       {"user", &conf.user},       {"token", &conf.token},
                {"ca_file", &conf.ca_file}, {"program", &conf.program}, {"proxy", &conf.proxy}};
    const struct source_ops *ops = argc > 1 ? source_kind(argv[1], &conf.what) : NULL;
    struct event_base *loop = event_base_new();
    struct http *http = NULL;
    struct source *s = NULL;
    struct err err = {0};

    struct event *term = evsignal_new(loop, SIGTERM, on_term, loop);
    event_add(term, NULL);
    for (int i = 2; i < argc; i++) {
        struct str v = str_of(argv[i]);
        int64_t ms;
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
            if (str_starts(v, keys[k].key) && v.p[strlen(keys[k].key)] == '=')
                *keys[k].to = v.p + strlen(keys[k].key) + 1;
        if (str_skip(&v, "every=") && str_duration_ms(v, &ms))
            conf.every_ms = ms;
    }
    int r = 0;
    if (!ops || http_new(&http, loop, &err) < 0 || source_open(&s, ops, loop, http, &conf, on_list, NULL, &err) < 0) {
        fprintf(stderr, "sourceshow: %s\n", ops ? err.msg : "no such kind");
        r = 2;
    }
    if (r == 0)
        event_base_dispatch(loop);
    source_close(s);
    process_end_all(loop); /* a program that it ran */
    http_free(http);
    event_free(term);
    event_base_free(loop);
    return r;
}
