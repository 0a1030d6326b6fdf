/*
 * cmd_label.c: a thread that tells a hub of a command that runs. All tries have one key, so that none of them doubles
 * the job.
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
#include "base/rand.h"
#include "base/thread.h"

#define TRY_MS      3000  /* one request */
#define AGAIN_MS    10000 /* while the command runs */
#define END_MS      6000  /* once it has ended */
#define END_REST_MS 500
#define COMMAND_MAX 2000
#define CLOCK_MS    5000 /* a difference up to here is not worth correcting */

struct label {
    struct client_conf conf;
    struct label_facts f;
    char key[48];
    char host[256];
    pthread_t thread;
    pthread_mutex_t lock;
    const struct label_end *end; /* under the lock; NULL: it runs */
    int ended_fd;                /* readable once it is set */
    /* the thread's, and the caller's when it is over */
    char id[32];
    char person[64]; /* sent where the token names nobody */
    bool known;      /* who we are to the hub */
    bool open;       /* the hub knows the job, and not its end */
    int64_t shift_ms;
    struct err err;
};

static const struct label_end *ended(struct label *l)
{
    LOCKED(&l->lock);
    return l->end;
}

/* Until the command ends, or for a while. */
static void rest(struct label *l)
{
    struct pollfd p = {.fd = l->ended_fd, .events = POLLIN};

    poll(&p, 1, AGAIN_MS);
}

/* ---- what is said ---- */

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

static void add_end(const struct label *l, json_t *o, const struct label_end *e)
{
    json_t *devices = json_array(), *pids = json_array();

    for (size_t i = 0; i < e->n_devices; i++)
        json_array_append_new(devices, json_string(e->devices[i]));
    for (size_t i = 0; i < e->n_pids; i++)
        json_array_append_new(pids, json_integer(e->pids[i]));
    json_object_set_new(o, "devices", devices);
    json_object_set_new(o, "pids", pids);
    json_object_set_new(o, "end", json_integer(e->end_ms + l->shift_ms));
    json_object_set_new(o, "attributes", attributes(l, e));
}

static json_t *ask(struct label *l, const char *method, const char *path, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    AUTO_BUF answer = {0};

    l->err = (struct err){0};
    int r = client_ask(&l->conf, method, path, str_of(text ? text : ""), &answer, &l->err);
    free(text);
    json_decref(body);
    json_t *o = r == 0 ? client_json(buf_str(&answer)) : NULL;
    if (r == 0 && !o)
        err_set(&l->err, -EBADMSG, "'%s' answered something else than a hub would", client_url(&l->conf));
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
    /* its host may have another name there, or none: the GPUs will tell */
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
        if (e) {
            add_end(l, body, e);
        } else {
            json_t *pids = json_array();
            json_array_append_new(pids, json_integer(l->f.pid));
            json_object_set_new(body, "pids", pids);
            json_object_set_new(body, "attributes", attributes(l, NULL));
        }
        o = ask(l, "POST", "/api/v1/jobs", body);
        if (!o && l->err.code != -ENOENT)
            break;
    }
    if (!o)
        return l->err.code;
    const char *id = json_string_value(json_object_get(o, "id"));
    mem_copy_str(l->id, sizeof(l->id), id ? id : "");
    l->open = !json_is_integer(json_object_get(o, "end"));
    json_decref(o);
    return id ? 0 : err_set(&l->err, -EBADMSG, "'%s' answered something else than a hub would", client_url(&l->conf));
}

static int finish(struct label *l, const struct label_end *e)
{
    char path[64];
    int r = l->id[0] ? 0 : post(l, e);

    if (r < 0 || !l->open)
        return r;
    json_t *body = json_object();
    add_end(l, body, e);
    snprintf(path, sizeof(path), "/api/v1/jobs/%s", l->id);
    json_auto_t *o = ask(l, "PATCH", path, body);
    l->open = !o;
    return o ? 0 : l->err.code;
}

static void *label_main(void *arg)
{
    struct label *l = arg;

    while (!l->id[0] && !ended(l) && post(l, NULL) < 0 && l->err.code != -EACCES)
        rest(l);
    while (!ended(l))
        rest(l);
    int64_t until_ms = clock_mono_ms() + END_MS;
    while (finish(l, ended(l)) < 0 && l->err.code != -EACCES && clock_mono_ms() + END_REST_MS < until_ms)
        usleep(END_REST_MS * 1000);
    return NULL;
}

/* ---- the caller's side ---- */

static void label_free(struct label *l)
{
    if (l->ended_fd >= 0)
        close(l->ended_fd);
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
    pthread_mutex_init(&l->lock, NULL);
    l->ended_fd = wake_new();
    if (l->ended_fd >= 0 && thread_start(&l->thread, NULL, label_main, l) == 0)
        return l;
    label_free(l);
    return NULL;
}

int label_end(struct label *l, const struct label_end *e, char ret_id[32], struct err *err)
{
    if (!l)
        return err_set(err, -EAGAIN, "no thread could be started");
    pthread_mutex_lock(&l->lock);
    l->end = e;
    pthread_mutex_unlock(&l->lock);
    wake_ring(l->ended_fd);
    pthread_join(l->thread, NULL);
    bool done = l->id[0] && !l->open;
    int r = done ? 0 : err_set(err, l->err.code < 0 ? l->err.code : -EIO, "%s", l->err.msg);
    if (done)
        mem_copy_str(ret_id, 32, l->id);
    label_free(l);
    return r;
}
