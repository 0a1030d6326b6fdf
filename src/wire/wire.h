/*
 * wire.h: batches and facts <-> bytes. Versioned, pure. docs/internals/wire.md is the specification.
 *
 * A stream (a POST body, or a spool record's bytes) is: "MUST" u8 version, then frames. A frame is: u8 type, u32 length
 * of the rest, u32 crc32c of the type and the rest, the rest. Facts and process lists are named by the FNV-1a of their
 * content and sent when they change. A batch names its facts and process list, so that it can be read once its blobs
 * are known.
 *
 * W1 decode(encode(x)) == x.
 * W2 Decoding refuses anything out of bounds with a message in err and never allocates more than WIRE_RAM_MAX.
 * W3 Frames of unknown type are skipped by their length: a newer agent can talk to an older hub.
 * W4 Nothing decoded holds text that is not valid UTF-8 or a count above the caps in model/fact.h.
 */
#pragma once

#include "base/err.h"
#include "base/version.h"
#include "model/batch.h"
#include "model/fact.h"

struct rd;

#define WIRE_VERSION  MUSTER_WIRE
#define WIRE_RAM_MAX  (32u << 20) /* one decoded batch */
#define WIRE_BODY_MAX (16u << 20) /* one stream */

/* Limits of one batch; together they keep it below WIRE_RAM_MAX. The writer enforces them, too. */
#define WIRE_CELLS_MAX   (1u << 21) /* ticks times columns */
#define WIRE_COLUMNS_MAX (1u << 16)
#define WIRE_USES_MAX    (1u << 14)
#define WIRE_EVENTS_MAX  (1u << 12)
#define WIRE_TIME_END    (1ll << 43) /* maximum time (exclusive, in the year 2248); times are above 0 */

enum frame_type { FRAME_HELLO = 1, FRAME_FACTS = 2, FRAME_PROCS = 3, FRAME_BATCH = 4 };

/*
 * ---- writing ----
 *
 * Return 0 or -errno: -EMSGSIZE past out's maximum, -E2BIG past a cap above or in model/ (the caller must split it),
 * -EINVAL for data that no reader would accept. On failure out is unchanged. Text that is not UTF-8 or has control
 * characters is not an error, because one odd process name must not cost a node its facts: each such byte becomes '?'.
 */
int wire_start(struct buf *out);
int wire_put_hello(struct buf *out, const struct hello *h);
/* Blobs: appends the frame; *ret_id is the content's name (never 0). */
int wire_put_facts(struct buf *out, const struct node_id *node, const struct node_fact *f, uint64_t *ret_id);
int wire_put_procs(struct buf *out, const struct node_id *node, const struct proc_list *l, uint64_t *ret_id);

struct wire_enc; /* keeps zstd's context between batches */
struct wire_enc *wire_enc_new(int level);
void wire_enc_free(struct wire_enc *e);
int wire_put_batch(struct wire_enc *e, struct buf *out, const struct batch *b);
/* Appends a batch's frame under another key, as another node's; the body is unchanged. */
int wire_put_copy(struct buf *out, struct str frame, const struct batch_key *key, uint64_t facts, uint64_t procs);

/* ---- reading ---- */
struct frame {
    uint8_t type;
    struct str whole;   /* frame with its header, as the store and the spool keep it */
    struct str payload; /* after the header */
    struct node_id node;
    uint64_t id;           /* facts, procs: the blob's name */
    struct batch_key key;  /* batch */
    uint64_t facts, procs; /* batch: blobs it needs */
};

int wire_check_start(struct rd *r, struct err *err); /* the stream's first bytes */
/* Next frame of a known type with its fixed fields read and its checksum verified: 1, 0 at the end, or -EBADMSG. */
int wire_next(struct rd *r, struct frame *ret, struct err *err);
/* The same for one frame without a stream, as the store keeps it. */
int wire_one(struct str whole, struct frame *ret, struct err *err);

int wire_hello(const struct frame *f, struct hello *ret, struct err *err);
/* the caller frees it with node_fact_fini() */
int wire_facts(const struct frame *f, struct node_fact *ret, struct err *err);
int wire_procs(const struct frame *f, struct proc_list *ret, struct err *err);

struct wire_dec; /* owns the memory of the batch it decoded last */
struct wire_dec *wire_dec_new(void);
void wire_dec_free(struct wire_dec *d);
/* *ret stays valid until the next call on d. */
int wire_batch(struct wire_dec *d, const struct frame *f, struct batch *ret, struct err *err);

/* ---- the hub's response: text lines "word value", no JSON for the agent to parse ---- */
#define ANSWER_WAIT_MS 2000 /* without a response by then an agent spools the batches to its disk */
#define ANSWER_KEYS    1024
struct answer {
    size_t n_stored, n_need;
    struct {
        uint64_t run, number;
    } stored[ANSWER_KEYS]; /* exactly the keys now durable */
    uint64_t need[64];     /* blobs the hub lacks: send them and the batch again */
    int64_t time_ms;       /* hub's wall clock; 0: not sent */
    int64_t interval_ms;   /* send this often; 0: not sent */
    int64_t phase_ms;      /* send at this offset within the interval; -1: not sent */
    int64_t retry_ms;      /* wait at least this long; 0: not sent */
    char token[128];       /* the node's own token, minted for an enrolment */
};
int answer_write(struct buf *out, const struct answer *a);
int answer_parse(struct str text, struct answer *ret, struct err *err); /* unknown words are skipped */
/* The message of an error response: that of its problem document (RFC 9457), or else the whole body. */
void answer_refusal(struct str body, struct buf *out);
