/* web_answer.c: decides from status, error word and Retry-After what to do next. */
#include "slack/web_answer.h"

#include "base/mem.h"
#include "base/order.h"

#define TOKEN_WAIT_MS 60000 /* until somebody put another token into the file */
#define FINAL         (-1)
#define RATE_WAIT_MS  30000 /* where Slack does not say how long, as its own library has it */

/* What may be mended without anything of ours changing, and what people may do. Every other word is final. */
static const struct {
    const char *word;
    int64_t wait_ms; /* FINAL: it is, too */
    const char *advice;
} words[] = {
    {"ratelimited", RATE_WAIT_MS, NULL},
    {"rate_limited", RATE_WAIT_MS, NULL},
    {"internal_error", 0, NULL},
    {"fatal_error", 0, NULL},
    {"service_unavailable", 0, NULL},
    {"request_timeout", 0, NULL},
    {"team_added_to_org", 0, NULL},
    {"channel_not_found", FINAL, "is the bot in that channel, and its name right?"},
    {"invalid_auth", TOKEN_WAIT_MS, "is it the token of this app, and complete?"},
    {"not_authed", TOKEN_WAIT_MS, NULL},
    {"account_inactive", TOKEN_WAIT_MS, "the app was removed: install it again"},
    {"token_revoked", TOKEN_WAIT_MS, "install the app again and put its new token into the file"},
    {"token_expired", TOKEN_WAIT_MS, NULL},
    {"missing_scope", TOKEN_WAIT_MS, "the app needs more scopes: docs/slack.md has its manifest"},
    {"not_in_channel", TOKEN_WAIT_MS, "invite the bot there: /invite @muster"},
    {"org_login_required", TOKEN_WAIT_MS, NULL},
    {"no_permission", TOKEN_WAIT_MS, NULL},
    {"invalid_token", TOKEN_WAIT_MS, NULL},
    {"team_access_not_granted", TOKEN_WAIT_MS, NULL},
    {"access_denied", TOKEN_WAIT_MS, NULL},
    {"ekm_access_denied", TOKEN_WAIT_MS, NULL},
};

static bool word_ok(struct str s)
{
    return s.len > 0 && s.len < 60 &&
           !ANY(s.len, i, !s.p[i] || !strchr("abcdefghijklmnopqrstuvwxyz0123456789_", s.p[i]));
}

static void by_word(struct str word, int64_t retry_after_ms, struct slack_result *ret)
{
    if (!word_ok(word)) {
        *ret = (struct slack_result){.how = SLACK_AGAIN, .wait_ms = retry_after_ms};
        snprintf(ret->error, sizeof(ret->error), "Slack reports an error without a reason");
        return;
    }
    *ret = (struct slack_result){.how = SLACK_REFUSED, .wait_ms = retry_after_ms};
    snprintf(ret->word, sizeof(ret->word), "%.*s", STR_ARG(word));
    size_t i = FIRST(ARRAY_LEN(words), k, str_eq(word, words[k].word));
    const char *say = i < ARRAY_LEN(words) ? words[i].advice : NULL;
    if (i < ARRAY_LEN(words) && words[i].wait_ms != FINAL) {
        ret->how = SLACK_AGAIN;
        ret->wait_ms = retry_after_ms ? retry_after_ms : words[i].wait_ms;
    }
    snprintf(ret->error, sizeof(ret->error), "Slack reports %s%s%s", ret->word, say ? ": " : "", say ? say : "");
}

/* True: the status says it all. */
static bool by_status(int status, int64_t retry_after_ms, struct slack_result *ret)
{
    if (status == 200)
        return false;
    *ret = (struct slack_result){.how = SLACK_AGAIN, .wait_ms = retry_after_ms};
    if (status == 429) {
        snprintf(ret->word, sizeof(ret->word), "ratelimited");
        snprintf(ret->error, sizeof(ret->error), "Slack limits the rate of requests");
        ret->wait_ms = retry_after_ms ? retry_after_ms : RATE_WAIT_MS;
    } else if (status >= 300 && status < 400) {
        snprintf(ret->error, sizeof(ret->error), "it answers with a redirect (%d), which is not followed", status);
    } else {
        snprintf(ret->error, sizeof(ret->error), "it answers with status %d", status);
    }
    return true;
}

void slack_answer_read(int status, struct str body, int64_t retry_after_ms, struct slack_result *ret)
{
    if (by_status(status, retry_after_ms, ret))
        return;
    json_t *o = body.len <= SLACK_ANSWER_MAX ? json_loadb(body.p ? body.p : "", body.len, 0, NULL) : NULL;
    const char *word = json_string_value(json_object_get(o, "error"));
    if (!json_is_object(o) || !json_is_boolean(json_object_get(o, "ok"))) {
        *ret = (struct slack_result){.how = SLACK_AGAIN};
        snprintf(ret->error, sizeof(ret->error), "the response is not from Slack: it has no \"ok\"");
    } else if (json_is_true(json_object_get(o, "ok"))) {
        *ret = (struct slack_result){.how = SLACK_DONE, .body = o};
        return;
    } else {
        by_word(str_of(word ? word : ""), retry_after_ms, ret);
    }
    json_decref(o);
}

void slack_answer_plain(int status, struct str body, int64_t retry_after_ms, struct slack_result *ret)
{
    struct str word = str_trim(body);

    if (status == 200)
        *ret = (struct slack_result){.how = SLACK_DONE};
    else if (status >= 400 && status < 500 && status != 429 && word_ok(word))
        by_word(word, retry_after_ms, ret);
    else
        by_status(status, retry_after_ms, ret);
    if (status == 404 || status == 410) /* such an address is good for half an hour */
        ret->how = SLACK_REFUSED;
}

const char *slack_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}
