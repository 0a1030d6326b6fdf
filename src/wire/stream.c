/* stream.c: assembles bytes into frames. */
#include "wire/stream.h"

#include <errno.h>

#include "wire/part.h"

#define START_LEN 5
#define KEEP_MAX  65536 /* memory that is kept while the buffer is empty */

void stream_init(struct stream *s)
{
    stream_fini(s);
    *s = (struct stream){.in = BUF_INIT(STREAM_FRAME_MAX + FRAME_HEAD + (1u << 20))};
}

void stream_fini(struct stream *s)
{
    buf_fini(&s->in);
    *s = (struct stream){0};
}

static void drop_given(struct stream *s)
{
    size_t left = s->in.len - s->at, max = s->in.max;
    if (left == 0 && s->in.cap > KEEP_MAX) {
        buf_fini(&s->in);
        s->in = BUF_INIT(max);
    } else if (s->at) {
        memmove(s->in.p, s->in.p + s->at, left);
        buf_cut(&s->in, left);
    }
    s->at = 0;
}

void stream_add(struct stream *s, struct str bytes)
{
    drop_given(s);
    if (!s->bad && buf_addstr(&s->in, bytes) < 0)
        s->bad = true; /* the caller did not fetch its frames in between */
}

static int stream_bad(struct stream *s, int rc)
{
    s->bad = true;
    return rc;
}

int stream_next(struct stream *s, struct frame *ret, struct err *err)
{
    if (s->bad)
        return err_set(err, -EBADMSG, "the stream was already found bad");
    for (;;) {
        struct rd r = rd_of(s->in.p + s->at, s->in.len - s->at), head = r;
        if (!s->begun && rd_left(&r) < START_LEN)
            return 0;
        if (!s->begun && wire_check_start(&r, err) < 0)
            return stream_bad(s, -EBADMSG);
        s->at += s->begun ? 0 : START_LEN;
        s->begun = true;
        if (rd_left(&r) < FRAME_HEAD)
            return 0;
        head = r;
        unsigned type = rd_u8(&head);
        uint32_t len = rd_u32(&head);
        if (len > STREAM_FRAME_MAX)
            return stream_bad(s, err_set(err, -EBADMSG, "a frame of type %u wants %u bytes, more than any has", type,
                                         len));
        if (rd_left(&r) < FRAME_HEAD + (size_t)len)
            return 0;
        struct rd one = rd_of(r.p, FRAME_HEAD + (size_t)len);
        s->at += FRAME_HEAD + (size_t)len;
        int rc = wire_next(&one, ret, err);
        if (rc != 0)
            return rc < 0 ? stream_bad(s, rc) : rc;
    }
}
