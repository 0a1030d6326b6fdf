/*
 * mem.c: allocation that never returns NULL when memory runs out, and the arena.
 * Nothing here limits sizes: callers cap sizes that come from outside.
 */
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>

#define SMALL 1024u /* glibc caches freed blocks of this size, but before 2.41 not for calloc */

static _Noreturn void mem_none(void)
{
    static const char msg[] = "out of memory\n";

    if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0) {
        /* no memory and no stderr: nothing left to do */
    }
    abort();
}

void *mem_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);

    if (!p)
        mem_none();
    return p;
}

void *mem_zero(size_t n, size_t size)
{
    bool none = n == 0 || size == 0, small = n <= SMALL && size <= SMALL && n * size <= SMALL;
    void *p = small ? malloc(none ? 1 : n * size) : calloc(none ? 1 : n, none ? 1 : size);

    if (p && small)
        memset(p, 0, n * size);
    if (!p)
        mem_none();
    return p;
}

void *mem_grow(void *p, size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(n, size, &total))
        mem_none();
    p = realloc(p, total ? total : 1);
    if (!p)
        mem_none();
    return p;
}

char *mem_str(const char *s)
{
    return s ? mem_strn(s, strlen(s)) : NULL;
}

char *mem_strn(const char *s, size_t n)
{
    size_t total;

    if (__builtin_add_overflow(n, 1, &total))
        mem_none();
    char *p = mem_alloc(total);
    if (n)
        memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *mem_fmt(const char *fmt, ...)
{
    char *p;
    va_list ap;

    va_start(ap, fmt);
    int r = vasprintf(&p, fmt, ap);
    va_end(ap);
    if (r < 0)
        mem_none();
    return p;
}

bool mem_copy_str(char *dst, size_t size, const char *src)
{
    size_t n = strlen(src);

    if (size == 0)
        return false;
    if (n < size) {
        memcpy(dst, src, n + 1);
        return true;
    }
    n = size - 1;
    size_t back = n;
    while (back > 0 && n - back < 3 && ((unsigned char)src[back] & 0xc0) == 0x80)
        back--;
    if (((unsigned char)src[back] & 0xc0) != 0x80) /* else it was not UTF-8 anyway: cut where it must be */
        n = back;
    memcpy(dst, src, n);
    dst[n] = 0;
    return false;
}

void *mem_dup(const void *v, size_t n, size_t size)
{
    return n ? memcpy(mem_zero(n, size), v, n * size) : NULL;
}

static const char **text_at(const void *s, size_t at)
{
    return (const char **)((char *)(uintptr_t)s + at);
}

size_t mem_text_bytes(const void *s, const size_t *at, size_t n)
{
    size_t bytes = n;

    for (size_t i = 0; i < n; i++)
        bytes += *text_at(s, at[i]) ? strlen(*text_at(s, at[i])) : 0;
    return bytes;
}

void mem_text_move(void *s, const size_t *at, size_t n, char *room)
{
    for (size_t i = 0; i < n; i++) {
        const char *from = *text_at(s, at[i]);
        size_t len = from ? strlen(from) : 0;
        if (len)
            memcpy(room, from, len);
        room[len] = 0;
        *text_at(s, at[i]) = room;
        room += len + 1;
    }
}

void mem_free_all(void *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i]);
}

void mem_free_ptr(void *p)
{
    void *target;

    memcpy(&target, p, sizeof(target)); /* p may point to a pointer of any type */
    free(target);
}

void mem_close_fd(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

void mem_close_file(FILE **f)
{
    int saved = errno;

    if (*f)
        fclose(*f);
    errno = saved;
}

/* ---- arena ---- */

#define ARENA_FIRST 4096

struct arena_block {
    struct arena_block *next; /* older */
    size_t used, cap;
    _Alignas(16) char data[];
};

static struct arena_block *arena_block_new(size_t cap, struct arena_block *next)
{
    struct arena_block *b = mem_alloc(sizeof(*b) + cap);

    b->next = next;
    b->used = 0;
    b->cap = cap;
    return b;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
    size_t total, used;

    if (__builtin_mul_overflow(n, size, &total) || total > SIZE_MAX / 4)
        return NULL;
    total = (total + 7) & ~(size_t)7;
    if (total == 0)
        total = 8;
    if (__builtin_add_overflow(a->used, total, &used) || (a->max && used > a->max))
        return NULL;
    struct arena_block *b = a->head;
    if (!b || b->cap - b->used < total) {
        size_t cap = b ? MIN(b->cap * 2, (size_t)1 << 20) : ARENA_FIRST;
        b = a->head = arena_block_new(MAX(cap, total), b);
    }
    void *p = b->data + b->used;
    b->used += total;
    a->used = used;
    return memset(p, 0, total);
}

char *arena_strn(struct arena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *p = arena_alloc(a, n + 1, 1);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

char *arena_str(struct arena *a, const char *s)
{
    return s ? arena_strn(a, s, strlen(s)) : NULL;
}

/* The next use needs one block in place of several. */
void arena_reset(struct arena *a)
{
    struct arena_block *b = a->head;

    a->used = 0;
    if (!b)
        return;
    if (b->next) {
        size_t cap = 0;
        for (; b; b = b->next)
            cap += b->cap;
        arena_fini(a);
        a->head = b = arena_block_new(cap, NULL);
    }
    b->used = 0;
}

void arena_fini(struct arena *a)
{
    if (!a)
        return;
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
    a->used = 0;
}
