/* request_filter.c: parses the GPUs selected by a request, a filter (filter.h) or a name; responds with an error if
 * invalid. */
#include "now/filter.h"

#include "hub/api.h"
#include "now/sites.h"
#include "people/people.h"

bool request_filter(const struct request *rq, struct reply *rp, struct filter **ret)
{
    struct str text = str_trim(request_query(rq, "filter")), me = request_query(rq, "me");
    struct filter_err err = {0};
    char who[128];

    *ret = NULL;
    if (!text.len)
        return true;
    snprintf(who, sizeof(who), "%.*s", (int)MIN(me.len, sizeof(who) - 1), me.p);
    if (rq->who->token.person[0])
        mem_copy_str(who, sizeof(who), rq->who->token.person);
    const char *person = who[0] ? people_person(rq->who->people, NULL, who, -1) : ""; /* a token may be a login's */
    if (person[0] && person != who)
        mem_copy_str(who, sizeof(who), person);
    /* Unchanged, not trimmed: error columns refer to the sent text. */
    if (filter_new(request_query(rq, "filter"), who, ret, &err) == 0)
        return true;
    reply_problem(rp, 400, "filter, column %u: %s", err.column, err.message);
    buf_cut(&rp->body, rp->body.len - 2); /* the end of the object and its line */
    buf_addf(&rp->body, ",\"column\":%u}\n", err.column);
    return false;
}

/* "dgx1:0", whether or not it exists: a UUID made of a PCI address has more colons. */
static bool is_place(struct str word)
{
    int colon = str_find(word, ":");

    return colon > 0 && colon == str_rfind(word, ":") && (size_t)colon + 1 < word.len && word.p[colon + 1] >= '0' &&
           word.p[colon + 1] <= '9';
}

bool names_are_local(const struct api *a, struct str words, struct reply *rp)
{
    struct str one;
    struct err err = {0};

    while (words.len && a->live && str_cut(&words, ',', &one))
        if (site_refuse(a->live, str_trim(one), &err) < 0)
            return reply_refuse(rp, 403, "%s", err.msg);
    return true;
}

bool device_named(const struct api *a, struct str word, struct reply *rp, struct str *ret)
{
    const struct node_now *n;
    const struct device_now *d = live_named_device(a->live, word, &n);

    if (!names_are_local(a, word, rp))
        return false;
    *ret = d ? str_of(d->fact.uuid) : word;
    if (d || !is_place(word))
        return true;
    int colon = str_find(word, ":");
    if (!n)
        return reply_refuse(rp, 404, "no node is called '%.*s'; /api/v1/nodes lists them", MIN(colon, 128), word.p);
    struct str index = str_n(word.p + colon + 1, word.len - (size_t)colon - 1);
    return reply_refuse(rp, 404, "%s has no GPU %.*s; it has %zu", n->name, (int)MIN(index.len, 40u), index.p,
                        n->n_devices);
}
