/* dialog.c: turns a text into a command, makes its requests, and writes the answer. */
#include "slack/dialog.h"

#include <ctype.h>

#include "base/base64.h"
#include "base/order.h"
#include "people/people.h"
#include "slack/words.h"

#define BODY_MAX (8u << 20) /* of an answer that is read on the loop */

const struct dialog_conf dialog_usual = {.prefix = "",
                                         .keywords = {"HOSTS", "ALL", "ALL_cmd", "ALL_detail", "HELP", "WHERE"}};

/* ---- what was typed ---- */

/* What telephones write where people mean plain letters. */
static bool dressed(struct str s, struct buf *out, size_t *ret)
{
    static const struct {
        const char *as, *is;
    } known[] = {{"\u00a0", " "}, {"\u201c", "\""}, {"\u201d", "\""}, {"\u2018", "'"}, {"\u2019", "'"}};

    size_t i = FIRST(ARRAY_LEN(known), k, str_starts(s, known[k].as));

    if (i == ARRAY_LEN(known))
        return false;
    buf_adds(out, known[i].is);
    *ret = strlen(known[i].as);
    return true;
}

/* "<@U1>" or "<@U1|kim>" is a person, or nobody we know. */
static void mentioned(struct str in, const struct people *c, struct buf *out)
{
    char id[64];
    struct str one;

    if (!str_cut(&in, '|', &one))
        one = str_n("", 0);
    snprintf(id, sizeof(id), "%.*s", DIALOG_ARG(one));
    const char *person = slack_find_person(c, id, NULL);
    buf_addf(out, "%s%s", person ? "" : "@", person ? person : id);
}

static void undress(struct str in, const struct people *c, struct buf *out)
{
    size_t used;

    while (in.len) {
        const char *end = str_starts(in, "<@") ? memchr(in.p, '>', in.len) : NULL;
        if (end) {
            mentioned(str_n(in.p + 2, (size_t)(end - in.p - 2)), c, out);
            used = (size_t)(end - in.p) + 1;
        } else if (!dressed(in, out, &used)) {
            buf_addc(out, (unsigned char)*in.p < 32 ? ' ' : *in.p);
            used = 1;
        }
        in = str_n(in.p + used, in.len - used);
    }
}

/* "<@U7>: free 4" is "free 4". */
static struct str without_mention(struct str text)
{
    const char *end = str_starts(text, "<@") ? memchr(text.p, '>', text.len) : NULL;

    if (!end)
        return text;
    text = str_trim(str_n(end + 1, text.len - (size_t)(end + 1 - text.p)));
    if (text.len && (*text.p == ':' || *text.p == ','))
        text = str_n(text.p + 1, text.len - 1);
    return str_trim(text);
}

/* ---- which command ---- */

/* The old bot's, whole and letter by letter; rest: the host of WHERE, or the one that was named alone. marked: the
 * prefix stood before it, so that it is meant for the old bot wherever it is said. */
static const struct dialog_command *old_command(const struct dialog *s, struct str text, bool marked, struct str *rest)
{
    const struct dialog_conf *conf = s->ask.conf;
    bool any = false;

    *rest = str_n("", 0);
    for (size_t i = 0; i < DIALOG_OLDS; i++) {
        const char *word = conf->keywords[i];
        struct str tail = text;
        any |= word[0] != 0;
        if (word[0] && str_eq(text, word))
            return &dialog_old_commands[i];
        if (i == DIALOG_WHERE && word[0] && str_skip(&tail, word) && tail.len && *tail.p == ' ' &&
            dialog_is_node(s, str_trim(tail))) {
            *rest = str_trim(tail);
            return &dialog_old_commands[i];
        }
    }
    if (!any || !dialog_is_node(s, text) || (s->ask.way != DIALOG_TALK && !marked))
        return NULL;
    *rest = text;
    return &dialog_old_commands[DIALOG_ALL];
}

static const struct dialog_command *our_command(struct str word)
{
    for (const struct dialog_command *c = dialog_commands; c->name; c++)
        if (str_eq_nocase(word, c->name) || dialog_is_one(word, c->also, strncasecmp))
            return c;
    return NULL;
}

/* What people say before they say it. */
static const char fillers[] =
    "what what's whats is are which any anything show list me the please gpu gpus can i could "
    "you tell hi hello hey muster get have there a how many much do we to my";

static const struct dialog_command *find_ours(struct str text, struct str *rest)
{
    struct str word;

    *rest = text;
    while (str_word(rest, &word)) {
        while (word.len > 1 && strchr("?!.,:", word.p[word.len - 1]))
            word.len--;
        const struct dialog_command *c = our_command(word);
        if (c)
            return c;
        if (!dialog_is_one(word, fillers, strncasecmp))
            return NULL;
    }
    return NULL;
}

static void not_understood(struct dialog *s, struct str text)
{
    const struct dialog_command *best = NULL;
    struct str word, rest = text;
    int near = 0;

    str_word(&rest, &word);
    for (const struct dialog_command *c = dialog_commands; c->name; c++) {
        int n = c->usage ? str_near(word, str_of(c->name)) : -1;
        if (n >= 0 && (!best || n < near)) {
            best = c;
            near = n;
        }
    }
    if (best)
        dialog_no(s, "I do not understand '%.*s'. Did you mean `%s`? `help` lists all commands.", DIALOG_ARG(word),
                  best->usage);
    else
        dialog_no(s, "I do not understand '%.*s'. `help` lists all commands.", (int)MIN(text.len, 80u), text.p);
}

/* ---- the conversation ---- */

static void begin(struct dialog *s, const struct dialog_command *c, struct str rest)
{
    bool known = s->ask.own_rights || s->ask.person[0];

    s->cmd = c;
    if (!known && !c->open && (c->acts || !s->ask.conf->open))
        dialog_no(s,
                  "I do not know which muster user you are, and only answer this to known users: an administrator can "
                  "add "
                  "`slack: %s` to your name under people in muster.yaml.",
                  s->ask.called[0] ? s->ask.called : "YOUR-SLACK-ID");
    else
        c->ask(s, rest);
}

static void start(struct dialog *s, struct str text)
{
    struct str rest, plain = text;
    const struct dialog_command *c = NULL;
    bool marked = str_skip(&plain, s->ask.conf->prefix) && s->ask.conf->prefix[0];

    s->ask.text = plain = str_trim(plain); /* answers are called by the command alone */
    if (marked || !s->ask.conf->prefix[0])
        c = old_command(s, plain, marked, &rest);
    if (!c && s->ask.way == DIALOG_TO_US)
        c = old_command(s, text, false, &rest);
    if (!c && s->ask.way == DIALOG_TO_US) {
        text = plain; /* what we do besides may have it before it, too */
        while (text.len && strchr("?! ", text.p[text.len - 1]))
            text.len--;
        c = find_ours(text, &rest);
        if (!c && dialog_is_node(s, text)) {
            c = our_command(STR("who"));
            rest = text;
        }
        if (!c && !text.len)
            c = our_command(STR("help"));
        if (!c)
            not_understood(s, text);
    }
    if (c)
        begin(s, c, str_trim(rest));
}

struct dialog *dialog_new(const struct dialog_params *k)
{
    struct dialog *s = NEW(struct dialog, .ask = *k, .text = BUF_INIT(1u << 20), .blocks = BUF_INIT(1u << 20),
                           .files = BUF_INIT(DIALOG_BYTES_MAX + 1000u));
    AUTO_BUF text = BUF_INIT(4ul * DIALOG_TEXT_MAX);

    s->ask.conf = k->conf ? k->conf : &dialog_usual;
    s->ask.person = dialog_keep(s, str_of(k->person));
    s->ask.called = dialog_keep(s, str_of(k->called));
    s->ask.name = dialog_keep(s, str_of(k->name));
    s->ask.url = dialog_keep(s, str_of(k->url));
    s->j = json_on(&s->blocks);
    json_arr(&s->j, NULL);
    struct str in = str_trim(k->text);
    bool too_long = in.len > DIALOG_TEXT_MAX;
    if (k->way == DIALOG_TO_US)
        in = without_mention(in);
    undress(str_n(in.p, MIN(in.len, DIALOG_TEXT_MAX)), k->people, &text);
    s->ask.text = str_n(dialog_keep(s, str_trim(buf_str(&text))), str_trim(buf_str(&text)).len);
    if (too_long && k->way == DIALOG_TO_US)
        dialog_no(s, "This message is too long: the limit is %d bytes.", DIALOG_TEXT_MAX);
    else if (!too_long)
        start(s, s->ask.text);
    if (!s->cmd && !s->n_blocks) {
        dialog_free(s);
        return NULL;
    }
    return s;
}

void dialog_free(struct dialog *s)
{
    if (!s)
        return;
    buf_fini(&s->text);
    buf_fini(&s->blocks);
    buf_fini(&s->files);
    arena_fini(&s->mem);
    free(s);
}

const struct dialog_call *dialog_next_call(const struct dialog *s)
{
    return s->at < s->n_calls ? &s->calls[s->at] : NULL;
}

/* An answer that is none: the sentence it has. */
static void problem(struct dialog *s, int status, struct str body)
{
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);
    const char *detail = json_string_value(json_object_get(o, "detail"));

    if (detail)
        dialog_no(s, "%c%s%s", toupper((unsigned char)detail[0]), detail + (detail[0] != 0),
                  detail[0] && strchr(".!?", detail[strlen(detail) - 1]) ? "" : ".");
    else
        dialog_no(s, "That failed: the hub returned status %d.", status);
    if (status == 409 && s->cmd->hint)
        dialog_small(s, "%s", s->cmd->hint);
}

static void tell_json(struct dialog *s, struct str body)
{
    json_auto_t *o = json_loadb(body.p, body.len, 0, NULL);

    s->cmd->tell_json(s, o);
}

void dialog_add_reply(struct dialog *s, int status, struct str body)
{
    size_t call = s->at++;

    if (call >= s->n_calls)
        return;
    if (status == 0 || (status >= 200 && status < 300)) {
        if (body.len > BODY_MAX && !s->cmd->any_size)
            dialog_no(s, "The reply is too long for a message: request less at once%s%s.",
                      s->ask.url[0] ? ", or look at " : "", s->ask.url);
        else if (s->cmd->tell)
            s->cmd->tell(s, call, body);
        else if (s->cmd->tell_json)
            tell_json(s, body);
    } else if (!s->n_blocks && !s->n_files) { /* behind an answer it is an ornament that fails */
        problem(s, status, body);
    }
}

const struct dialog_answer *dialog_answer(struct dialog *s)
{
    if (!s->answer.text) {
        json_end_arr(&s->j);
        while (s->text.len && s->text.p[s->text.len - 1] == '\n')
            buf_cut(&s->text, s->text.len - 1);
        for (size_t i = 0; i < s->n_files; i++)
            s->list[i].bytes.p = s->files.p ? s->files.p + s->file_at[i] : "";
    }
    s->answer = (struct dialog_answer){.text = buf_str(&s->text).p,
                                       .blocks = s->n_blocks && !s->blocks.err ? s->blocks.p : "",
                                       .n_files = s->n_files,
                                       .files = s->list,
                                       .ephemeral = s->ephemeral,
                                       .refused = s->refused};
    return &s->answer;
}

void dialog_json(struct buf *out, const struct dialog_answer *a)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_cstr(&j, "text", a->text);
    json_raw(&j, "blocks", a->blocks[0] ? str_of(a->blocks) : STR("[]"));
    json_arr(&j, "files");
    for (size_t i = 0; i < a->n_files; i++) {
        AUTO_BUF b = BUF_INIT(2ul * DIALOG_BYTES_MAX);
        json_obj(&j, NULL);
        json_cstr(&j, "name", a->files[i].name);
        json_cstr(&j, "title", a->files[i].title);
        json_cstr(&j, "type", a->files[i].type);
        base64_add(&b, a->files[i].bytes);
        json_str(&j, "base64", buf_str(&b));
        json_end_obj(&j);
    }
    json_end_arr(&j);
    json_bool(&j, "ephemeral", a->ephemeral);
    json_bool(&j, "refused", a->refused);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

const char *slack_find_person(const struct people *c, const char *slack_id, const char *mail)
{
    size_t n;
    const struct person *v = people_persons(c, &n), *p = NULL;

    if (slack_id && slack_id[0])
        p = FIND(v, n, e, e->slack && strcmp(e->slack, slack_id) == 0);
    if (!p && mail && mail[0])
        p = FIND(v, n, e, e->mail && str_eq_nocase(str_of(mail), e->mail));
    return p ? p->name : NULL;
}
