/*
 * form.c: the reservation form of GPU Monitor's page, as its users and scripts still post it: host, id, name, date,
 * comment, and save or reset. Only where names are typed; a redirect follows, so that a reload does not post again.
 */
#include <inttypes.h>

#include "base/order.h"
#include "base/time_text.h"
#include "book/feature.h"
#include "book/pick.h"
#include "book/routes.h"
#include "compat/comments.h"

#define IDS 20 /* of the old form: others wrap around, as there */

struct form {
    struct str host, id, name, date, comment;
    bool save, reset;
};

bool form_allowed(struct api *a, struct request *rq, struct reply *rp)
{
    if (book_auth_of(&a->hub->conf) != BOOK_OPEN) {
        reply_problem(rp, 403, "this form takes any name, which is off here: bookings.auth is '%s'",
                      book_auth_words[book_auth_of(&a->hub->conf)]);
        return false;
    }
    return bookings_allowed(a, rq, rp);
}

static bool form_read(const struct request *rq, char *scratch, struct form *ret, struct reply *rp)
{
    struct param v[QUERY_MAX];
    size_t n;
    struct err err = {0};
    *ret = (struct form){0};
    if (request_form(rq->body, scratch, v, &n, &err) < 0)
        return reply_refuse(rp, 400, "%s", err.msg);
    const struct {
        const char *name;
        struct str *to;
    } fields[] = {{"host", &ret->host},
                  {"id", &ret->id},
                  {"name", &ret->name},
                  {"date", &ret->date},
                  {"comment", &ret->comment}};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < ARRAY_LEN(fields); k++)
            if (str_eq(v[i].name, fields[k].name))
                *fields[k].to = v[i].value;
        ret->save |= str_eq(v[i].name, "save");
        ret->reset |= str_eq(v[i].name, "reset");
    }
    return true;
}

/* A node by its name, by what screens call it, or by the part of it before the first dot, as the old page's keys were.
 */
static const struct node_now *node_of(struct api *a, struct str host)
{
    size_t n;
    const struct node_now *const *v = live_nodes(a->live, false, &n), *found = NULL;
    for (size_t i = 0; i < n; i++) {
        struct str rest = str_of(v[i]->name), first;
        if (str_eq(host, v[i]->name) || (v[i]->display && str_eq(host, v[i]->display)))
            return v[i];
        if (!found && str_cut(&rest, '.', &first) && first.len && str_eq_str(host, first))
            found = v[i];
    }
    return found;
}

static const struct device_now *device_of(const struct node_now *n, struct str id)
{
    int64_t index;
    if (!n || !str_int(id, &index) || index < -IDS || index > INT32_MAX)
        return NULL;
    index = (index + IDS) % IDS;
    return FIND(n->devices, n->n_devices, d, d->fact.index == index && !d->fact.parent[0]);
}

/* The page that the form was on: the old address shows the table. */
static const char *page_of(const struct request *rq)
{
    return str_eq(rq->path, "/index.php") ? "/index.php" : "/";
}

/* The form is answered by the page, where a program would get the row. */
static enum reply_mode put(struct api *a, struct request *rq, struct reply *rp, const struct booking *h, const char *by)
{
    rq->back = page_of(rq);
    return bookings_put(a->hub, rq, rp, h, by);
}

static enum reply_mode back(const struct request *rq, struct reply *rp)
{
    rp->status = 303;
    mem_copy_str(rp->location, sizeof(rp->location), page_of(rq));
    return REPLY_NOW;
}

static enum reply_mode save(struct api *a, struct request *rq, struct reply *rp, const struct booking *h,
                            const struct node_now *n, const struct device_now *d, const char *name, const char *comment,
                            int64_t until_ms)
{
    char place[NAME_MAX_LEN + 16];
    AUTO_FREE struct booking *copy = h ? booking_copy(h) : NULL;
    snprintf(place, sizeof(place), "%s:%d", n->name, (int)d->fact.index);
    struct booking to = h ? *copy
                          : (struct booking){.from_ms = rq->now_ms,
                                             .created_ms = rq->now_ms,
                                             .by = name,
                                             .devices = d->fact.uuid,
                                             .places = place,
                                             .model = "",
                                             .where = ""};
    to.person = name;
    to.changes += h != NULL;
    to.changed_ms = rq->now_ms;
    to.until_ms = until_ms;
    to.comment = comment;
    return put(a, rq, rp, &to, name);
}

enum reply_mode post_form(struct api *a, struct request *rq, struct reply *rp)
{
    struct form f;
    char name[BOOKING_PERSON_MAX], comment[BOOKING_COMMENT_MAX + 1], owner[BOOKING_PERSON_MAX] = "";
    AUTO_FREE char *scratch = mem_alloc(rq->body.len + 1);
    const struct booking *h, *next;
    int64_t until_ms = 0;
    if (!form_read(rq, scratch, &f, rp))
        return REPLY_NOW;
    const struct node_now *n = node_of(a, str_trim(f.host));
    const struct device_now *d = device_of(n, str_trim(f.id));
    if (!d || device_is_parent(n, d))
        return reply_problem(rp, 400, n ? "host '%.*s' has no GPU of that id" : "host '%.*s' is not known",
                             (int)MIN(f.host.len, 100u), f.host.p ? f.host.p : "");
    if (!f.save && !f.reset)
        return reply_problem(rp, 400, "neither save nor reset was pressed");
    comments_clean(f.name, name, sizeof(name));
    comments_clean(f.comment, comment, sizeof(comment));
    bool good = !f.reset && name[0] && time_parse(f.date, "date", rq->now_ms, NULL, &until_ms, NULL) == 0 &&
                until_ms > rq->now_ms;
    book_of_device(a->book, str_of(d->fact.uuid), rq->now_ms, &h, &next);
    if (h)
        comments_clean(str_of(h->person), owner, sizeof(owner));
    if (!h && !good) /* there is nothing to empty, or its time is over already */
        return back(rq, rp);
    if (!good) { /* of one that has this GPU among others only this one is given back */
        AUTO_FREE struct booking *to = pick_without(a->live, h, d->fact.uuid, rq->now_ms);
        return put(a, rq, rp, to, name[0] ? name : to->person);
    }
    if (h && strchr(h->devices, ','))
        return reply_problem(rp, 409, "%s:%d is part of booking %" PRId64 " of several GPUs: change that one", n->name,
                             (int)d->fact.index, h->id);
    bool same = h && strcmp(owner, name) == 0; /* which may have characters that the form has not */
    return save(a, rq, rp, h, n, d, same ? h->person : name, comment, until_ms);
}
