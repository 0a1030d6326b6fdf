/* words.c: reads which GPUs are asked for. What is not understood is handed back, never guessed at. */
#include "slack/words.h"

#include <ctype.h>

#include "base/order.h"
#include "base/time_text.h"

#define SPAN_WORDS 4 /* "2 days 4 hours", "next friday 9:00 UTC" */

bool dialog_is_one(struct str w, const char *words, int (*same)(const char *a, const char *b, size_t n))
{
    struct str rest = str_of(words), one;

    while (words && str_word(&rest, &one))
        if (one.len == w.len && same(one.p, w.p, w.len) == 0)
            return true;
    return false;
}

static bool is_any(struct str w, const char *words)
{
    return dialog_is_one(w, words, strncasecmp);
}

/* ---- times ---- */

/* The longest of the first few words that parse takes. */
static bool longest(struct str *rest, bool (*parse)(const void *arg, struct str text, int64_t *ret), const void *arg,
                    int64_t *ret)
{
    struct str left = str_trim(*rest), after = left, word, best = {0};
    const char *begin = left.p;

    for (int i = 0; i < SPAN_WORDS && str_word(&after, &word); i++) {
        struct str text = str_n(begin, (size_t)(word.p + word.len - begin));
        while (text.len && strchr(",.;", text.p[text.len - 1]))
            text.len--;
        if (parse(arg, text, ret))
            best = after;
    }
    if (best.p)
        *rest = best;
    return best.p != NULL; /* ret has the last that was taken, which is the longest */
}

static bool parse_span(UNUSED const void *arg, struct str text, int64_t *ret)
{
    int64_t ms;
    bool letter = ANY(text.len, i, isalpha((unsigned char)text.p[i]));

    if (str_eq_nocase(text, "an hour") || str_eq_nocase(text, "a day"))
        ms = text.len == 5 ? 86400000 : 3600000;
    else if (!letter || duration_parse(text, "for", &ms, NULL) < 0 || ms <= 0)
        return false;
    *ret = ms;
    return true;
}

bool dialog_span(struct str *rest, int64_t *ret)
{
    return longest(rest, parse_span, NULL, ret);
}

static bool parse_moment(const void *arg, struct str text, int64_t *ret)
{
    const struct dialog *s = arg;
    int64_t ms;

    if (!text.len || time_parse(text, "from", s->ask.now_ms, s->ask.zone, &ms, NULL) < 0)
        return false;
    *ret = ms;
    return true;
}

bool dialog_time(const struct dialog *s, struct str *rest, int64_t *ret)
{
    return longest(rest, parse_moment, s, ret);
}

const char *dialog_when(struct dialog *s, int64_t at_ms)
{
    char text[MOMENT_TEXT];

    return dialog_keep(s, str_of(time_text_zoned(at_ms, s->ask.zone, text)));
}

/* ---- places ---- */

bool dialog_is_node(const struct dialog *s, struct str name)
{
    return s->ask.is_node && name.len && s->ask.is_node(s->ask.arg, name);
}

bool dialog_is_place(const struct dialog *s, struct str word, struct str *ret_node, struct str *ret_gpus)
{
    const char *colon = memrchr(word.p ? word.p : "", ':', word.len);

    if (!colon)
        return false;
    struct str node = str_n(word.p, (size_t)(colon - word.p)), gpus = str_n(colon + 1, word.len - node.len - 1);
    if (!gpus.len || !dialog_is_node(s, node) ||
        ANY(gpus.len, i, !isdigit((unsigned char)gpus.p[i]) && !strchr(",-.*", gpus.p[i])))
        return false;
    *ret_node = node;
    *ret_gpus = gpus;
    return true;
}

/* ---- which GPUs, and when ---- */

static bool number_word(struct str w, int64_t *ret)
{
    static const char *const words[] = {"one", "two", "three", "four", "five", "six", "seven", "eight"};
    struct str digits = w;
    size_t i = FIRST(ARRAY_LEN(words), k, str_eq_nocase(w, words[k]));

    if (i < ARRAY_LEN(words)) {
        *ret = (int64_t)i + 1;
        return true;
    }
    if (digits.len > 1 && (digits.p[digits.len - 1] | 32) == 'x')
        digits.len--;
    return digits.len && isdigit((unsigned char)digits.p[0]) && str_int(digits, ret) && *ret > 0;
}

static bool named(struct str w, const char *name, struct str *ret)
{
    size_t n = strlen(name);

    if (w.len <= n || strncasecmp(w.p, name, n) != 0)
        return false;
    *ret = str_n(w.p + n, w.len - n);
    return true;
}

/* Memory that must be free: "40G", "mem:40G", "memfree>=40G". */
static bool mem_word(struct str w, struct str *ret)
{
    static const char *const names[] = {"memfree>=", "memfree>", "memfree:", "mem>=",
                                        "mem>",      "mem:",     "mem=",     "memory:"};
    int64_t bytes;
    bool said = ANY(ARRAY_LEN(names), i, named(w, names[i], &w));

    if (!w.len || !isdigit((unsigned char)w.p[0]) || isdigit((unsigned char)w.p[w.len - 1]) || !str_bytes(w, &bytes))
        return false;
    if (!said && bytes < 1 << 30) /* "90m" alone is a time */
        return false;
    *ret = w;
    return true;
}

/* "tomorrow", "friday", "2026-11-20", "14:00": a moment, though nobody said "from". */
static bool looks_like_a_moment(struct str w)
{
    const char *colon = memchr(w.p, ':', w.len);

    if (is_any(w, "today tomorrow tonight next monday tuesday wednesday thursday friday saturday sunday"))
        return true;
    if (!isdigit((unsigned char)w.p[0]))
        return false;
    return (w.len == 10 && w.p[4] == '-') || (colon && colon - w.p <= 2);
}

/* Is the next one of these words? It is passed then. */
static bool skip_any(struct str *rest, const char *words)
{
    struct str after = *rest, one;

    if (!str_word(&after, &one) || !is_any(one, words))
        return false;
    *rest = after;
    return true;
}

static bool time_clause(struct dialog *s, struct str word, struct str *rest, struct dialog_words *w, bool *ret_bad)
{
    *ret_bad = false;
    if (str_eq_nocase(word, "at"))
        return dialog_time(s, rest, &w->from_ms); /* else it is a place */
    if (str_eq_nocase(word, "for")) {
        struct str after = *rest, one;
        int64_t n;
        *ret_bad = !dialog_span(rest, &w->for_ms) && /* "wait for 2 h200" */
                   !(str_word(&after, &one) && (number_word(one, &n) || str_eq_nocase(one, "a")));
    } else if (is_any(word, "last past")) {
        int64_t ago; /* nobody asks for that yet */
        *ret_bad = !skip_any(rest, "hour day week month") && !dialog_span(rest, &ago);
    } else if (is_any(word, "from starting")) {
        *ret_bad = !dialog_time(s, rest, &w->from_ms);
    } else if (is_any(word, "until till")) {
        *ret_bad = !dialog_time(s, rest, &w->until_ms);
    } else {
        return false;
    }
    if (*ret_bad)
        dialog_no(s,
                  "I do not understand the time after '%.*s'. Examples: 4h, 2 days, tomorrow 9:00, 2026-11-20 14:00.",
                  STR_ARG(word));
    return true;
}

static bool gpu_word(struct dialog *s, struct str word, struct str *rest, struct dialog_words *w)
{
    static const char idle[] = "a an any some free gpu gpus please with of me and more now the card cards memory mem "
                               "each that are is";
    static const char sames[] = "same one single";
    struct str node, gpus, one;
    int64_t n;

    if (is_any(word, "on in at")) {
        struct str after = *rest;
        if (str_word(&after, &one) && !is_any(one, sames) && !is_any(one, idle)) {
            w->node = one;
            *rest = after;
        }
        return true;
    }
    if ((is_any(word, sames) && skip_any(rest, "host node machine server")) || is_any(word, "same-host together"))
        return w->one_node = true;
    if (is_any(word, idle))
        return true;
    if (!w->count && number_word(word, &n)) {
        w->count = n;
        return true;
    }
    if (mem_word(word, &w->mem) || named(word, "model:", &w->model) || named(word, "node:", &w->node) ||
        named(word, "host:", &w->node))
        return true;
    if (dialog_is_place(s, word, &node, &gpus)) { /* with those that came before it, if they stand side by side */
        w->places = w->places.len ? str_n(w->places.p, (size_t)(word.p + word.len - w->places.p)) : word;
        return true;
    }
    if (dialog_is_node(s, word) || memchr(word.p, '*', word.len)) {
        w->node = word;
        return true;
    }
    return false;
}

/* A model as people write it: letters, digits, and nothing of the filter language. */
static bool model_word(struct str word, struct dialog_words *w)
{
    const char *end = w->model.p ? w->model.p + w->model.len : NULL;

    if (ANY(word.len, i, !isalnum((unsigned char)word.p[i]) && !strchr("-_.", word.p[i])) ||
        (w->model.len && word.p != end + 1))
        return false;
    w->model = w->model.len ? str_n(w->model.p, w->model.len + 1 + word.len) : word;
    return true;
}

bool dialog_words(struct dialog *s, struct str text, struct dialog_words *w)
{
    struct str rest = text, word;
    bool bad;

    *w = (struct dialog_words){0};
    while (str_word(&rest, &word)) {
        struct str here = str_n(word.p, (size_t)(rest.p + rest.len - word.p)), after = rest;
        while (word.len > 1 && strchr(",;?!.", word.p[word.len - 1]))
            word.len--;
        if (str_eq_nocase(word, "because") || str_eq_nocase(word, "#") || word.p[0] == '"') {
            w->because = str_trim(word.p[0] == '"' ? here : after);
            while (w->because.len && w->because.p[0] == '"')
                w->because = str_n(w->because.p + 1, w->because.len - 1);
            while (w->because.len && w->because.p[w->because.len - 1] == '"')
                w->because.len--;
            break;
        }
        if (time_clause(s, word, &rest, w, &bad)) {
            if (bad)
                return false;
        } else if (gpu_word(s, word, &rest, w)) {
            continue;
        } else if (looks_like_a_moment(word) && dialog_time(s, &here, &w->from_ms)) {
            rest = here;
        } else if (!w->for_ms && isdigit((unsigned char)word.p[0]) && parse_span(NULL, word, &w->for_ms)) {
            continue;
        } else if (!model_word(word, w) && !w->odd.len) {
            w->odd = word;
        }
    }
    return true;
}
