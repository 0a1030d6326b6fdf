/* pages.c: finds the parts of files in /proc/self/smaps, and tells the kernel that we do not need them now. */
#include "base/pages.h"

#include <malloc.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/file.h"

#define SMAPS_MAX (4u << 20)

/* "7f1a-7f2b r-xp 00001000 fe:01 1234 /lib/libcurl.so.4": the line that a mapping begins with. ret: nothing, unless it
 * is one of a file, without leave to write. */
static bool mapping_begins(struct str line, struct pages *ret)
{
    struct str span, begin, leave, inode;
    struct pages p;

    if (!str_word(&line, &span) || !str_cut(&span, '-', &begin) || !str_hex(begin, &p.begin) || !str_hex(span, &p.end))
        return false;
    bool all = str_word(&line, &leave) && str_word(&line, &inode) && str_word(&line, &inode) && str_word(&line, &inode);
    bool ours = all && leave.len == 4 && leave.p[1] == '-' && leave.p[3] == 'p' && !str_eq(inode, "0");
    *ret = ours && p.begin < p.end ? p : (struct pages){0};
    return true;
}

bool pages_next(struct str *rest, struct pages *ret)
{
    struct pages at = {0};
    struct str line, word;

    while (str_line(rest, &line)) {
        if (mapping_begins(line, &at) || !at.end || !str_skip(&line, "Anonymous:"))
            continue;
        if (str_word(&line, &word) && str_eq(word, "0")) {
            *ret = at;
            return true;
        }
    }
    return false;
}

void pages_give_back(void)
{
    AUTO_BUF smaps = {0};
    struct pages p;

    if (file_read("/proc/self/smaps", SMAPS_MAX, &smaps, NULL) < 0)
        return;
    for (struct str rest = buf_str(&smaps); pages_next(&rest, &p);)
        madvise((void *)(uintptr_t)p.begin, (size_t)(p.end - p.begin), MADV_DONTNEED);
    malloc_trim(0);
}
