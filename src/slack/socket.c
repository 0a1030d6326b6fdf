/* socket.c: libwebsockets' loop, with our input as one of its descriptors; at most two connections, the old and the
 * new. */
#include "slack/socket.h"

#include <errno.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "slack/lws_lib.h"
#include "slack/slack_event.h"

#define CONNS          2
#define TICK_US        (500 * LWS_US_PER_MS)
#define ALIVE_MS       10000
#define HELLO_MS       30000 /* a connection that has not said hello by then is none */
#define LINGER_MS      3000  /* an old connection stays for its acknowledgements */
#define GOOD_MS        10000 /* one that lived so long was good: the next failure is the first one */
#define BACK_MS        1000
#define BACK_MAX_MS    60000
#define UNANSWERED     256 /* envelopes that wait for their acknowledgement */
#define INPUT_MAX      (1u << 20)
#define LINE_MAX_BYTES (2u << 20)

struct sock;

struct conn {
    struct sock *s;
    struct lws *wsi;
    int64_t began_mono;  /* 0: there is none */
    bool hello, leaving; /* leaving: another one has taken over, or Slack will close it */
    int64_t close_mono;  /* when it is closed by us; 0: it is not */
    struct buf rx, tx;   /* a frame coming in; acknowledgements going out, each with LWS_PRE bytes before it */
    bool too_long;
    char (*acks)[SLACK_ID_MAX + 1];
    size_t n_acks, cap_acks;
};

struct sock {
    struct lws_lib lws;
    struct lws_context *context;
    const struct socket_conf *conf;
    lws_sorted_usec_list_t tick;
    struct conn conns[CONNS];
    struct {
        char id[SLACK_ID_MAX + 1];
        struct conn *by;
    } unanswered[UNANSWERED]; /* the oldest goes */
    size_t n_unanswered;
    struct buf in;
    bool asked; /* for an address, which has not come yet */
    int64_t want_mono, alive_mono;
    unsigned tries;
    bool over;
};

/* ---- addresses ---- */

bool socket_url_parse(struct str url, struct socket_url *ret)
{
    struct socket_url u = {0};
    uint64_t port = 443;

    if (!str_skip(&url, "wss://") || !str_visible(url, "#@"))
        return false;
    const char *slash = memchr(url.p, '/', url.len);
    struct str host = str_n(url.p, slash ? (size_t)(slash - url.p) : url.len), name;
    struct str path = slash ? str_n(slash, url.len - host.len) : STR("/");
    str_cut(&host, ':', &name);
    if (host.len && (!str_uint(host, &port) || port < 1 || port > 65535))
        return false;
    u.port = (int)port;
    if (!name.len || name.len >= sizeof(u.host) || path.len >= sizeof(u.path))
        return false;
    memcpy(u.host, name.p, name.len);
    memcpy(u.path, path.p, path.len);
    *ret = u;
    return true;
}

/* ---- the hub ---- */

static void tell(struct sock *s, struct str line)
{
    if (file_put(s->conf->out_fd, line.p, line.len) < 0)
        s->over = true; /* nobody listens */
}

static void tell_state(struct sock *s, const char *state, const char *error)
{
    AUTO_BUF line = BUF_INIT(4096);

    if (error)
        json_print(&line, "{'socket':%s,'error':%s}\n", state, error);
    else
        json_print(&line, "{'socket':%s}\n", state);
    tell(s, buf_str(&line));
}

int64_t socket_back_off(unsigned *tries)
{
    int64_t longest = MIN((int64_t)BACK_MS << MIN(*tries + 1, 16u), BACK_MAX_MS);

    ++*tries;
    return BACK_MS + (int64_t)(rand_unit() * (double)(longest - BACK_MS));
}

static void want_later(struct sock *s)
{
    s->want_mono = clock_mono_ms() + socket_back_off(&s->tries);
}

static void want_now(struct sock *s)
{
    if (s->asked)
        return;
    s->asked = true;
    s->want_mono = 0;
    tell_state(s, "want", NULL);
}

/* ---- connections ---- */

static struct conn *conn_other(struct sock *s, const struct conn *c)
{
    return c == &s->conns[0] ? &s->conns[1] : &s->conns[0];
}

static void conn_end(struct sock *s, struct conn *c, const char *error)
{
    int64_t lived = clock_mono_ms() - c->began_mono;
    bool was = c->hello && lived >= GOOD_MS;

    if (!c->began_mono)
        return;
    for (size_t i = 0; i < UNANSWERED; i++)
        if (s->unanswered[i].by == c)
            s->unanswered[i].by = NULL; /* Slack sends it again */
    buf_fini(&c->rx);
    buf_fini(&c->tx);
    free(c->acks);
    *c = (struct conn){0};
    if (was)
        s->tries = 0;
    struct conn *other = conn_other(s, c);
    if ((other->hello && !other->leaving) || s->over)
        return;
    tell_state(s, "closed", error && error[0] ? error : "the connection was closed");
    if (!other->began_mono && !s->asked)
        want_later(s);
}

static void conn_leave(struct sock *s, struct conn *c, int64_t after_ms)
{
    if (!c->began_mono)
        return;
    c->leaving = true;
    c->close_mono = clock_mono_ms() + after_ms;
    s->lws.on_writable(c->wsi);
}

static void conn_open(struct sock *s, struct str url)
{
    static const lws_retry_bo_t alive = {.secs_since_valid_ping = 5, .secs_since_valid_hangup = 20};
    struct socket_url u;
    struct conn *c = s->conns[0].began_mono ? &s->conns[1] : &s->conns[0];

    s->asked = false;
    if (c->began_mono)
        return; /* two already: the one that is leaving will be gone soon */
    if (!socket_url_parse(url, &u)) {
        tell_state(s, "closed", "Slack's address for a websocket is none");
        want_later(s);
        return;
    }
    *c = (struct conn){.s = s, .began_mono = clock_mono_ms(), .rx = BUF_INIT(SLACK_BODY_MAX)};
    struct lws_client_connect_info i = {.context = s->context,
                                        .address = u.host,
                                        .host = u.host,
                                        .port = u.port,
                                        .path = u.path,
                                        .ssl_connection = LCCSCF_USE_SSL,
                                        .local_protocol_name = "slack",
                                        .userdata = c,
                                        .pwsi = &c->wsi,
                                        .retry_and_idle_policy = &alive};
    if (!s->lws.connect(&i))
        conn_end(s, c, "it cannot be begun"); /* unless that was said already */
}

/* ---- frames ---- */

static void envelope(struct sock *s, struct conn *c, struct str frame)
{
    json_auto_t *o = json_loadb(frame.p, frame.len, 0, NULL);
    const char *id = json_string_value(json_object_get(o, "envelope_id"));
    AUTO_BUF line = BUF_INIT(LINE_MAX_BYTES);

    if (id && id[0] && strlen(id) <= SLACK_ID_MAX) {
        size_t at = s->n_unanswered++ % UNANSWERED;
        mem_copy_str(s->unanswered[at].id, sizeof(s->unanswered[at].id), id);
        s->unanswered[at].by = c;
        char *text = json_dumps(o, JSON_COMPACT);
        if (text && buf_adds(&line, text) == 0 && buf_addc(&line, '\n') == 0)
            tell(s, buf_str(&line));
        free(text);
    }
}

static void frame_in(struct sock *s, struct conn *c, struct str frame)
{
    switch (slack_frame_kind(frame)) {
    case SLACK_HELLO:
        c->hello = true;
        conn_leave(s, conn_other(s, c), LINGER_MS);
        tell_state(s, "open", NULL);
        break;
    case SLACK_WARNING:
    case SLACK_REFRESH:
        c->leaving = true; /* by itself */
        if (!conn_other(s, c)->began_mono)
            want_now(s);
        break;
    case SLACK_DISABLED:
        tell_state(s, "disabled", NULL);
        s->over = true;
        break;
    case SLACK_ENVELOPE:
        envelope(s, c, frame);
        break;
    default: /* of a kind that does not concern us, or no JSON */
        break;
    }
}

static void bytes_in(struct sock *s, struct conn *c, const void *p, size_t n)
{
    if (!c->too_long && buf_add(&c->rx, p, n) < 0)
        c->too_long = true;
    if (!s->lws.is_final(c->wsi) || s->lws.remaining(c->wsi))
        return;
    if (!c->too_long)
        frame_in(s, c, buf_str(&c->rx));
    c->too_long = false;
    buf_reset(&c->rx);
}

/* ---- acknowledgements ---- */

static void ack(struct sock *s, const char *id)
{
    for (size_t i = 0; i < UNANSWERED; i++) {
        struct conn *c = s->unanswered[i].by;
        if (!c || strcmp(s->unanswered[i].id, id) != 0)
            continue;
        s->unanswered[i].by = NULL;
        VEC_ROOM(c->acks, c->n_acks, c->cap_acks);
        mem_copy_str(c->acks[c->n_acks++], sizeof(c->acks[0]), id);
        s->lws.on_writable(c->wsi);
    }
}

static bool conn_waits(const struct sock *s, const struct conn *c)
{
    return c->n_acks || ANY(UNANSWERED, i, s->unanswered[i].by == c);
}

/* -1: close it. */
static int bytes_out(struct sock *s, struct conn *c)
{
    if (c->n_acks) {
        buf_reset(&c->tx);
        c->tx.max = LWS_PRE + SLACK_ID_MAX * 6 + 64;
        buf_fill(&c->tx, 0, LWS_PRE);
        json_print(&c->tx, "{'envelope_id':%s}", c->acks[0]);
        size_t n = c->tx.len - LWS_PRE;
        memmove(c->acks, c->acks + 1, --c->n_acks * sizeof(*c->acks));
        if (s->lws.write(c->wsi, (unsigned char *)c->tx.p + LWS_PRE, n, LWS_WRITE_TEXT) < (int)n)
            return -1;
        s->lws.on_writable(c->wsi);
        return 0;
    }
    return c->close_mono && (clock_mono_ms() >= c->close_mono || !conn_waits(s, c)) ? -1 : 0;
}

/* ---- libwebsockets' side ---- */

static int on_socket(UNUSED struct lws *wsi, enum lws_callback_reasons why, void *user, void *in, size_t len)
{
    struct conn *c = user;
    char error[200];

    switch (why) {
    case LWS_CALLBACK_CLIENT_RECEIVE:
        bytes_in(c->s, c, in, len);
        return c->s->over ? -1 : 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return bytes_out(c->s, c);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        snprintf(error, sizeof(error), "%.*s", in ? (int)MIN(len, 150u) : 0, in ? (const char *)in : "");
        conn_end(c->s, c, error);
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
        conn_end(c->s, c, NULL);
        return 0;
    default:
        return 0;
    }
}

static void line_in(struct sock *s, struct str line)
{
    json_auto_t *o = json_loadb(line.p, line.len, 0, NULL);
    const char *url = json_string_value(json_object_get(o, "url")), *id = json_string_value(json_object_get(o, "ack"));

    if (url)
        conn_open(s, str_of(url));
    if (id && strlen(id) <= SLACK_ID_MAX)
        ack(s, id);
}

static struct sock *running; /* what libwebsockets calls for a descriptor carries nothing of ours */

static int on_input(struct lws *wsi, enum lws_callback_reasons why, void *user, void *in, size_t len)
{
    struct sock *s = running;
    char bytes[16384];

    (void)wsi, (void)user, (void)in, (void)len;
    if (why == LWS_CALLBACK_RAW_CLOSE_FILE)
        s->over = true;
    if (why != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    ssize_t n = read(s->conf->in_fd, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || (n > 0 && buf_add(&s->in, bytes, (size_t)n) < 0)) {
        s->over = true;
        return -1;
    }
    struct str rest = buf_str(&s->in), line;
    const char *end;
    while (rest.len && (end = memchr(rest.p, '\n', rest.len))) {
        line = str_n(rest.p, (size_t)(end - rest.p));
        rest = str_n(end + 1, rest.len - line.len - 1);
        line_in(s, line);
    }
    memmove(s->in.p, rest.p, rest.len);
    buf_cut(&s->in, rest.len);
    return 0;
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
    struct sock *s = lws_container_of(sul, struct sock, tick);
    int64_t now = clock_mono_ms();

    for (int i = 0; i < CONNS; i++) {
        struct conn *c = &s->conns[i];
        if (c->began_mono && c->wsi && !c->hello && !c->close_mono && now - c->began_mono > HELLO_MS)
            conn_leave(s, c, 0);
        else if (c->close_mono)
            s->lws.on_writable(c->wsi);
    }
    if (s->want_mono && now >= s->want_mono)
        want_now(s);
    if (now - s->alive_mono >= ALIVE_MS) {
        s->alive_mono = now;
        tell_state(s, "alive", NULL);
    }
    s->lws.sul_schedule(s->context, 0, &s->tick, on_tick, TICK_US);
}

static const char *ca_file_of(const struct socket_conf *conf)
{
    static const char *const usual[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    const char *env = getenv("SSL_CERT_FILE");

    if (conf->ca_file)
        return conf->ca_file;
    if (env && env[0])
        return env;
    size_t i = FIRST(ARRAY_LEN(usual), k, access(usual[k], R_OK) == 0);
    return usual[i % ARRAY_LEN(usual)];
}

/* "http://proxy:3128/" as libwebsockets wants it; NULL: none. */
static const char *proxy_of(char out[300])
{
    const char *env = getenv("https_proxy") ? getenv("https_proxy") : getenv("HTTPS_PROXY");
    struct str s = str_trim(str_of(env ? env : ""));

    str_skip(&s, "http://");
    while (s.len && s.p[s.len - 1] == '/')
        s.len--;
    if (!s.len || s.len >= 300)
        return NULL;
    memcpy(out, s.p, s.len);
    out[s.len] = 0;
    return out;
}

int socket_run(const struct socket_conf *conf, struct err *err)
{
    static const struct lws_protocols protocols[] = {{"slack", on_socket, 0, 16384, 0, NULL, 0},
                                                     {"input", on_input, 0, 0, 0, NULL, 0},
                                                     {0}};
    struct sock s = {.conf = conf, .in = BUF_INIT(INPUT_MAX), .alive_mono = clock_mono_ms()};
    char proxy[300];
    int r = lws_lib_load(&s.lws, err);

    if (r < 0)
        return r;
    running = &s;
    s.lws.set_log_level(0, NULL);
    s.context = s.lws.create_context(&(struct lws_context_creation_info){
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .client_ssl_ca_filepath = ca_file_of(conf),
        .http_proxy_address = proxy_of(proxy),
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
        .user = &s,
    });
    if (!s.context)
        return err_set(err, -EIO, "cannot start libwebsockets: is '%s' there?", ca_file_of(conf));
    lws_sock_file_fd_type in = {.filefd = conf->in_fd};
    if (!s.lws.adopt(s.lws.vhost(s.context, "default"), LWS_ADOPT_RAW_FILE_DESC, in, "input", NULL))
        r = err_set(err, -EIO, "cannot listen to standard input");
    s.lws.sul_schedule(s.context, 0, &s.tick, on_tick, TICK_US);
    if (r == 0)
        want_now(&s);
    while (r == 0 && !s.over && s.lws.service(s.context, 0) >= 0) {
    }
    s.over = true;
    s.lws.context_destroy(s.context);
    for (int i = 0; i < CONNS; i++) {
        buf_fini(&s.conns[i].rx);
        buf_fini(&s.conns[i].tx);
        free(s.conns[i].acks);
    }
    buf_fini(&s.in);
    running = NULL;
    return r;
}
