/* hubs.c: the list of hubs that stand in for each other, as text, and the folder that is theirs. */
#include "uplink/hubs.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

struct str hubs_item(const char *list, size_t i)
{
    struct str rest = str_of(list), one = STR("");

    for (size_t k = 0; k <= i && str_cut(&rest, ',', &one);)
        k++;
    return one;
}

size_t hubs_count(const char *list)
{
    size_t n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

size_t hubs_find(const char *list, const char *hub)
{
    size_t n = hubs_count(list);

    for (size_t i = 0; i < n; i++)
        if (str_eq(hubs_item(list, i), hub))
            return i;
    return 0;
}

void hub_leaf(struct str s, struct buf *out)
{
    if (!str_skip(&s, "https://"))
        str_skip(&s, "http://");
    for (size_t i = 0; i < s.len && i < 200; i++) {
        char c = s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                     (c == '.' && i > 0);
        buf_addc(out, plain ? c : '_');
    }
}

void hubs_folder(const char *list, const char *state_dir, struct buf *out)
{
    size_t n = hubs_count(list);

    for (size_t i = 0; i < n && state_dir; i++) {
        buf_reset(out);
        hub_leaf(hubs_item(list, i), out);
        AUTO_FREE char *dir = mem_fmt("%s/hubs/%s", state_dir, out->p);
        if (access(dir, F_OK) == 0)
            return;
    }
    buf_reset(out);
    hub_leaf(hubs_item(list, 0), out);
}
