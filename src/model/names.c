/* names.c: looks up display names of machines and GPU models. */
#include "model/names.h"

#include <errno.h>

#include "base/mem.h"
#include "model/fact.h"

struct entry {
    char *real;
    const char *display, *brief;
};

struct names {
    size_t n;
    struct entry v[];
};

static char *kept[NAMES_MAX];
static size_t n_kept;

const char *names_keep(struct str text)
{
    for (size_t i = 0; i < n_kept; i++)
        if (str_eq(text, kept[i]))
            return kept[i];
    if (n_kept == NAMES_MAX || !text.len || text.len >= NAME_MAX_LEN || !str_utf8_ok(text))
        return NULL;
    kept[n_kept] = mem_strn(text.p, text.len);
    return kept[n_kept++];
}

int names_parse(char *const *texts, size_t n, struct names **ret, struct err *err)
{
    if (n > NAMES_MAX / 2)
        return err_set(err, -EINVAL, "names: more than %d", NAMES_MAX / 2);
    struct names *s = mem_zero(1, sizeof(*s) + n * sizeof(s->v[0]));
    for (size_t i = 0; i < n; i++) {
        struct str rest = str_of(texts[i]), real, display = STR(""), brief;
        struct entry *e = &s->v[s->n];
        str_cut(&rest, '=', &real);
        str_cut(&rest, '=', &display);
        real = str_trim(real);
        e->display = names_keep(str_trim(display));
        if (str_cut(&rest, '=', &brief))
            e->brief = names_keep(str_trim(brief));
        if (!real.len || !e->display) {
            names_free(s);
            return err_set(err, -EINVAL, "names: '%.100s' is not a name and what to show for it", texts[i]);
        }
        e->real = mem_strn(real.p, real.len);
        s->n++;
    }
    *ret = s;
    return 0;
}

void names_free(struct names *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        free(s->v[i].real);
    free(s);
}

bool names_find(const struct names *all, const char *real, const char **ret_display, const char **ret_brief)
{
    *ret_display = *ret_brief = NULL;
    for (size_t i = 0; all && i < all->n; i++)
        if (str_glob(str_of(all->v[i].real), str_of(real))) {
            *ret_display = all->v[i].display;
            *ret_brief = all->v[i].brief;
            return true;
        }
    return false;
}

void name_nth(const char *base, unsigned n, char *out, size_t size)
{
    char tail[16];
    size_t len = strlen(base), more = (size_t)snprintf(tail, sizeof(tail), "~%u", n);

    if (len + more >= size) {
        len = size - 1 - more;
        while (len && ((unsigned char)base[len] & 0xc0) == 0x80) /* not within a letter */
            len--;
    }
    snprintf(out, size, "%.*s%s", (int)len, base, tail);
}

bool name_is_nth(const char *base, const char *name)
{
    const char *tail = strrchr(name, '~');
    size_t len = tail ? (size_t)(tail - name) : 0;

    if (!len || strncmp(base, name, len) != 0 || !tail[1] || tail[1] == '0')
        return false;
    return strspn(tail + 1, "0123456789") == strlen(tail + 1) && (!base[len] || len + 12 >= NAME_MAX_LEN - 1);
}
