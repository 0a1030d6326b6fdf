/* web_answer.c: decides from status, error word and Retry-After what to do next. */
#include "slack/web_answer.h"

#include "base/mem.h"

#define TOKEN_WAIT_MS 60000 /* until somebody put another token into the file */
#define RATE_WAIT_MS  30000 /* where Slack does not say how long, as its own library has it */

/* What may be mended without anything of ours changing. Every other word is final. */
static const struct {
    const char *word;
    int64_t wait_ms;
} again[] = {
    {"ratelimited", RATE_WAIT_MS},
    {"rate_limited", RATE_WAIT_MS},
    {"internal_error", 0},
    {"fatal_error", 0},
    {"service_unavailable", 0},
    {"request_timeout", 0},
    {"team_added_to_org", 0},
    {"invalid_auth", TOKEN_WAIT_MS},
    {"not_authed", TOKEN_WAIT_MS},
    {"account_inactive", TOKEN_WAIT_MS},
    {"token_revoked", TOKEN_WAIT_MS},
    {"token_expired", TOKEN_WAIT_MS},
    {"missing_scope", TOKEN_WAIT_MS},
    {"not_in_channel", TOKEN_WAIT_MS},
    {"org_login_required", TOKEN_WAIT_MS},
    {"no_permission", TOKEN_WAIT_MS},
    {"invalid_token", TOKEN_WAIT_MS},
    {"team_access_not_granted", TOKEN_WAIT_MS},
    {"access_denied", TOKEN_WAIT_MS},
    {"ekm_access_denied", TOKEN_WAIT_MS},
};
static const struct {
    const char *word, *advice;
} advice[] = {
    {"not_in_channel", "invite the bot there: /invite @muster"},
    {"channel_not_found", "is the bot in that channel, and its name right?"},
    {"missing_scope", "the app needs more scopes: docs/slack.md has its manifest"},
    {"invalid_auth", "is the token the app's, and whole?"},
    {"token_revoked", "install the app again and put its new token into the file"},
    {"account_inactive", "the app was removed: install it again"},
};

static bool word_ok(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '_'))
            return false;
    return s.len > 0 && s.len < 60;
}

static void by_word(struct str word, int64_t retry_after_ms, struct slack_result *ret)
{
    const char *say = "";

    if (!word_ok(word)) {
        *ret = (struct slack_result){.how = SLACK_AGAIN, .wait_ms = retry_after_ms};
        snprintf(ret->error, sizeof(ret->error), "Slack says that it failed, and not why");
        return;
    }
    *ret = (struct slack_result){.how = SLACK_REFUSED, .wait_ms = retry_after_ms};
    snprintf(ret->word, sizeof(ret->word), "%.*s", STR_ARG(word));
    for (size_t i = 0; i < ARRAY_LEN(again); i++)
        if (str_eq(word, again[i].word)) {
            ret->how = SLACK_AGAIN;
            ret->wait_ms = retry_after_ms ? retry_after_ms : again[i].wait_ms;
        }
    for (size_t i = 0; i < ARRAY_LEN(advice); i++)
        if (str_eq(word, advice[i].word))
            say = advice[i].advice;
    snprintf(ret->error, sizeof(ret->error), "Slack says %s%s%s", ret->word, say[0] ? ": " : "", say);
}

/* True: the status says it all. */
static bool by_status(int status, int64_t retry_after_ms, struct slack_result *ret)
{
    if (status == 200)
        return false;
    *ret = (struct slack_result){.how = SLACK_AGAIN, .wait_ms = retry_after_ms};
    if (status == 429) {
        snprintf(ret->word, sizeof(ret->word), "ratelimited");
        snprintf(ret->error, sizeof(ret->error), "Slack asks to be asked less often");
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
        snprintf(ret->error, sizeof(ret->error), "what answers is not Slack: it has no \"ok\"");
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
