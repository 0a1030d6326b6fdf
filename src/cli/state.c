/* state.c: asks for GET /api/v1/state and reads the answer. */
#include "cli/state.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "format/render.h"

int hub_state_ask(const struct client_conf *conf, const char *filter, const char *me, struct hub_state *ret,
                  struct err *err)
{
    AUTO_BUF json = {0};
    AUTO_BUF path = BUF_INIT(65536);

    buf_adds(&path, "/api/v1/state");
    client_param(&path, "filter", filter);
    if (filter && filter[0])
        client_param(&path, "me", me);
    if (path.err)
        return err_set(err, -EINVAL, "the filter is too long");
    int r = client_ask(conf, "GET", path.p, str_of(""), &json, err);
    if (r < 0)
        return r;
    struct hub_state s = {.view.filter = filter && filter[0] ? filter : NULL};
    if (state_parse(buf_str(&json), &s.nodes, &s.n, &s.view.demo, &s.view.at_ms, &s.view.of, s.notice, err) < 0)
        return err_prefix(err, -EBADMSG, "'%s' answered something else than a hub would", client_url(conf));
    s.list = mem_zero(s.n + 1, sizeof(*s.list));
    for (size_t i = 0; i < s.n; i++)
        s.list[i] = &s.nodes[i];
    *ret = s;
    ret->view.nodes = ret->list;
    ret->view.n = ret->n;
    ret->view.notice = ret->notice[0] ? ret->notice : NULL;
    return 0;
}

void hub_state_fini(struct hub_state *s)
{
    for (size_t i = 0; i < s->n; i++)
        node_now_fini(&s->nodes[i]);
    FREE_ALL(s->nodes, s->list);
    *s = (struct hub_state){0};
}
