/* pages.c: gets the addresses of programs and libraries from the dynamic linker and passes unused pages to the
 * kernel. */
#include "base/pages.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define PARTS_MAX 16 /* of one library; most have three */

/* Whether the linker wrote to read-only parts (text relocations). */
static bool has_text_relocations(const struct dl_phdr_info *o)
{
    for (size_t i = 0; i < o->dlpi_phnum; i++) {
        if (o->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
                return true;
    }
    return false;
}

/* Nothing is loaded or unloaded meanwhile. */
static int give_object(struct dl_phdr_info *o, UNUSED size_t size, UNUSED void *arg)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), kernel = getauxval(AT_SYSINFO_EHDR); /* which is in no file */
    struct {
        uintptr_t begin, end;
    } parts[PARTS_MAX];
    size_t n = 0;

    if (has_text_relocations(o))
        return 0;
    for (size_t i = 0; i < o->dlpi_phnum && n < PARTS_MAX; i++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[i];
        uintptr_t begin = o->dlpi_addr + p->p_vaddr, end = begin + p->p_filesz;
        if (p->p_type != PT_LOAD || p->p_flags & PF_W || (kernel >= begin && kernel < end))
            continue;
        parts[n].begin = begin / page * page;
        parts[n++].end = end;
    }
    for (size_t i = 0; i < n; i++) /* all that is read above is in one of them */
        madvise((void *)parts[i].begin, parts[i].end - parts[i].begin, MADV_DONTNEED);
    return 0;
}

void pages_give_back(void)
{
    dl_iterate_phdr(give_object, NULL);
    malloc_trim(0);
}
