/* feature.c: the bot in the hub: takes what Slack sends, finds out who said it, and has it answered. */
#include "slack/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/secret.h"
#include "hub/handlers.h"
#include "hub/self.h"
#include "notify/channel.h"
#include "notify/outbox.h"
#include "slack/conf.h"
#include "slack/dialog_run.h"
#include "slack/line.h"
#include "slack/slack_event.h"
#include "slack/web_api.h"

#define TAKEN_MS     1500 /* then Slack is told that we have it, ready or not; it waits for 3 s */
#define SEEN_MAX     4096 /* things that are remembered to be known again */
#define ANSWERED_MAX 256  /* ... of which so many, that were answered, over a restart */
#define ASKING_MAX   200  /* questions at once; more are not taken, and Slack sends them again */
#define KNOWN_MAX    1000 /* people whose mail address is remembered ... */
#define KNOWN_MS     3600000
#define UNKNOWN_MS   60000 /* ... or that Slack did not say it */
#define AUTH_MS      60000

struct known {
    char user[SLACK_ID_MAX + 1], mail[256]; /* mail "": not known */
    int64_t until_mono;
};

struct slack_query {     /* a question on its way */
    struct hub_slack *d; /* NULL: the bot is gone */
    struct slack_query *next;
    struct slack_event *heard;
    char envelope[SLACK_ID_MAX + 1]; /* "": it came over HTTP */
    struct late *late;
    struct slack_request *ask; /* whose mail is it? */
    bool taken, saying;
    int stores; /* answers that are being stored */
    int64_t began_mono;
};

struct hub_slack {
    struct hub *h;
    struct slack_conf *conf;
    char *section; /* what conf was made of; "": nothing */
    struct slack *link;
    struct slack_line *line;
    struct slack_request *auth;
    int64_t auth_mono;
    char own[SLACK_ID_MAX + 1]; /* the bot's user id; "": not known yet */
    char error[200];            /* of auth.test */
    int64_t since_ms;
    uint64_t seen[SEEN_MAX];
    size_t n_seen;
    int64_t answered; /* where the last one of these was stored */
    struct known *known;
    size_t n_known;
    struct slack_query *first;
    size_t n_asking;
    bool led; /* its line is open as that of a hub that leads */
};

/* ---- settings ---- */

#define SETTINGS slack
#include "base/opt_def.h"

static int prepare_section(UNUSED void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    struct slack_conf *c = *next = slack_conf_new();

    return slack_conf_read(c, hub_conf_value(conf, "slack"), err);
}

static void drop_section(void *next)
{
    slack_conf_free(next);
}

static bool is_on(const struct hub_slack *d)
{
    return slack_conf_has(d->conf, SLACK_TOKEN);
}

static int open_link(struct hub_slack *d, struct err *err)
{
    if (!d->link)
        return slack_new(&d->link, d->h->loop, &d->conf->server, err);
    slack_set(d->link, &d->conf->server);
    return 0;
}

static void take_section(void *self, void *next)
{
    struct hub_slack *d = self;
    const struct opt_section *section = hub_conf_value(&d->h->conf, "slack");
    const char *text = section->text ? section->text : "";
    struct err err = {0};
    struct slack_conf *c = next, *old = d->conf;
    int64_t since_ms;

    bool same = strcmp(text, d->section) == 0 && !hub_slack_error(d, &since_ms)[0];
    d->conf = c;
    free(d->section);
    d->section = mem_str(text);
    d->auth_mono = 0;
    if (!same)
        d->own[0] = 0;
    bool on = is_on(d) && open_link(d, &err) == 0;
    mem_copy_str(d->error, sizeof(d->error), err.msg);
    if (on && same)
        slack_line_keep(d->line, c); /* nothing of it changed: the connection stays */
    else
        slack_line_set(d->line, on ? d->link : NULL, on ? c : NULL);
    d->led = true;
    slack_conf_free(old);
}

int hub_slack_link(struct hub_slack *d, struct slack **ret, struct buf *token, const char **ret_channel,
                   struct err *err)
{
    if (!is_on(d) || !d->link)
        return err_set(err, -ENOENT, "there is no bot: the section slack has no token");
    int r = slack_conf_secret(d->conf, SLACK_TOKEN, token, err);
    *ret = d->link;
    if (ret_channel)
        *ret_channel = d->conf->channel;
    return r;
}

const char *hub_slack_error(const struct hub_slack *d, int64_t *ret_since_ms)
{
    if (!d)
        return "";
    if (!d->error[0])
        return slack_line_error(d->line, ret_since_ms);
    *ret_since_ms = d->since_ms;
    return d->error;
}

/* ---- who are we? ---- */

static void on_auth(void *arg, const struct slack_result *r)
{
    struct hub_slack *d = arg;
    const char *own = slack_text(r->body, "user_id");

    d->auth = NULL;
    if (r->how == SLACK_DONE) {
        mem_copy_str(d->own, sizeof(d->own), own);
        d->error[0] = 0;
        return;
    }
    d->auth_mono = clock_mono_ms() + MAX(AUTH_MS, r->wait_ms);
    if (!r->word[0])
        return; /* nobody is there: whoever wants to send something says so */
    if (!d->error[0])
        d->since_ms = clock_wall_ms();
    if (strcmp(d->error, r->error) != 0)
        log_warn("slack", "the bot's token does not work: %s", r->error);
    mem_copy_str(d->error, sizeof(d->error), r->error);
}

static void ask_auth(struct hub_slack *d)
{
    AUTO_BUF token = {0};
    struct slack *link = NULL;
    struct err err = {0};
    int r = hub_slack_link(d, &link, &token, NULL, &err);

    d->auth_mono = clock_mono_ms() + AUTH_MS;
    if (r == 0)
        r = slack_request(&d->auth, link, "auth.test", buf_str(&token), NULL, NULL, on_auth, d, &err);
    if (r < 0 && strcmp(d->error, err.msg) != 0) {
        log_warn("slack", "%s", err.msg);
        mem_copy_str(d->error, sizeof(d->error), err.msg);
        d->since_ms = clock_wall_ms();
    }
}

/* ---- what was there already ---- */

static bool seen(const struct hub_slack *d, uint64_t key)
{
    return ANY(MIN(d->n_seen, SEEN_MAX), i, d->seen[i] == key);
}

static void see(struct hub_slack *d, uint64_t key)
{
    if (!seen(d, key))
        d->seen[d->n_seen++ % SEEN_MAX] = key;
}

static uint64_t key_of(const char *kind, const char *a, const char *b)
{
    char text[2 * SLACK_ID_MAX + 20];
    int n = snprintf(text, sizeof(text), "%s %s %s", kind, a, b);

    return fnv64(text, (size_t)MIN(n, (int)sizeof(text) - 1));
}

struct newest {
    struct hub_slack *d;
    int64_t at_ms;
};

static void load_answered(void *arg, const struct note *n)
{
    struct newest *x = arg;
    struct str rest = n->bytes, key;
    uint64_t v;
    int64_t at_ms;

    if (!str_word(&rest, &key) || !str_hex(key, &v) || !str_int(str_trim(rest), &at_ms))
        return;
    see(x->d, v);
    if (at_ms >= x->at_ms) {
        x->at_ms = at_ms;
        x->d->answered = n->id;
    }
}

static int load_answers(void *self, struct err *err)
{
    struct hub_slack *d = self;
    struct newest x = {.d = d};

    return MIN(store_each(d->h->store, EACH_NOTE(NOTE_BOT, load_answered, &x), err), 0);
}

/* Another hub answered it. */
static void hear_news(void *self, const struct hub_event *w)
{
    const struct note *n = w->kind == HUB_EVENT_RECORD && w->record->kind == STORE_NOTE ? w->record->record : NULL;
    struct newest x = {.d = self};

    if (n && n->kind == NOTE_BOT && !w->record->gone)
        load_answered(&x, n);
}

/* ---- questions ---- */

/* Slack is told that we have it. */
static void take(struct slack_query *a)
{
    struct reply rp = {.type = "text/plain; charset=utf-8"};

    if (a->taken)
        return;
    a->taken = true;
    if (a->late)
        httpd_late_reply(a->late, &rp);
    else if (a->d)
        slack_line_ack(a->d->line, a->envelope);
    a->late = NULL;
}

static void asking_end(struct slack_query *a)
{
    if (a->saying || a->stores)
        return; /* the last one of these ends it */
    take(a);
    if (a->d) {
        struct slack_query **at = &a->d->first;
        while (*at != a)
            at = &(*at)->next;
        *at = a->next;
        a->d->n_asking--;
    }
    slack_request_free(a->ask);
    free(a->heard);
    free(a);
}

static void stored(void *arg, UNUSED int result) /* it is sent in any case */
{
    struct slack_query *a = arg;

    a->stores--;
    asking_end(a);
}

/* The answer, and that this was answered: both or neither. */
static void post(struct slack_query *a, const struct message *m)
{
    AUTO_BUF b = BUF_INIT(100);

    if (!a->d || !a->d->h->outbox)
        return;
    a->stores++;
    buf_addf(&b, "%016" PRIx64 " %" PRId64, key_of("id", a->heard->id, ""), m->created_ms);
    a->d->answered = a->d->answered % ANSWERED_MAX + 1;
    struct note n = {.kind = NOTE_BOT, .id = a->d->answered, .bytes = buf_str(&b)};
    outbox_send(a->d->h->outbox, m, a->heard->id[0] ? &n : NULL, stored, a);
}

static void said(void *arg, const struct dialog_answer *s)
{
    struct slack_query *a = arg;
    const struct slack_event *h = a->heard;
    struct message m = {.created_ms = clock_wall_ms(),
                        .kind = MESSAGE_ANSWER,
                        .channel = CHANNEL_BOT,
                        .to = h->respond[0] ? h->respond : h->channel,
                        .thread = h->respond[0]  ? ""
                                  : h->thread[0] ? h->thread
                                  : h->direct    ? ""
                                                 : h->ts,
                        .text = s->text ? s->text : "",
                        .blocks = s->blocks ? s->blocks : "",
                        .n_files = h->respond[0] ? 0 : s->n_files,
                        .files = s->files};

    a->saying = false;
    a->stores++; /* so that nothing ends before all is on its way */
    if (m.text[0] || m.blocks[0] || m.n_files)
        post(a, &m);
    if (h->respond[0] && s->n_files) { /* an address to answer to takes no files: they go to the asker alone */
        m.to = h->user;
        m.blocks = "";
        m.text = "Your request:";
        m.n_files = s->n_files;
        post(a, &m);
    }
    a->stores--;
    asking_end(a);
}

static void ask_say(struct slack_query *a, const char *mail)
{
    struct hub *h = a->d->h;
    const struct slack_event *x = a->heard;
    struct dialog_params k = {.text = str_of(x->text),
                              .way = x->to_bot ? DIALOG_TO_US : DIALOG_TALK,
                              .person = slack_find_person(h->api.people, x->user, mail),
                              .called = x->user};

    a->saying = true;
    if (!dialog_run(h, &k, NULL, said, a)) {
        a->saying = false;
        asking_end(a);
    }
}

/* ---- who asks? ---- */

static const struct known *known_find(const struct hub_slack *d, const char *user)
{
    return FIND(d->known, d->n_known, k, strcmp(k->user, user) == 0);
}

static void known_put(struct hub_slack *d, const char *user, const char *mail, int64_t keep_ms)
{
    const struct known *there = known_find(d, user);
    size_t at = there ? (size_t)(there - d->known) : d->n_known;

    if (at == KNOWN_MAX) { /* whoever is due to be forgotten first */
        at = 0;
        for (size_t i = 1; i < KNOWN_MAX; i++)
            if (d->known[i].until_mono < d->known[at].until_mono)
                at = i;
    } else if (at == d->n_known) {
        d->known = mem_grow(d->known, ++d->n_known, sizeof(*d->known));
    }
    struct known *k = &d->known[at];
    *k = (struct known){.until_mono = clock_mono_ms() + keep_ms};
    mem_copy_str(k->user, sizeof(k->user), user);
    mem_copy_str(k->mail, sizeof(k->mail), mail);
}

static void on_mail(void *arg, const struct slack_result *r)
{
    struct slack_query *a = arg;
    json_t *user = json_object_get(r->body, "user");
    const char *mail = slack_text(json_object_get(user, "profile"), "email");

    a->ask = NULL;
    known_put(a->d, a->heard->user, mail, r->how == SLACK_DONE ? KNOWN_MS : UNKNOWN_MS);
    ask_say(a, mail[0] ? mail : NULL);
}

static void ask_who(struct slack_query *a)
{
    struct hub_slack *d = a->d;
    const struct known *k = known_find(d, a->heard->user);
    bool told = slack_find_person(d->h->api.people, a->heard->user, NULL), fresh = k && k->until_mono > clock_mono_ms();
    AUTO_BUF token = {0};
    struct slack *link = NULL;

    if (told || fresh || hub_slack_link(d, &link, &token, NULL, NULL) < 0 ||
        slack_request(&a->ask, link, "users.info", buf_str(&token), "user", a->heard->user, on_mail, a, NULL) < 0)
        ask_say(a, !told && fresh && k->mail[0] ? k->mail : NULL);
}

/* ---- in ---- */

/* "<@U0BOT> free" in a channel is said to the bot, though it comes as a message, too, where the app asks for these. */
static void for_us(const struct hub_slack *d, struct slack_event *h)
{
    struct str text = str_trim(str_of(h->text));
    char name[SLACK_ID_MAX + 4];

    snprintf(name, sizeof(name), "<@%s>", d->own);
    if (!d->own[0] || h->kind != HEARD_MESSAGE || !str_skip(&text, name))
        return;
    h->to_bot = true;
    h->text = str_trim(text).p;
}

/* Takes h. */
static void hear(struct hub_slack *d, struct slack_event *h, const char *envelope, struct late *late)
{
    struct slack_query *a =
        NEW(struct slack_query, .d = d, .next = d->first, .heard = h, .late = late, .began_mono = clock_mono_ms());
    mem_copy_str(a->envelope, sizeof(a->envelope), envelope);
    d->first = a;
    d->n_asking++;
    for_us(d, h);
    bool again = (h->id[0] && seen(d, key_of("id", h->id, ""))) ||
                 (h->kind == HEARD_MESSAGE && seen(d, key_of("ts", h->channel, h->ts)));
    bool ours = d->own[0] && strcmp(h->user, d->own) == 0;
    if (h->id[0])
        see(d, key_of("id", h->id, ""));
    if (h->kind < HEARD_MESSAGE || again || ours) {
        asking_end(a);
        return;
    }
    log_debug("slack", "%s: %zu bytes", h->user, strlen(h->text));
    if (!h->to_bot &&
        !dialog_would_answer(d->h, &(struct dialog_params){.text = str_of(h->text), .way = DIALOG_TALK})) {
        asking_end(a); /* people who talk with each other */
        return;
    }
    if (h->kind == HEARD_MESSAGE) /* of two events of one message the first that is for us counts */
        see(d, key_of("ts", h->channel, h->ts));
    ask_who(a);
}

static void on_envelope(void *arg, struct str json)
{
    struct hub_slack *d = arg;
    char id[SLACK_ID_MAX + 1] = "";
    struct err err = {0};
    struct slack_event *h;

    if (d->n_asking >= ASKING_MAX)
        return; /* not acknowledged: it comes again */
    h = slack_envelope_parse(json, id, &err);
    if (h) {
        hear(d, h, id, NULL);
        return;
    }
    if (log_ratelimit(d->h, "slack", clock_wall_ms()))
        log_warn("slack", "skipped: %s", err.msg);
    if (id[0])
        slack_line_ack(d->line, id); /* it would not become better */
}

const struct dialog_conf *hub_slack_dialog_conf(const struct hub *hub)
{
    const struct hub_slack *d = feature_self(&hub->features, &slack_feature);

    return d && d->conf ? &d->conf->say : &dialog_usual;
}

int hub_slack_secret(struct hub *hub, struct buf *ret, struct err *err)
{
    const struct hub_slack *d = feature_self(&hub->features, &slack_feature);

    if (!is_on(d) || !slack_conf_has(d->conf, SLACK_SIGNING))
        return 0;
    int r = slack_conf_secret(d->conf, SLACK_SIGNING, ret, err);
    return r < 0 ? r : 1;
}

enum reply_mode hub_slack_on_event(struct hub *hub, struct request *rq, struct reply *rp, struct slack_event *h)
{
    struct hub_slack *d = feature_self(&hub->features, &slack_feature);

    if (d->n_asking >= ASKING_MAX) {
        free(h);
        return reply_problem(rp, 503, "too many queries at the same time; try again in a few seconds");
    }
    hear(d, h, "", httpd_late(rq));
    return REPLY_LATER;
}

static void *open_slack(struct hub *h)
{
    struct hub_slack *d = NEW(struct hub_slack, .h = h, .conf = slack_conf_new(), .section = mem_str(""));

    d->line = slack_line_new(h->loop, on_envelope, d);
    outbox_carry(h->outbox, CHANNEL_SLACK_BOT, &carrier_slack);
    return d;
}

static void tick(void *self, UNUSED int64_t now_ms)
{
    struct hub_slack *d = self;
    int64_t now = clock_mono_ms();
    struct slack_query *next;

    if (!is_on(d))
        return;
    if (!d->own[0] && !d->auth && d->link && now >= d->auth_mono)
        ask_auth(d);
    bool leads = hub_leads(d->h);
    if (leads != d->led) /* of several hubs one listens to Slack */
        slack_line_set(d->line, leads ? d->link : NULL, leads ? d->conf : NULL);
    d->led = leads;
    slack_line_tick(d->line);
    for (struct slack_query *a = d->first; a; a = next) {
        next = a->next;
        if (now - a->began_mono >= TAKEN_MS)
            take(a);
    }
}

static void close_slack(void *self)
{
    struct hub_slack *d = self;
    struct slack_query *next;

    outbox_carry(d->h->outbox, CHANNEL_SLACK_BOT, NULL); /* messages under way use the connection */
    slack_line_free(d->line);
    slack_request_free(d->auth);
    for (struct slack_query *a = d->first; a; a = next) {
        next = a->next;
        a->d = NULL;
        slack_request_free(a->ask);
        a->ask = NULL;
        if (a->late) /* not taken: Slack sends it again */
            httpd_late_reply(a->late, &(struct reply){.status = 503});
        a->late = NULL;
        a->taken = true;
        asking_end(a);
    }
    slack_free(d->link);
    slack_conf_free(d->conf);
    FREE_ALL(d->known, d->section, d);
}

static void add_status(void *self, struct status *s)
{
    const struct hub_slack *d = self;
    char host[SECRET_HOST_MAX];

    if (is_on(d) && secret_in_clear(d->conf->server.api, host))
        status_clear(s, "the token of Slack's bot", host, "use https:// in slack.api");
}

const struct feature slack_feature = {
    .name = "slack",
    FEATURE_SETTINGS(slack),
    .routes = slack_routes,
    .open = open_slack,
    .prepare = prepare_section,
    .drop = drop_section,
    .take = take_section,
    .load = load_answers,
    .hear = hear_news,
    .tick = tick,
    .status = add_status,
    .close = close_slack,
};
