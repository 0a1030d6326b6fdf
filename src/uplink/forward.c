/* forward.c: checks an agent's frames and writes them again under another node's name. */
#include "uplink/forward.h"

#include <errno.h>

#include "base/mem.h"

#define FRAME_MAX (8u << 20)

void forward_init(struct forward *c, const struct node_id *id, const char *name)
{
    *c = (struct forward){.id = *id, .name = name};
}

static void forget(struct forward *c)
{
    enclosure_unref(c->our_facts);
    enclosure_unref(c->our_procs);
    c->our_facts = c->our_procs = NULL;
    c->facts = c->procs = 0;
    c->greeted = false;
}

void forward_begin(struct forward *c)
{
    forget(c);
    stream_init(&c->in);
}

void forward_fini(struct forward *c)
{
    forget(c);
    stream_fini(&c->in);
}

void forward_add(struct forward *c, struct str bytes)
{
    stream_add(&c->in, bytes);
}

static int take_facts(struct forward *c, const struct frame *f, struct err *err)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    struct node_fact facts = {0};
    char collector[sizeof(facts.collector)];
    uint64_t id = 0;
    int r = wire_facts(f, &facts, err);
    if (r < 0)
        return r;
    mem_copy_str(facts.name, sizeof(facts.name), c->name);
    snprintf(collector, sizeof(collector), "ssh%s%.50s", facts.collector[0] ? "," : "", facts.collector);
    mem_copy_str(facts.collector, sizeof(facts.collector), collector);
    r = wire_put_facts(&frame, &c->id, &facts, &id);
    node_fact_fini(&facts);
    if (r < 0)
        return err_set(err, -EBADMSG, "its facts cannot be sent on: %s", strerror(-r));
    enclosure_renew(&c->our_facts, id, &frame);
    c->facts = f->id;
    return 0;
}

static int take_procs(struct forward *c, const struct frame *f, struct err *err)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    struct proc_list procs = {0};
    uint64_t id = 0;
    int r = wire_procs(f, &procs, err);
    if (r < 0)
        return r;
    r = wire_put_procs(&frame, &c->id, &procs, &id);
    proc_list_fini(&procs);
    if (r < 0)
        return err_set(err, -EBADMSG, "its processes cannot be sent on: %s", strerror(-r));
    enclosure_renew(&c->our_procs, id, &frame);
    c->procs = f->id;
    return 0;
}

static int take_batch(struct forward *c, const struct frame *f, struct wire_dec *dec, const struct batch_key *next,
                      struct packet **ret, struct err *err)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    struct batch b;
    int r = wire_batch(dec, f, &b, err); /* A1 */
    if (r < 0)
        return r;
    if ((b.facts && b.facts != c->facts) || (b.procs && b.procs != c->procs))
        return err_set(err, -EBADMSG, "a batch names facts that did not come before it");
    struct enclosure *facts = b.facts ? c->our_facts : NULL, *procs = b.procs ? c->our_procs : NULL;
    r = wire_put_copy(&frame, f->whole, next, facts ? facts->id : 0, procs ? procs->id : 0);
    if (r < 0)
        return err_set(err, -EBADMSG, "a batch cannot be sent on: %s", strerror(-r));
    int64_t at_ms = b.n_ticks ? b.at_ms[b.n_ticks - 1] : c->hello.sent_ms;
    *ret = packet_new(next, at_ms, facts, procs, &frame);
    return FORWARD_PACKET;
}

int forward_next(struct forward *c, struct wire_dec *dec, const struct batch_key *next, struct packet **ret,
                 struct err *err)
{
    struct frame f;
    int r;
    while ((r = stream_next(&c->in, &f, err)) == 1) {
        bool same = c->greeted && memcmp(&f.node, &c->hello.node, sizeof(f.node)) == 0;
        if (!same && (c->greeted || f.type != FRAME_HELLO))
            r = err_set(err, -EBADMSG, c->greeted ? "a frame is of another node" : "it does not start with a HELLO");
        else if (f.type == FRAME_HELLO)
            r = wire_hello(&f, &c->hello, err);
        else if (f.type == FRAME_FACTS)
            r = take_facts(c, &f, err);
        else if (f.type == FRAME_PROCS)
            r = take_procs(c, &f, err);
        else
            return take_batch(c, &f, dec, next, ret, err); /* which may be an error: the caller ends it then */
        if (r < 0)
            break;
        if (f.type == FRAME_HELLO) {
            c->greeted = true;
            return FORWARD_HELLO;
        }
    }
    return r;
}
