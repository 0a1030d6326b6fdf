/* order.h: things in a row: comparing and sorting them, and finding one. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* -1, 0 or 1, for a comparator. What breaks a tie follows: return ORDER(x->host, y->host) ?: ORDER(x->id, y->id); */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* A comparator of things of this type, here x and y: COMPARE(by_time, struct turn, ORDER(x->at_ms, y->at_ms)) */
#define COMPARE(name, type, order)                                                                                     \
    static int name(const void *a_, const void *b_)                                                                    \
    {                                                                                                                  \
        const type *x = a_;                                                                                            \
        const type *y = b_;                                                                                            \
        return order;                                                                                                  \
    }

/* qsort that accepts n = 0, also with NULL. */
#define SORT(v, n, order)                                                                                              \
    do {                                                                                                               \
        if (n)                                                                                                         \
            qsort((v), (n), sizeof(*(v)), (order));                                                                    \
    } while (0)

/* Counts the sorted things before a place by binary search. The expression `before` tests thing number i. */
#define COUNT_BEFORE(n, i, before)                                                                                     \
    ({                                                                                                                 \
        size_t low_ = 0, high_ = (n);                                                                                  \
        while (low_ < high_) {                                                                                         \
            size_t i = low_ + (high_ - low_) / 2;                                                                      \
            if (before)                                                                                                \
                low_ = i + 1;                                                                                          \
            else                                                                                                       \
                high_ = i;                                                                                             \
        }                                                                                                              \
        low_;                                                                                                          \
    })

/* The index of the first of n things for which the expression `so` is true for i; n if none. */
#define FIRST(n, i, so)                                                                                                \
    ({                                                                                                                 \
        size_t i = 0, end_ = (n);                                                                                      \
        while (i < end_ && !(so))                                                                                      \
            i++;                                                                                                       \
        i;                                                                                                             \
    })
#define ANY(n, i, so) (FIRST(n, i, so) < (n))
/* The same; -1 if none. */
#define WHICH(n, i, so)                                                                                                \
    ({                                                                                                                 \
        size_t all_ = (n), first_ = FIRST(all_, i, so);                                                                \
        first_ < all_ ? (int)first_ : -1;                                                                              \
    })
/* A pointer to the first of the n things of v for which `so` is true for e; NULL if none. */
#define FIND(v, n, e, so)                                                                                              \
    ({                                                                                                                 \
        __typeof__(*(v)) *e = NULL;                                                                                    \
        size_t at_ = 0, end_ = (n);                                                                                    \
        while (at_ < end_ && (e = &(v)[at_], !(so)))                                                                   \
            at_++;                                                                                                     \
        at_ < end_ ? e : NULL;                                                                                         \
    })

/* Comparators of numbers and of pointers to text. */
static inline int order_numbers(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}
static inline int order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
