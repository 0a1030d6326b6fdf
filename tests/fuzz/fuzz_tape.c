/*
 * A block of samples as libmuster's spill file has it, after its head: any bytes. Reading ends; and what was read can
 * be put on a new block and comes back the same. The first two bytes say how many devices and metrics there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lib/tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void must_be_same(const struct tape_state *a, const struct tape_state *b)
{
    size_t cells = a->devices * a->metrics;

    must(a->at_us == b->at_us && a->n_marks == b->n_marks && !memcmp(a->have, b->have, cells));
    for (size_t i = 0; i < cells; i++)
        must(!a->have[i] || a->v[i] == b->v[i]);
    for (size_t i = 0; i < a->n_marks; i++)
        for (size_t k = 0; k < a->marks[i].n; k++) {
            const struct mark_value *x = &a->marks[i].v[k], *y = &b->marks[i].v[k];
            must(x->what == y->what && !strcmp(a->marks[i].name, b->marks[i].name));
            must(x->what != MARK_TEXT || !strcmp(x->text, y->text));
            must(x->what != MARK_NUMBER || !memcmp(&x->number, &y->number, sizeof(x->number)));
        }
}

/* Bytes in state are as they were read: marks are dirty, which is what a first sample on a block looks like anyway. */
static void put_again(struct tape_state *state)
{
    struct tape_state last, back;
    struct tape_block b = {.cap = tape_need(state, true) + 1};

    tape_state_init(&last, state->devices, state->metrics);
    tape_state_init(&back, state->devices, state->metrics);
    b.p = mem_alloc(b.cap);
    tape_put(&b, state, &last);
    must(b.len < b.cap && b.n == 1);
    struct rd in = rd_of(b.p, b.len);
    must(tape_next(&in, &back) == 1);
    must_be_same(state, &back);
    must(tape_next(&in, &back) == 0);
    free(b.p);
    tape_state_fini(&last);
    tape_state_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tape_state state;
    struct tape_head head;
    int r, n = 0;

    if (size >= TAPE_HEAD_BYTES && tape_head_get(data, &head) == 0) {
        AUTO_BUF again = BUF_INIT(TAPE_HEAD_BYTES);
        tape_head_put(&head, &again);
        must(!memcmp(again.p + 4, data + 4, 24));
    }
    if (size < 2)
        return 0;
    tape_state_init(&state, 1 + data[0] % 9, data[1] % 5);
    struct rd in = rd_of(data + 2, size - 2);
    while ((r = tape_next(&in, &state)) == 1)
        if (n++ < 3)
            put_again(&state);
    tape_state_fini(&state);
    return 0;
}
