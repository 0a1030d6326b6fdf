/* A store's muster.db, damaged (harm.h). It opens or is refused with a sentence, its records can be read or are an
 * error with one, and nothing crashes. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "harm.h"
#include "temp_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT     1794737172345ll
#define DB_MAX (16u << 20)

static struct buf sound; /* of a muster.db with records of each kind */
static char *dir, *path;
static size_t seen;

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void fill(struct store *s)
{
    static const char hash[32] = "0123456789abcdef0123456789abcde";

    for (int i = 0; i < 40; i++) {
        struct store_node n = {.first_ms = AT, .last_ms = AT + i, .sampled_ms = AT, .named = true};
        struct node_event e = {.at_ms = AT + i, .kind = 1 + i % 8, .code = i, .text = "the driver does not answer"};
        AUTO_FREE char *text = mem_fmt("{'name':'report %d','done':%d}", i, i * 1000);
        struct note note = {.kind = 1 + i % 4, .id = i + 1, .bytes = str_of(text)};
        struct store_setting setting = {text, str_of(text)};
        struct store_token token = {.created_ms = AT};
        snprintf(n.key, sizeof(n.key), "%032d", i);
        snprintf(n.own_name, sizeof(n.own_name), "dgx%d", i);
        snprintf(token.id, sizeof(token.id), "t%d", i);
        memcpy(token.hash, hash, sizeof(token.hash));
        token.hash[0] = (uint8_t)i;
        check(store_put(s, STORE_NODE, &n, 1, NULL, NULL) == 0);
        check(store_put(s, STORE_EVENT, &(struct store_event){n.key, "GPU-1", e}, 1, NULL, NULL) == 0);
        check(store_put(s, STORE_NOTE, &note, 1, NULL, NULL) == 0);
        check(store_put(s, STORE_SETTING, &setting, 1, NULL, NULL) == 0);
        check(store_put(s, STORE_TOKEN, &token, 1, NULL, NULL) == 0);
    }
}

static void remove_all(void)
{
    buf_fini(&sound);
    free(path);
    dir_free(dir);
}

static void make_sound(void)
{
    struct store *s = NULL;
    struct store_conf conf = {.commit_ms = 1};

    conf.dir = dir = dir_new_quick();
    path = mem_fmt("%s/muster.db", dir);
    check(store_open(&s, &conf, NULL, NULL) == 0);
    fill(s);
    check(store_flush(s, NULL) == 0);
    store_close(s);
    check(file_read(path, DB_MAX, &sound, NULL) == 0);
    atexit(remove_all);
}

static void one_node(void *arg, const struct store_node *n)
{
    (void)arg;
    seen += strnlen(n->key, sizeof(n->key)) + strnlen(n->own_name, sizeof(n->own_name)) + n->demo;
}

static void one_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    (void)arg;
    seen += strlen(node) + (device ? strlen(device) : 0) + strnlen(e->text, sizeof(e->text));
}

static void one_note(void *arg, const struct note *n)
{
    (void)arg;
    for (size_t i = 0; i < n->bytes.len; i++)
        seen += (unsigned char)n->bytes.p[i];
}

static void one_token(void *arg, const struct store_token *t)
{
    (void)arg;
    seen += strnlen(t->id, sizeof(t->id)) + t->hash[31];
}

static void read_all(struct store *s)
{
    const struct store_each *each[] = {EACH_NODE(one_node, NULL), EACH_EVENT(one_event, NULL, .limit = 100),
                                       EACH_NOTE(1, one_note, NULL), EACH_TOKEN(one_token, NULL)};
    AUTO_BUF value = BUF_INIT(4096);

    for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
        struct err err = {0};
        check(store_each(s, each[i], &err) >= 0 || err.msg[0]);
    }
    struct err err = {0};
    check(store_get(s, GET_SETTING("{'name':'report 7','done':7000}", &value), &err) >= 0 || err.msg[0]);
}

static void remove_others(void *arg, const char *file, const char *name)
{
    (void)arg, (void)name;
    unlink(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *s = NULL;
    struct err err = {0};

    if (!dir)
        make_sound();
    AUTO_BUF db = BUF_INIT(DB_MAX);
    buf_addstr(&db, buf_str(&sound));
    harm_files(data, size, (struct buf *[]){&db}, 1);
    dir_each(dir, remove_others, NULL);
    check(file_write(path, 0600, db.p, db.len, NULL) == 0);
    if (store_open_tools(&s, dir, NULL, &err) < 0)
        check(err.msg[0]);
    else
        read_all(s);
    store_close(s);
    return 0;
}
