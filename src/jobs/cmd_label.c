/*
 * cmd_label.c: a thread that reports a running command to a hub. All tries have one key, so that a retry does not
 * duplicate the job.
 */
#include "jobs/cmd_label.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pwd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/thread.h"
#include "model/fact.h"
#include "model/job.h"

#define TRY_MS      3000  /* one request */
#define AGAIN_MS    10000 /* while the command runs */
#define END_MS      6000  /* once it has ended */
#define END_REST_MS 500
#define COMMAND_MAX 2000
#define PIDS_TOLD   64
#define CLOCK_MS    5000 /* a difference up to here is not worth correcting */

struct label {
    struct client_conf conf;
    struct label_facts f;
    char key[48];
    char host[256];
    pthread_t thread;
    pthread_mutex_t lock;
    /* under the lock */
    const struct label_end *end; /* NULL: it runs */
    char devices[JOB_DEVICES][UUID_MAX];
    pid_t pids[PIDS_TOLD]; /* the command's own is the first */
    size_t n_devices, n_pids;
    int news_fd; /* readable when any of these changed */
    /* the thread's, and the caller's after it has ended */
    char id[32];
    size_t told;     /* number of devices and pids the hub has: they only grow */
    char person[64]; /* sent if the token names no person */
    bool known;      /* our user name at the hub is known */
    bool open;       /* the hub has the job without its end */
    int64_t shift_ms;
    struct err err;
};

static const struct label_end *ended(struct label *l)
{
    LOCKED(&l->lock);
    return l->end;
}

static size_t count_seen(struct label *l)
{
    LOCKED(&l->lock);
    return l->n_devices + l->n_pids;
}

static void await_news(struct label *l, int ms)
{
    struct pollfd p = {.fd = l->news_fd, .events = POLLIN};

    poll(&p, 1, ms);
    wake_clear(l->news_fd);
}

/* Sleeps until the command ends or AGAIN_MS have passed; ignores other changes. */
static void rest(struct label *l)
{
    int64_t until_ms = clock_mono_ms() + AGAIN_MS;

    for (int64_t left_ms; !ended(l) && (left_ms = until_ms - clock_mono_ms()) > 0;)
        await_news(l, (int)left_ms);
}

/* ---- messages ---- */

static json_t *attributes(const struct label *l, const struct label_end *e)
{
    AUTO_BUF b = BUF_INIT(COMMAND_MAX);
    json_t *o = json_object();

    for (char *const *a = l->f.argv; *a && !b.err; a++)
        buf_addf(&b, "%s%s", a == l->f.argv ? "" : " ", *a);
    char command[COMMAND_MAX];
    mem_copy_str(command, sizeof(command), b.p ? b.p : "");
    json_t *text = json_string(command); /* NULL: not UTF-8, left out */
    if (text)
        json_object_set_new(o, "command", text);
    if (e)
        json_object_set_new(o, "exit_code", json_integer(e->exit_code));
    return o;
}

/* Adds the devices and pids seen so far. Returns their number. */
static size_t add_seen(struct label *l, json_t *o)
{
    json_t *devices = json_array(), *pids = json_array();
    LOCKED(&l->lock);

    for (size_t i = 0; i < l->n_devices; i++)
        json_array_append_new(devices, json_string(l->devices[i]));
    for (size_t i = 0; i < l->n_pids; i++)
        json_array_append_new(pids, json_integer(l->pids[i]));
    json_object_set_new(o, "devices", devices);
    json_object_set_new(o, "pids", pids);
    return l->n_devices + l->n_pids;
}

static void add_end(const struct label *l, json_t *o, const struct label_end *e)
{
    json_object_set_new(o, "end", json_integer(e->end_ms + l->shift_ms));
    json_object_set_new(o, "attributes", attributes(l, e));
}

static json_t *ask(struct label *l, const char *method, const char *path, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    AUTO_BUF answer = {0};

    l->err = (struct err){0};
    int r = client_request(&l->conf, method, path, str_of(text ? text : ""), &answer, &l->err);
    free(text);
    json_decref(body);
    json_t *o = r == 0 ? client_json(buf_str(&answer)) : NULL;
    if (r == 0 && !o)
        err_set(&l->err, -EBADMSG, "'%s' sent an unexpected response; is it a muster hub?", client_url(&l->conf));
    return o;
}

/* Who we are there, and what time it is there. */
static bool meet(struct label *l)
{
    json_auto_t *o = l->known ? NULL : ask(l, "GET", "/api/v1/whoami", NULL);

    if (!o)
        return l->known;
    const struct passwd *pw = getpwuid(getuid());
    if (!json_string_value(json_object_get(o, "person")) && pw)
        mem_copy_str(l->person, sizeof(l->person), pw->pw_name);
    int64_t off = json_integer_value(json_object_get(o, "at")) - clock_wall_ms();
    l->shift_ms = off > CLOCK_MS || off < -CLOCK_MS ? off : 0;
    l->known = true;
    return true;
}

/* 0: the hub has it. */
static int post(struct label *l, const struct label_end *e)
{
    json_t *o = NULL;

    if (!meet(l))
        return l->err.code;
    /* the hub may have another name for the host, or none: it finds the node by GPUs */
    for (int with_node = l->host[0] != 0; with_node >= 0 && !o; with_node--) {
        json_t *body = json_object(), *name = json_string(l->f.name);
        json_object_set_new(body, "name", name ? name : json_string("command"));
        json_object_set_new(body, "kind", json_string("record"));
        json_object_set_new(body, "key", json_string(l->key));
        json_object_set_new(body, "start", json_integer(l->f.start_ms + l->shift_ms));
        if (l->person[0])
            json_object_set_new(body, "person", json_string(l->person));
        if (with_node)
            json_object_set_new(body, "node", json_string(l->host));
        add_seen(l, body);
        if (e)
            add_end(l, body, e);
        else
            json_object_set_new(body, "attributes", attributes(l, NULL));
        o = ask(l, "POST", "/api/v1/jobs", body);
        if (!o && l->err.code != -ENOENT)
            break;
    }
    if (!o)
        return l->err.code;
    const char *id = json_string_value(json_object_get(o, "id"));
    mem_copy_str(l->id, sizeof(l->id), id ? id : "");
    l->open = !json_is_integer(json_object_get(o, "end"));
    /* from the hub's reply: if an earlier reply was lost, the hub has that request's values */
    l->told = json_array_size(json_object_get(o, "devices")) + json_array_size(json_object_get(o, "pids"));
    json_decref(o);
    return id ? 0
              : err_set(&l->err, -EBADMSG, "'%s' sent an unexpected response; is it a muster hub?",
                        client_url(&l->conf));
}

/* Sends devices and pids seen so far, and the end if any. */
static int patch(struct label *l, const struct label_end *e)
{
    char path[64];
    json_t *body = json_object();
    size_t seen = add_seen(l, body);

    if (e)
        add_end(l, body, e);
    snprintf(path, sizeof(path), "/api/v1/jobs/%s", l->id);
    json_auto_t *o = ask(l, "PATCH", path, body);
    if (!o)
        return l->err.code;
    l->told = seen;
    l->open = !e;
    return 0;
}

static int finish(struct label *l, const struct label_end *e)
{
    int r = l->id[0] ? 0 : post(l, e);

    return r < 0 || !l->open ? r : patch(l, e);
}

/* What the hub does not know yet of a command that runs. */
static int tell_so_far(struct label *l)
{
    if (l->id[0])
        return patch(l, NULL);
    int r = post(l, NULL);
    if (r == 0 && l->f.taken && !ended(l))
        l->f.taken(l->f.arg, l->id);
    return r;
}

/* It may not, or the job is there no more. */
static bool is_refused(const struct label *l)
{
    return l->err.code == -EACCES || (l->id[0] && l->err.code == -ENOENT);
}

/* Without a configured hub: whether no hub responds at the default address. */
static bool is_alone(struct label *l)
{
    if (client_known(&l->conf) || meet(l) || l->err.code == -EACCES)
        return false;
    err_set(&l->err, -ENOTCONN, "there is no hub on this machine");
    return true;
}

static void *label_main(void *arg)
{
    struct label *l = arg;
    bool refused = false;

    if (is_alone(l))
        return NULL;
    while (!ended(l)) {
        if (refused || (l->id[0] && l->told == count_seen(l)))
            await_news(l, -1);
        else if (tell_so_far(l) < 0 && !(refused = is_refused(l)))
            rest(l);
    }
    int64_t until_ms = clock_mono_ms() + END_MS;
    while (finish(l, ended(l)) < 0 && !is_refused(l) && clock_mono_ms() + END_REST_MS < until_ms)
        usleep(END_REST_MS * 1000);
    return NULL;
}

/* ---- the caller's side ---- */

static void label_free(struct label *l)
{
    if (l->news_fd >= 0)
        close(l->news_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

struct label *label_begin(const struct client_conf *conf, const struct label_facts *f)
{
    struct label *l = NEW(struct label, .conf = *conf, .f = *f);
    uint8_t chance[16];

    l->conf.limit_ms = TRY_MS;
    rand_bytes(chance, sizeof(chance));
    char hex[2 * sizeof(chance) + 1];
    snprintf(l->key, sizeof(l->key), "record-%s", hex_text(chance, sizeof(chance), hex));
    if (gethostname(l->host, sizeof(l->host) - 1) < 0)
        l->host[0] = 0;
    l->pids[l->n_pids++] = f->pid;
    pthread_mutex_init(&l->lock, NULL);
    l->news_fd = wake_new();
    if (l->news_fd >= 0 && thread_start(&l->thread, NULL, label_main, l) == 0)
        return l;
    label_free(l);
    return NULL;
}

void label_saw(struct label *l, const char *uuid, pid_t pid)
{
    if (!l)
        return;
    LOCKED(&l->lock);
    size_t had = l->n_devices + l->n_pids;
    if (l->n_devices < JOB_DEVICES && !ANY(l->n_devices, i, strcmp(l->devices[i], uuid) == 0))
        mem_copy_str(l->devices[l->n_devices++], UUID_MAX, uuid);
    if (l->n_pids < PIDS_TOLD && !ANY(l->n_pids, i, l->pids[i] == pid))
        l->pids[l->n_pids++] = pid;
    if (l->n_devices + l->n_pids > had)
        wake_ring(l->news_fd);
}

int label_end(struct label *l, const struct label_end *e, char ret_id[32], struct err *err)
{
    ret_id[0] = 0;
    if (!l)
        return err_set(err, -EAGAIN, "no thread could be started");
    pthread_mutex_lock(&l->lock);
    l->end = e;
    pthread_mutex_unlock(&l->lock);
    wake_ring(l->news_fd);
    pthread_join(l->thread, NULL);
    bool done = l->id[0] && !l->open;
    int r = done ? 0 : err_set(err, l->err.code < 0 ? l->err.code : -EIO, "%s", l->err.msg);
    mem_copy_str(ret_id, 32, l->id);
    label_free(l);
    return r;
}
