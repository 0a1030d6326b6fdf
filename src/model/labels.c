/* labels.c: the text form of labels. */
#include "model/labels.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"

bool label_name_ok(struct str s)
{
    return s.len && s.len <= LABEL_NAME_MAX && s.p[0] != '-' && str_letters(s, "._-");
}

bool label_value_ok(struct str s)
{
    return s.len && s.len <= LABEL_VALUE_MAX && plain_is(s);
}

bool labels_next(struct str *rest, struct str *ret_name, struct str *ret_value)
{
    struct str line;

    if (!rest->len || !str_cut(rest, '\n', &line) || !str_cut(&line, '=', ret_name))
        return false;
    *ret_value = line;
    return true;
}

/* Both are sorted. Room is a's first. */
char *labels_join(const char *a, const char *b)
{
    AUTO_BUF out = BUF_INIT((size_t)LABELS_MAX * (LABEL_NAME_MAX + LABEL_VALUE_MAX + 2) + 1);
    struct str ra = str_of(a ? a : ""), rb = str_of(b ? b : "");
    struct str na = STR(""), va = na, nb = na, vb = na;
    size_t room = LABELS_MAX;

    for (struct str rest = ra; room && labels_next(&rest, &na, &va);)
        room--;
    bool has_a = labels_next(&ra, &na, &va), has_b = labels_next(&rb, &nb, &vb);
    while (has_a || has_b) {
        int d = !has_a ? 1 : !has_b ? -1 : str_cmp(na, nb);
        if (d <= 0) {
            buf_addf(&out, "%.*s=%.*s\n", STR_ARG(na), STR_ARG(va));
            has_a = labels_next(&ra, &na, &va);
        } else if (room) {
            room--;
            buf_addf(&out, "%.*s=%.*s\n", STR_ARG(nb), STR_ARG(vb));
        }
        if (d >= 0)
            has_b = labels_next(&rb, &nb, &vb);
    }
    return out.len ? buf_take(&out) : NULL;
}

void labels_add(char **labels, struct str name, struct str value)
{
    if (!label_name_ok(name) || !label_value_ok(value))
        return;
    AUTO_FREE char *one = mem_fmt("%.*s=%.*s\n", STR_ARG(name), STR_ARG(value));
    char *all = labels_join(*labels, one);
    free(*labels);
    *labels = all;
}

void labels_json(struct json *j, const char *key, const char *labels)
{
    struct str rest = str_of(labels ? labels : ""), name, value;

    json_obj(j, key);
    while (labels_next(&rest, &name, &value)) {
        char text[LABEL_NAME_MAX + 1];
        snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
        json_str(j, text, value);
    }
    json_end_obj(j);
}
