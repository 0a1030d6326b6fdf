/* state.c: sends GET /api/v1/state and parses the response. */
#include "cli/state.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"

int hub_state_fetch(const struct client_conf *conf, const char *filter, const char *me, struct hub_state *ret,
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
    int r = client_request(conf, "GET", path.p, str_of(""), &json, err);
    if (r < 0)
        return r;
    struct read_state *s = &ret->read;
    if (state_parse(buf_str(&json), s, err) < 0)
        return err_prefix(err, -EBADMSG, "'%s' sent an unexpected response; is it a muster hub?", client_url(conf));
    ret->list = mem_zero(s->n + 1, sizeof(*ret->list));
    for (size_t i = 0; i < s->n; i++)
        ret->list[i] = &s->nodes[i];
    ret->view = (struct view){.at_ms = s->at_ms,
                              .demo = s->demo,
                              .n = s->n,
                              .nodes = ret->list,
                              .of = s->of,
                              .filter = filter && filter[0] ? filter : NULL,
                              .currency = s->currency,
                              .words = s->words[0] ? s->words : NULL,
                              .notice = s->notice[0] ? s->notice : NULL};
    return 0;
}

void hub_state_fini(struct hub_state *s)
{
    read_state_fini(&s->read);
    free(s->list);
    *s = (struct hub_state){0};
}
