/* message.c: messages copied. */
#include "model/message.h"

#include "base/mem.h"

const char *const message_words[MESSAGE_KINDS] = {"fired", "resolved"};

static const size_t texts[] = {offsetof(struct message, channel), offsetof(struct message, rule),
                               offsetof(struct message, title), offsetof(struct message, text),
                               offsetof(struct message, alerts)};

struct message *message_copy(const struct message *m)
{
    struct message *to = mem_alloc(sizeof(*to) + mem_text_bytes(m, texts, ARRAY_LEN(texts)));

    *to = *m;
    mem_text_move(to, texts, ARRAY_LEN(texts), (char *)(to + 1));
    return to;
}
