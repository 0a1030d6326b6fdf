/*
 * tape.c: writes samples to a block of bytes and reads them back. keep.c stores the blocks.
 *
 * A record is a tag and its fields:
 *     NAME    kind, name                        a new mark; marks are numbered in order of appearance
 *     SET     mark, slot, what, number or text  applies from the next sample on
 *     SAMPLE  time minus that of the sample before, 1 and a map of present values if that changed (else 0), values
 *             minus those of the sample before
 */
#include "lib/tape.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"

enum { TAG_NAME = 1, TAG_SET, TAG_SAMPLE };
#define HEAD_MAGIC 0x4b4c4254u /* "TBLK" */
#define VARINT_MAX 10

/* ---- current state ---- */

void tape_state_init(struct tape_state *s, size_t devices, size_t metrics)
{
    *s = (struct tape_state){.devices = devices, .metrics = metrics};
    s->have = mem_zero(devices * metrics, sizeof(*s->have));
    s->v = mem_zero(devices * metrics, sizeof(*s->v));
}

static void drop_marks(struct tape_state *s)
{
    for (size_t i = 0; i < s->n_marks; i++) {
        for (size_t k = 0; k < s->marks[i].n; k++)
            free(s->marks[i].v[k].text);
        free(s->marks[i].v);
    }
    s->n_marks = 0;
}

void tape_state_fini(struct tape_state *s)
{
    if (!s)
        return;
    drop_marks(s);
    FREE_ALL(s->have, s->v);
    *s = (struct tape_state){0};
}

void tape_state_reset(struct tape_state *s)
{
    drop_marks(s);
    s->at_us = 0;
    memset(s->have, 0, s->devices * s->metrics * sizeof(*s->have));
    memset(s->v, 0, s->devices * s->metrics * sizeof(*s->v));
}

struct mark *tape_mark(const struct tape_state *s, const char *name)
{
    return (struct mark *)FIND(s->marks, s->n_marks, m, !strcmp(m->name, name));
}

struct mark *tape_mark_add(struct tape_state *s, struct str name, enum mark_kind kind)
{
    size_t same = 0;

    for (size_t i = 0; i < s->n_marks; i++)
        same += (s->marks[i].kind == MARK_LABEL) == (kind == MARK_LABEL);
    if (same >= (kind == MARK_LABEL ? TAPE_LABELS : TAPE_OWN) || name.len >= TAPE_NAME_MAX)
        return NULL;
    struct mark *m = &s->marks[s->n_marks++];
    *m = (struct mark){.kind = kind, .n = kind == MARK_EACH ? s->devices : 1};
    memcpy(m->name, name.p, name.len);
    m->v = mem_zero(m->n, sizeof(*m->v));
    return m;
}

void mark_set_number(struct mark_value *v, double number)
{
    v->what = MARK_NUMBER;
    v->number = number;
    v->dirty = true;
}

void mark_set_text(struct mark_value *v, struct str text)
{
    if (v->cap < text.len + 1) {
        v->cap = MAX(text.len + 1, MIN(v->cap * 2, (size_t)TAPE_LABEL_MAX));
        v->text = mem_grow(v->text, v->cap, 1);
    }
    memcpy(v->text, text.p, text.len);
    v->text[text.len] = 0;
    v->len = text.len;
    v->what = MARK_TEXT;
    v->dirty = true;
}

void mark_set_none(struct mark_value *v)
{
    v->what = MARK_NONE;
    v->dirty = true;
}

/* ---- putting ---- */

size_t tape_need(const struct tape_state *s, bool snapshot)
{
    size_t cells = s->devices * s->metrics, need = 2 + VARINT_MAX + (cells + 7) / 8 + cells * VARINT_MAX;

    for (size_t i = 0; i < s->n_marks; i++) {
        const struct mark *m = &s->marks[i];
        need += 3 + TAPE_NAME_MAX;
        for (size_t k = 0; k < m->n; k++) {
            const struct mark_value *v = &m->v[k];
            if (v->dirty || (snapshot && v->what != MARK_NONE))
                need += 2 + 3 * VARINT_MAX + (v->what == MARK_TEXT ? v->len : 8);
        }
    }
    return need;
}

static void put_set(struct buf *out, size_t mark, size_t slot, struct mark_value *v)
{
    uint64_t bits;

    buf_u8(out, TAG_SET);
    buf_varint(out, mark);
    buf_varint(out, slot);
    buf_u8(out, (uint8_t)v->what);
    if (v->what == MARK_NUMBER) {
        memcpy(&bits, &v->number, sizeof(bits));
        buf_u64(out, bits);
    } else if (v->what == MARK_TEXT)
        buf_text(out, str_n(v->text, v->len));
    v->dirty = false;
}

static void put_marks(struct buf *out, struct tape_state *s, size_t named, bool snapshot)
{
    for (size_t i = named; i < s->n_marks; i++) {
        buf_u8(out, TAG_NAME);
        buf_u8(out, (uint8_t)s->marks[i].kind);
        buf_text(out, str_of(s->marks[i].name));
    }
    for (size_t i = 0; i < s->n_marks; i++)
        for (size_t k = 0; k < s->marks[i].n; k++) {
            struct mark_value *v = &s->marks[i].v[k];
            if (v->dirty || (snapshot && v->what != MARK_NONE))
                put_set(out, i, k, v);
        }
}

static void put_have(struct buf *out, const struct tape_state *s, size_t cells)
{
    for (size_t i = 0; i < cells; i += 8) {
        uint8_t byte = 0;
        for (size_t k = i; k < MIN(i + 8, cells); k++)
            byte |= (uint8_t)(s->have[k] << (k - i));
        buf_u8(out, byte);
    }
}

void tape_put(struct tape_block *b, struct tape_state *s, struct tape_state *last)
{
    size_t cells = s->devices * s->metrics;
    bool snapshot = b->len == 0;
    /* its memory as a buffer that never grows: the caller made sure of the room */
    struct buf out = {.p = b->p, .len = b->len, .cap = b->cap, .max = b->cap - 1};

    if (snapshot) {
        b->named = 0;
        last->at_us = 0;
        memset(last->have, 0, cells * sizeof(*last->have));
        memset(last->v, 0, cells * sizeof(*last->v));
    }
    put_marks(&out, s, b->named, snapshot);
    buf_u8(&out, TAG_SAMPLE);
    buf_zigzag(&out, s->at_us - last->at_us);
    bool changed = memcmp(s->have, last->have, cells * sizeof(*s->have)) != 0;
    buf_u8(&out, changed);
    if (changed)
        put_have(&out, s, cells);
    for (size_t i = 0; i < cells; i++)
        if (s->have[i]) { /* differences wrap around, and so do sums */
            buf_zigzag(&out, (int64_t)((uint64_t)s->v[i] - (uint64_t)last->v[i]));
            last->v[i] = s->v[i];
        }
    memcpy(last->have, s->have, cells * sizeof(*s->have));
    last->at_us = s->at_us;
    b->named = s->n_marks;
    b->len = out.len;
    b->n++;
}

/* ---- taking off ---- */

static bool get_name(struct rd *in, struct tape_state *s)
{
    uint8_t kind = rd_u8(in);
    struct str name = rd_text(in, TAPE_NAME_MAX - 1);

    return !in->bad && kind < MARK_KINDS && name.len && !memchr(name.p, 0, name.len) &&
           tape_mark_add(s, name, (enum mark_kind)kind);
}

static bool get_set(struct rd *in, struct tape_state *s)
{
    uint64_t mark = rd_varint(in), slot = rd_varint(in), bits;
    uint8_t what = rd_u8(in);
    double number;

    if (in->bad || mark >= s->n_marks || slot >= s->marks[mark].n)
        return false;
    struct mark *m = &s->marks[mark];
    if (what == MARK_NUMBER) {
        bits = rd_u64(in);
        memcpy(&number, &bits, sizeof(number));
        if (!in->bad)
            mark_set_number(&m->v[slot], number);
    } else if (what == MARK_TEXT) {
        struct str text = rd_text(in, (m->kind == MARK_LABEL ? TAPE_LABEL_MAX : TAPE_TEXT_MAX) - 1);
        if (in->bad || (text.len && memchr(text.p, 0, text.len)))
            return false;
        mark_set_text(&m->v[slot], text.len ? text : STR(""));
    } else if (what == MARK_NONE)
        mark_set_none(&m->v[slot]);
    else
        return false;
    return !in->bad;
}

static bool get_sample(struct rd *in, struct tape_state *s)
{
    size_t cells = s->devices * s->metrics;

    s->at_us = (int64_t)((uint64_t)s->at_us + (uint64_t)rd_zigzag(in));
    uint8_t changed = rd_u8(in);
    if (changed > 1)
        return false;
    if (changed) {
        const uint8_t *map = rd_bytes(in, (cells + 7) / 8);
        for (size_t i = 0; map && i < cells; i++)
            s->have[i] = map[i / 8] >> (i % 8) & 1;
    }
    for (size_t i = 0; i < cells && !in->bad; i++)
        if (s->have[i])
            s->v[i] = (int64_t)((uint64_t)s->v[i] + (uint64_t)rd_zigzag(in));
    return !in->bad;
}

int tape_next(struct rd *in, struct tape_state *state)
{
    while (rd_left(in)) {
        uint8_t tag = rd_u8(in);
        if (tag == TAG_SAMPLE)
            return get_sample(in, state) ? 1 : -EBADMSG;
        if (!(tag == TAG_NAME && get_name(in, state)) && !(tag == TAG_SET && get_set(in, state)))
            return -EBADMSG;
    }
    return in->bad ? -EBADMSG : 0;
}

/* ---- heads ---- */

void tape_head_put(const struct tape_head *h, struct buf *out)
{
    buf_u32(out, HEAD_MAGIC);
    buf_u32(out, h->len);
    buf_u64(out, (uint64_t)h->first);
    buf_u64(out, (uint64_t)h->n);
    buf_u32(out, h->crc);
    buf_u32(out, 0);
    buf_u32(out, crc32c(0, out->p, out->len));
}

int tape_head_get(const uint8_t in[TAPE_HEAD_BYTES], struct tape_head *ret)
{
    struct rd r = rd_of(in, TAPE_HEAD_BYTES);
    struct tape_head h;
    uint32_t magic = rd_u32(&r);

    h.len = rd_u32(&r);
    h.first = (int64_t)rd_u64(&r);
    h.n = (int64_t)rd_u64(&r);
    h.crc = rd_u32(&r);
    rd_u32(&r);
    if (magic != HEAD_MAGIC || rd_u32(&r) != crc32c(0, in, 32) || h.len > TAPE_BLOCK_MAX || h.first < 0 || h.n < 1 ||
        h.n > TAPE_BLOCK_MAX || h.first > INT64_MAX - h.n)
        return -EBADMSG;
    *ret = h;
    return 0;
}
