/* aim.c: the processes that get a signal, the confirmation, and the result. */
#include "tui/aim.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "tui/top.h"

static const struct {
    char key;
    int no;
    const char *word;
} signals[] = {{'t', SIGTERM, "TERM"}, {'i', SIGINT, "INT"},   {'h', SIGHUP, "HUP"},
               {'k', SIGKILL, "KILL"}, {'s', SIGSTOP, "STOP"}, {'c', SIGCONT, "CONT"}};

static void let_go(struct aim *a)
{
    for (size_t i = 0; i < a->n; i++)
        close(a->v[i].fd);
    a->n = 0;
    a->asking = false;
}

void aim_fini(struct aim *a)
{
    let_go(a);
    free(a->tags);
    *a = (struct aim){0};
}

bool aim_tagged(const struct aim *a, uint64_t id)
{
    return ANY(a->n_tags, i, a->tags[i] == id);
}

void aim_tag(struct top *t)
{
    struct aim *a = &t->aim;
    const struct place *p = top_place(t);

    if (p->at >= t->n_items || !t->items[p->at].p)
        return;
    uint64_t id = t->items[p->at].id;
    size_t at = FIRST(a->n_tags, i, a->tags[i] == id);
    if (at < a->n_tags)
        a->tags[at] = a->tags[--a->n_tags];
    else
        VEC_ADD(a->tags, a->n_tags, a->cap_tags, id);
}

static bool take(struct top *t, const struct item *i)
{
    struct aim *a = &t->aim;
    const struct proc_fact *f = i->p->fact;

    if (ANY(a->n, k, a->v[k].pid == f->pid))
        return true; /* count a process on several GPUs once */
    if (a->n == AIM_MAX) {
        snprintf(a->said, sizeof(a->said), "at most %d processes at once", AIM_MAX);
        return false;
    }
    int fd = t->feed->aim(t->feed->arg, f->pid, f->start_ms);
    if (fd < 0) {
        snprintf(a->said, sizeof(a->said),
                 fd == -EPERM   ? "process %d belongs to another user"
                 : fd == -ESRCH ? "process %d has ended"
                                : "process %d cannot be reached: %s",
                 f->pid, strerror(-fd));
        return false;
    }
    a->v[a->n] = (struct signal_target){.fd = fd, .pid = f->pid};
    mem_copy_str(a->v[a->n++].name, sizeof(a->v[0].name), f->name);
    return true;
}

void aim_begin(struct top *t)
{
    struct aim *a = &t->aim;
    const struct place *p = top_place(t);
    bool good = true;

    a->said[0] = 0;
    let_go(a);
    if (!t->feed->aim) {
        snprintf(a->said, sizeof(a->said), "signals need muster top on the machine of the process, without --hub");
        return;
    }
    if (p->at >= t->n_items || !t->items[p->at].p) {
        snprintf(a->said, sizeof(a->said), "no process is selected: p lists them");
        return;
    }
    for (size_t i = 0; i < t->n_items && good; i++)
        if (a->n_tags ? aim_tagged(a, t->items[i].id) : i == p->at)
            good = take(t, &t->items[i]);
    if (good && !a->n)
        snprintf(a->said, sizeof(a->said), "the tagged processes are no longer in this list");
    if (!good)
        let_go(a);
    a->asking = a->n > 0;
    a->sig = 0;
}

static void fire(struct top *t)
{
    struct aim *a = &t->aim;
    size_t sent = 0, gone = 0;
    int why = 0;

    for (size_t i = 0; i < a->n; i++) {
        int r = t->feed->fire(t->feed->arg, a->v[i].fd, signals[a->sig].no);
        sent += r == 0;
        gone += r == -ESRCH;
        why = r < 0 && r != -ESRCH ? r : why;
    }
    if (why)
        snprintf(a->said, sizeof(a->said), "sent %s to %zu of %zu: %s", signals[a->sig].word, sent, a->n,
                 strerror(-why));
    else if (gone)
        snprintf(a->said, sizeof(a->said), "sent %s to %zu; %zu had already ended", signals[a->sig].word, sent, gone);
    else
        snprintf(a->said, sizeof(a->said), "sent %s to %zu process%s", signals[a->sig].word, sent,
                 sent == 1 ? "" : "es");
    a->n_tags = 0;
}

void aim_key(struct top *t, int key)
{
    for (unsigned i = 0; i < ARRAY_LEN(signals); i++)
        if (key == signals[i].key) {
            t->aim.sig = i;
            return;
        }
    if (key == 'y')
        fire(t);
    else
        snprintf(t->aim.said, sizeof(t->aim.said), "nothing was sent");
    let_go(&t->aim);
}

void aim_words(const struct aim *a, struct buf *out)
{
    buf_addf(out, "send %s to %s (%d)", signals[a->sig].word, a->v[0].name, a->v[0].pid);
    if (a->n > 1)
        buf_addf(out, " and %zu more", a->n - 1);
    buf_adds(out, "? y yes  Esc no  or");
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (i != a->sig)
            buf_addf(out, " %c %s", signals[i].key, signals[i].word);
}
