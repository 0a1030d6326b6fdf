/* ssh.c: runs the system's ssh as a child process. */
#include "net/ssh.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/process.h"

struct ssh {
    struct process *process;
    struct ssh_calls calls;
    void *arg;
    struct ssh_target to; /* its text is ours */
    char *host, *user;
    struct buf line; /* not whole yet */
    bool cut;        /* the rest of a line that was too long is coming */
    bool raw;        /* no lines any more: bytes */
    bool stopped, accept_new;
};

/* ---- arguments ---- */

static void add(struct ssh_args *a, char *s)
{
    if (a->n < SSH_ARGS_MAX)
        a->v[a->n++] = s;
    else
        free(s);
}

static void add_option(struct ssh_args *a, char *s)
{
    add(a, mem_str("-o"));
    add(a, s);
}

static bool plain(const char *s)
{
    if (!s[0] || s[0] == '-')
        return false;
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || *s == 127 || strchr("'\"\\`$;&|<>(){}*?!", *s))
            return false;
    return true;
}

int ssh_args(const struct ssh_conf *conf, const struct ssh_target *to, struct ssh_args *ret, struct err *err)
{
    static const char *const fixed[] = {"BatchMode=yes",         "ServerAliveInterval=15", "ServerAliveCountMax=2",
                                        "ForwardAgent=no",       "ForwardX11=no",          "ClearAllForwardings=yes",
                                        "PermitLocalCommand=no", "LogLevel=ERROR",         "RequestTTY=no"};
    *ret = (struct ssh_args){0};
    if (!plain(to->host))
        return err_set(err, -EINVAL, "'%.80s' is not a valid host name for ssh", to->host);
    if (to->user && !plain(to->user))
        return err_set(err, -EINVAL, "'%.80s' is not a valid user name for ssh", to->user);
    add(ret, mem_str(conf->program ? conf->program : "ssh"));
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        add_option(ret, mem_str(fixed[i]));
    add_option(ret, mem_fmt("StrictHostKeyChecking=%s", conf->accept_new ? "accept-new" : "yes"));
    add_option(ret, mem_fmt("ConnectTimeout=%lld", (long long)MAX(conf->connect_ms / 1000, 1)));
    if (conf->control_dir) {
        add_option(ret, mem_str("ControlMaster=auto"));
        add_option(ret, mem_fmt("ControlPath=%s/%%C", conf->control_dir));
    }
    if (conf->known_hosts)
        add_option(ret, mem_fmt("UserKnownHostsFile=\"%s\"", conf->known_hosts));
    const struct {
        const char *flag, *value;
    } pairs[] = {{"-F", conf->config}, {"-i", conf->key}, {"-J", conf->jump}, {"-l", to->user}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (pairs[i].value && pairs[i].value[0]) {
            add(ret, mem_str(pairs[i].flag));
            add(ret, mem_str(pairs[i].value));
        }
    if (to->port) {
        add(ret, mem_str("-p"));
        add(ret, mem_fmt("%d", to->port));
    }
    add(ret, mem_str("--"));
    add(ret, mem_str(to->host));
    add(ret, mem_str("exec /bin/sh -s")); /* whatever the login shell is, it understands this */
    return 0;
}

void ssh_args_fini(struct ssh_args *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->v[i]);
    *a = (struct ssh_args){0};
}

/* ---- words ---- */

#define NO_KEY "Host key verification failed"

/* The line that holds this; empty: none does. */
static struct str line_with(struct str said, const char *word)
{
    struct str line;
    while (str_line(&said, &line))
        if (str_find(line, word) >= 0)
            return line;
    return STR("");
}

/* A key that was named and cannot be used: the reason goes first, since a path may be long. */
static bool say_key(struct str said, char ret[160])
{
    static const char *const forms[][2] = {{"Identity file ", " not accessible: "}, {"Load key \"", "\": "}};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        char file[160], why[60];
        struct str path = line_with(said, forms[i][0]);
        int at = str_find(path, forms[i][0]), end = str_find(path, forms[i][1]);
        if (at < 0 || end < at)
            continue;
        size_t before = (size_t)at + strlen(forms[i][0]), after = (size_t)end + strlen(forms[i][1]);
        process_last_words(str_n(path.p + before, (size_t)end - before), file, sizeof(file));
        process_last_words(str_n(path.p + after, path.len - after), why, sizeof(why));
        if (str_starts(str_of(why), "No such file"))
            snprintf(ret, 160, "ssh: there is no key file %.133s", file);
        else
            snprintf(ret, 160, "ssh: the key cannot be used: %.60s: %.68s", why, file);
        return true;
    }
    return false;
}

/* What removes the old key: ssh's own command, where it tells it, knows the file and what the key is called there. */
static void say_changed(struct str said, const struct ssh_target *to, char ret[160])
{
    static const char words[] = "ssh: its host key has changed; if that is right:";
    char command[160];
    process_last_words(line_with(said, "ssh-keygen -f "), command, sizeof(command));
    const char *what = strstr(command, " -R ");
    if (what && sizeof(words) + strlen(command) + 1 <= 160)
        snprintf(ret, 160, "%s %.110s", words, command);
    else
        snprintf(ret, 160, "%s ssh-keygen%s%.80s", words, what ? "" : " -R ", what ? what : to->host);
}

int ssh_words(struct str said, int status, const struct ssh_target *to, bool accept_new, char ret[160])
{
    static const struct {
        const char *has, *before, *after; /* the host's name stands between */
    } known[] = {
        {NO_KEY, "its host key is not known: --accept-new-keys takes it, or once, as this user, ssh ", ""},
        {"Permission denied", "", " does not let us in: is our key in authorized_keys there?"},
        {"Could not resolve hostname", "there is no host called ", ""},
        {"Connection refused", "", " refuses connections: is sshd running there?"},
        {"No route to host", "there is no way to ", ""},
        {"Network is unreachable", "there is no way to ", ""},
        {"timed out", "", " does not answer"},
        {"Too many authentication failures", "too many keys were offered to ", ": name the one to use"},
        {"Bad configuration option", "its own configuration is not understood, on the way to ", ""},
        {"not responding", "", " has stopped answering"},
        {"Connection closed", "", " closed the connection"},
        {"Connection reset", "", " closed the connection"},
        {"Broken pipe", "the connection broke to ", ""},
    };
    char last[120];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (str_find(said, "Permission denied") >= 0 && say_key(said, ret))
        return code;
    if (str_find(said, "REMOTE HOST IDENTIFICATION HAS CHANGED") >= 0) {
        say_changed(said, to, ret);
        return code;
    }
    if (accept_new && str_find(said, NO_KEY) >= 0) { /* ssh asks for the key of a host on the way in its own manner */
        snprintf(ret, 160, "ssh: the host key of a host on the way is not known: once, as this user, ssh %.60s",
                 to->host);
        return code;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_find(said, known[i].has) >= 0) {
            snprintf(ret, 160, "ssh: %s%.60s%s", known[i].before, to->host, known[i].after);
            return strcmp(known[i].has, NO_KEY) == 0 ? SSH_KEY_UNKNOWN : code;
        }
    process_last_words(said, last, sizeof(last));
    if (last[0])
        snprintf(ret, 160, "ssh: %s", last);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(ret, 160, "ssh could not be started, or there is no /bin/sh on %.60s", to->host);
    else if (WIFSIGNALED(status))
        snprintf(ret, 160, "ssh was ended by signal %d", WTERMSIG(status));
    else
        snprintf(ret, 160, "ssh: the connection to %.60s ended", to->host);
    return code;
}

/* ---- the process ---- */

static void ssh_free(struct ssh *s)
{
    buf_fini(&s->line);
    FREE_ALL(s->host, s->user, s);
}

static void on_ended(void *arg, int status)
{
    struct ssh *s = arg;
    struct ssh_calls calls = s->calls;
    void *to = s->arg;
    bool stopped = s->stopped;
    char words[160];
    int code = ssh_words(process_stderr(s->process), status, &s->to, s->accept_new, words);
    ssh_free(s);
    if (!stopped)
        calls.ended(to, words, code);
}

/* Whole lines to whoever listens. It may stop us, or want bytes from now on. */
static struct str take_lines(struct ssh *s, struct str text)
{
    while (text.len && !s->stopped && !s->raw) {
        const char *end = memchr(text.p, '\n', text.len);
        size_t n = end ? (size_t)(end - text.p) : text.len;
        size_t fits = MIN(n, (size_t)SSH_LINE_MAX - s->line.len);
        if (!s->cut)
            buf_add(&s->line, text.p, fits);
        s->cut = s->cut || fits < n;
        if (end) {
            s->calls.line(s->arg, buf_str(&s->line));
            buf_reset(&s->line);
            s->cut = false;
        }
        n += end != NULL;
        text = str_n(text.p + n, text.len - n);
    }
    return text;
}

static void on_out(void *arg, struct str text)
{
    struct ssh *s = arg;
    text = take_lines(s, text);
    if (text.len && s->raw && !s->stopped)
        s->calls.bytes(s->arg, text);
}

int ssh_start(struct ssh **ret, struct event_base *loop, const struct ssh_conf *conf, const struct ssh_target *to,
              struct str script, const struct ssh_calls *calls, void *arg, struct err *err)
{
    static const struct process_calls process_calls = {.out = on_out, .ended = on_ended};
    struct ssh_args args;
    struct ssh *s = mem_zero(1, sizeof(*s));
    int r = ssh_args(conf, to, &args, err);
    if (r == 0)
        r = process_start(&s->process, loop, (const char *const *)args.v, &(struct process_env){.needs = NEEDS_SSH},
                          script, &process_calls, s, err);
    ssh_args_fini(&args);
    if (r < 0) {
        free(s);
        return r;
    }
    s->calls = *calls;
    s->accept_new = conf->accept_new;
    s->arg = arg;
    s->host = mem_str(to->host);
    s->user = to->user ? mem_str(to->user) : NULL;
    s->to = (struct ssh_target){.host = s->host, .user = s->user, .port = to->port};
    s->line = BUF_INIT(SSH_LINE_MAX);
    *ret = s;
    return 0;
}

void ssh_bytes(struct ssh *s)
{
    s->raw = true;
}

void ssh_stop(struct ssh *s)
{
    if (!s)
        return;
    s->stopped = true;
    process_stop(s->process);
}
