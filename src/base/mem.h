/*
 * mem.h: allocation that never returns NULL (without memory the process ends), and locals that clean up after
 * themselves. Every size that comes from outside is capped before it gets here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))
#define UNUSED       __attribute__((unused)) /* before a parameter that others need */

#define NOT_NULL __attribute__((returns_nonnull))
void *mem_alloc(size_t n) NOT_NULL;                      /* aborts when out of memory; n may be 0 */
void *mem_zero(size_t n, size_t size) NOT_NULL;          /* n * size zeroed bytes, overflow checked */
void *mem_grow(void *p, size_t n, size_t size) NOT_NULL; /* realloc to n * size, overflow checked */
char *mem_str(const char *s);                            /* copy; NULL stays NULL */
char *mem_strn(const char *s, size_t n);                 /* copy of n bytes, terminated */
void *mem_dup(const void *v, size_t n, size_t size);     /* copy of n things; NULL if n is 0 */
char *mem_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A new one with these members, the others 0: NEW(struct timer, .call = call, .arg = arg). */
#define NEW(type, ...)                                                                                                 \
    ({                                                                                                                 \
        type *new_ = mem_alloc(sizeof(type));                                                                          \
        *new_ = (type){__VA_ARGS__};                                                                                   \
        new_;                                                                                                          \
    })

/* Copy src into dst[size], cut where it must be at a UTF-8 boundary, always terminated. False if it was cut. */
bool mem_copy_str(char *dst, size_t size, const char *src);

/*
 * Text that structs point at: at[] are the offsets of their const char * members. mem_text_bytes returns its size;
 * mem_text_move copies it into room and points the struct there. NULL becomes "".
 */
size_t mem_text_bytes(const void *s, const size_t *at, size_t n);
void mem_text_move(void *s, const size_t *at, size_t n, char *room);

/* Grow a vector: makes room for one more element after the last of v[n]. cap is doubled. */
#define VEC_ROOM(v, n, cap)                                                                                            \
    do {                                                                                                               \
        if ((n) == (cap)) {                                                                                            \
            (cap) = (cap) ? (cap)*2 : 8;                                                                               \
            (v) = mem_grow((v), (cap), sizeof(*(v)));                                                                  \
        }                                                                                                              \
        if (!(v))                                                                                                      \
            __builtin_unreachable();                                                                                   \
    } while (0)

/* The same for at least n elements in all. */
#define VEC_LEAST(v, cap, n)                                                                                           \
    do {                                                                                                               \
        if ((n) > (cap)) {                                                                                             \
            (cap) = (n);                                                                                               \
            (v) = mem_grow((v), (cap), sizeof(*(v)));                                                                  \
        }                                                                                                              \
    } while (0)

/* Appends an element to v[n], which may be a compound literal. */
#define VEC_ADD(v, n, cap, ...)                                                                                        \
    do {                                                                                                               \
        VEC_ROOM(v, n, cap);                                                                                           \
        (v)[(n)++] = (__VA_ARGS__);                                                                                    \
    } while (0)

/* The same in front of v[at]. */
#define VEC_INSERT(v, n, cap, at, ...)                                                                                 \
    do {                                                                                                               \
        VEC_ROOM(v, n, cap);                                                                                           \
        memmove((v) + (at) + 1, (v) + (at), ((n)++ - (at)) * sizeof(*(v)));                                            \
        (v)[at] = (__VA_ARGS__);                                                                                       \
    } while (0)

void mem_free_all(void *const *v, size_t n);
#define FREE_ALL(...)                                                                                                  \
    mem_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *)) /* each of them */

void mem_free_ptr(void *p); /* for AUTO_FREE: p is the address of a pointer */
void mem_close_fd(int *fd); /* for AUTO_CLOSE: keeps errno */
void mem_close_file(FILE **f);
static inline int mem_take_fd(int *fd) /* moves an AUTO_CLOSE descriptor to the caller: it is not closed here */
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#define AUTO_FREE  __attribute__((cleanup(mem_free_ptr)))
#define AUTO_CLOSE __attribute__((cleanup(mem_close_fd)))
#define AUTO_FILE  __attribute__((cleanup(mem_close_file)))

/* A bump allocator for things that live and die together. Zero-initialise it; reset keeps the memory for reuse. */
struct arena {
    struct arena_block *head;
    size_t max, used; /* max 0: no limit */
};
void *arena_alloc(struct arena *a, size_t n, size_t size); /* zeroed, aligned to 8; NULL past max or on overflow */
char *arena_strn(struct arena *a, const char *s, size_t n);
char *arena_str(struct arena *a, const char *s); /* NULL stays NULL */
void arena_reset(struct arena *a);
void arena_fini(struct arena *a);
#define AUTO_ARENA __attribute__((cleanup(arena_fini))) struct arena
