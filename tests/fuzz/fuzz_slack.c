/* What Slack sends, and the section `slack` of muster.yaml: any bytes. */
#include <stdlib.h>

#include "base/mem.h"
#include "hub/api.h"
#include "slack/conf.h"
#include "slack/sign.h"
#include "slack/slack_event.h"
#include "slack/socket.h"
#include "slack/web_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct form {
    struct param v[QUERY_MAX];
    size_t n;
};

static struct str form_field(void *arg, const char *name)
{
    const struct form *f = arg;

    for (size_t i = 0; i < f->n; i++)
        if (str_eq(f->v[i].name, name))
            return f->v[i].value;
    return STR("");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_n((const char *)data, size), rest = bytes, first = STR("");
    AUTO_FREE char *text = mem_strn(bytes.p, bytes.len), *scratch = mem_alloc(size + 1);
    char path[] = "m.yaml", id[SLACK_ID_MAX + 1];
    struct slack_conf *c = slack_conf_new();
    struct err err = {0};
    struct form form = {.n = 0};
    struct socket_url url;

    slack_conf_read(c, &(struct opt_section){.text = text, .path = path}, &err);
    slack_conf_free(c);
    AUTO_FREE struct slack_event *a = slack_event_parse(bytes, &err), *b = slack_action_parse(bytes, &err),
                                 *e = slack_envelope_parse(bytes, id, &err), *f = NULL;
    (void)a, (void)b, (void)e;
    slack_frame_kind(bytes);
    socket_url_parse(bytes, &url);
    if (request_form(bytes, scratch, form.v, &form.n, &err) == 0)
        f = slack_command_parse(form_field, &form, &err);
    (void)f;
    for (int status = 200; status < 600; status += 101) {
        struct slack_result r;
        slack_answer_read(status, bytes, 0, &r);
        slack_text(json_object_get(r.body, "user"), "id");
        json_decref(r.body);
        slack_answer_plain(status, bytes, 0, &r);
    }
    str_line(&rest, &first); /* a time, a signature, a body */
    struct str time = first;
    str_line(&rest, &first);
    slack_sign_check(STR("secret"), time, first, rest, 1531420618000, &err);
    return 0;
}
