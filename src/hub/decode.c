/* decode.c: gives the store the wire format's decoders; the store itself does not know the wire format. */
#include "hub/decode.h"

#include <errno.h>

#include "wire/wire.h"

static void *decode_make(void)
{
    return wire_dec_new();
}

static void decode_end(void *d)
{
    wire_dec_free(d);
}

static int decode_batch(void *d, struct str frame, struct batch *ret, struct err *err)
{
    struct frame f;
    int r = wire_one(frame, &f, err);

    if (r < 0)
        return r;
    return f.type == FRAME_BATCH ? wire_batch(d, &f, ret, err) : err_set(err, -EBADMSG, "not a batch");
}

static int decode_facts(UNUSED void *d, struct str frame, struct node_fact *ret, struct err *err)
{
    struct frame f;
    int r = wire_one(frame, &f, err);

    if (r < 0)
        return r;
    return f.type == FRAME_FACTS ? wire_facts(&f, ret, err) : err_set(err, -EBADMSG, "not facts");
}

const struct store_decoder hub_decoder = {.make = decode_make,
                                          .end = decode_end,
                                          .batch = decode_batch,
                                          .facts = decode_facts};
