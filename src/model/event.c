/* event.c: kinds of events, and their texts. */
#include "model/event.h"

#include "base/buf.h"
#include "base/mem.h"

const char *const event_words[EVENT_KINDS] = {"?",        "xid",      "ecc",     "lost",    "back",
                                              "hung",     "answers",  "start",   "stop",    "new",
                                              "down",     "clock",    "dropped", "refused", "booked",
                                              "rebooked", "released", "expired", "wandb"};

bool event_is_trouble(uint16_t kind)
{
    return kind == EVENT_XID || kind == EVENT_ECC || kind == EVENT_LOST || kind == EVENT_HUNG || kind == EVENT_DOWN ||
           kind == EVENT_DROPPED || kind == EVENT_REFUSED;
}

const char *xid_words(unsigned xid)
{
    static const struct {
        unsigned no;
        const char *words;
    } table[] = {
        {13, "graphics engine exception: usually the application's fault"},
        {31, "memory page fault: usually the application's fault"},
        {43, "GPU stopped processing: usually the application's fault"},
        {45, "work removed before its end, after another error or a kill"},
        {46, "GPU stopped answering; needs a reset"},
        {48, "double-bit memory error"},
        {61, "internal microcontroller halted"},
        {62, "internal microcontroller halted; needs a reset"},
        {63, "memory row remapped or page retired"},
        {64, "remapping a memory row failed; needs a reset"},
        {74, "NVLink error"},
        {79, "GPU has fallen off the bus; needs a reboot"},
        {92, "many corrected memory errors"},
        {94, "contained memory error: one application was hit"},
        {95, "uncontained memory error; needs a reset"},
        {109, "context switch timed out; needs a reset"},
        {110, "security fault; needs a reset"},
        {119, "GPU system processor timed out; needs a reset"},
        {120, "GPU system processor error; needs a reset"},
        {121, "chip-to-chip link error"},
        {149, "NVLink error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].no == xid)
            return table[i].words;
    return NULL;
}

const char *event_meaning(const struct node_event *e)
{
    return e->kind == EVENT_XID && e->code >= 0 && e->code < UINT32_MAX ? xid_words((unsigned)e->code) : NULL;
}

static void xid_about(const struct node_event *e, struct buf *out)
{
    const char *meaning = event_meaning(e);
    bool own = e->text[0] && !str_starts(str_of(e->text), "Xid "); /* our agents write the number and its meaning */

    buf_addf(out, "Xid %lld", (long long)e->code);
    if (meaning)
        buf_addf(out, ": %s", meaning);
    if (own)
        buf_addf(out, meaning ? " (%s)" : ": %s", e->text);
}

void event_about(const struct node_event *e, struct buf *out)
{
    if (e->kind == EVENT_XID)
        xid_about(e, out);
    else if (e->kind == EVENT_ECC)
        buf_addf(out, "%lld memory error%s not corrected", (long long)e->code, e->code == 1 ? "" : "s");
    else if (!e->text[0] && (e->kind == EVENT_START || e->kind == EVENT_STOP))
        buf_addf(out, "agent %s", e->kind == EVENT_START ? "started" : "stopped");
    else
        buf_adds(out, e->text);
}
