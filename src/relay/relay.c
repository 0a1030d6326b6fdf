/* relay.c: keeps the list of machines and decides which of them may connect next. */
#include "relay/relay.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/timer.h"
#include "relay/finder.h"

struct relay {
    struct event_base *loop;
    struct post *post;
    struct ssh_node_conf conf; /* its text is ours */
    uint64_t run;
    size_t max, connecting;
    size_t n, cap;
    struct ssh_node **v;
    size_t n_line, cap_line;
    struct ssh_node **line; /* machines that want to connect, FIFO */
    struct timer *sweep;
    struct target_list fixed; /* from the settings; sources add more */
    struct finder *finder;
};

/* The text of the settings, which is ours. */
#define TEXT(field) offsetof(struct ssh_node_conf, ssh.field)
static const size_t texts[] = {TEXT(program),     TEXT(config), TEXT(key),
                               TEXT(known_hosts), TEXT(jump),   TEXT(control_dir)};

static char **text_of(const struct ssh_node_conf *c, size_t i)
{
    return (char **)((uintptr_t)c + texts[i]);
}

static void conf_fini(struct ssh_node_conf *c)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(*text_of(c, i));
    *c = (struct ssh_node_conf){0};
}

/* ---- turns ---- */

static void turns(struct relay *r)
{
    while (r->n_line && r->connecting < r->max) {
        struct ssh_node *o = r->line[0];
        memmove(r->line, r->line + 1, --r->n_line * sizeof(*r->line));
        r->connecting++;
        ssh_node_connect(o);
    }
}

static void on_want(void *arg, struct ssh_node *o)
{
    struct relay *r = arg;
    VEC_ADD(r->line, r->n_line, r->cap_line, o);
    turns(r);
}

static void on_settled(void *arg, UNUSED struct ssh_node *o)
{
    struct relay *r = arg;
    r->connecting--;
    turns(r);
}

static const struct ssh_node_hooks hooks = {.want = on_want, .settled = on_settled};

/* ---- the list ---- */

static void drop(struct relay *r, size_t i)
{
    struct ssh_node *o = r->v[i];
    size_t k = FIRST(r->n_line, e, r->line[e] == o);
    if (k < r->n_line)
        memmove(&r->line[k], &r->line[k + 1], (--r->n_line - k) * sizeof(*r->line));
    ssh_node_free(o);
    r->v[i] = r->v[--r->n];
}

static void on_sweep(void *arg)
{
    struct relay *r = arg;
    int64_t now = clock_mono_ms();
    for (size_t i = r->n; i-- > 0;) {
        int64_t since = ssh_node_unlisted_ms(r->v[i]);
        if (since && now - since > UNLISTED_MS) {
            log_info("relay", "%s: forgotten", ssh_node_name(r->v[i]));
            drop(r, i);
        }
    }
}

static bool same_way(const struct ssh_node_conf *a, const struct ssh_node_conf *b)
{
    return a->every_ms == b->every_ms && a->ssh.connect_ms == b->ssh.connect_ms &&
           a->ssh.accept_new == b->ssh.accept_new &&
           !ANY(ARRAY_LEN(texts), i, strcmp(*text_of(a, i) ?: "", *text_of(b, i) ?: "") != 0);
}

/* Every machine of the list has its ssh_node, with the address it has now; the others are unlisted. */
static void take_list(struct relay *r, const struct target_list *l)
{
    AUTO_FREE bool *there = mem_zero(l->n + 1, sizeof(*there));
    for (size_t i = 0; i < r->n; i++) {
        int64_t at = target_list_find(l, str_of(ssh_node_name(r->v[i])));
        if (at < 0) {
            ssh_node_unlist(r->v[i]);
            continue;
        }
        if (ssh_node_same(r->v[i], &l->v[at])) {
            ssh_node_list(r->v[i]);
            ssh_node_labels(r->v[i], l->v[at].labels);
            there[at] = true;
        } else { /* the last one moves here and is checked next */
            drop(r, i--);
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        if (there[i])
            continue;
        VEC_ADD(r->v, r->n, r->cap, NULL); /* its slot, in case it wants to connect immediately */
        r->v[r->n - 1] = ssh_node_new(r->loop, r->post, &r->conf, &l->v[i], r->run, &hooks, r);
        ssh_node_labels(r->v[r->n - 1], l->v[i].labels);
    }
}

/* The machines of the settings come first: their connection data has priority. */
static void take_lists(void *arg)
{
    struct relay *r = arg;
    struct target_list all = {0};
    target_list_join(&all, &r->fixed);
    finder_add(r->finder, &all);
    take_list(r, &all);
    target_list_fini(&all);
}

struct relay *relay_new(struct event_base *loop, struct post *post)
{
    struct relay *r = NEW(struct relay, .loop = loop, .post = post, .run = rand_u64() | 1);
    r->sweep = timer_new(loop, on_sweep, r);
    timer_every(r->sweep, 60000);
    r->finder = finder_new(loop, take_lists, r);
    return r;
}

void relay_free(struct relay *r)
{
    if (!r)
        return;
    r->max = 0; /* no further connections */
    while (r->n)
        drop(r, r->n - 1);
    timer_free(r->sweep);
    finder_free(r->finder);
    target_list_fini(&r->fixed);
    conf_fini(&r->conf);
    FREE_ALL(r->v, r->line, r);
}

int relay_set(struct relay *r, const struct relay_settings *s, struct err *err)
{
    struct target_list l = {0};
    char *key = NULL;
    int got = target_list_of(s, &l, &key, err);
    if (got == 0 && (got = finder_set(r->finder, s, err)) < 0) {
        target_list_fini(&l);
        free(key);
    }
    if (got < 0)
        return got;
    struct ssh_node_conf next = {.every_ms = s->every,
                                 .ssh = {.program = mem_str(s->program),
                                         .config = mem_str(s->config),
                                         .key = key,
                                         .known_hosts = mem_str(s->known_hosts),
                                         .jump = mem_str(s->jump),
                                         .control_dir = mem_str(s->control_dir),
                                         .accept_new = s->accept_new_keys,
                                         .connect_ms = s->connect}};
    if (same_way(&r->conf, &next)) {
        conf_fini(&next);
    } else { /* restart all: a node keeps the settings it was made with */
        r->max = 0;
        while (r->n)
            drop(r, r->n - 1);
        conf_fini(&r->conf);
        r->conf = next;
    }
    r->max = (size_t)s->connections;
    target_list_fini(&r->fixed);
    r->fixed = l;
    take_lists(r);
    return 0;
}

void relay_sources(const struct relay *r, struct json *j)
{
    finder_status_json(r->finder, "ssh", j);
}

void relay_stat(const struct relay *r, struct relay_stat *ret)
{
    *ret = (struct relay_stat){.nodes = r->n, .connecting = r->connecting, .waiting = r->n_line};
    for (size_t i = 0; i < r->n; i++) {
        struct ssh_node_stat st;
        ssh_node_stat(r->v[i], &st);
        ret->states[st.collect]++;
        ret->rounds += st.rounds;
    }
}
