/* person.c: finds the channels of a person and queues one message for each in the outbox. */
#include "notify/person.h"

#include "base/clock.h"
#include "base/order.h"
#include "notify/outbox.h"
#include "people/people.h"

/* The channel of Slack's bot is used if no other channel of its type has `to: person`. */
static const char *address_of(const struct hub *h, const struct channels *all, const struct channel *c,
                              const char *person)
{
    bool bot = strcmp(c->name, CHANNEL_BOT) == 0 &&
               !ANY(all->n, i, all->v[i].type == CHANNEL_SLACK_BOT && all->v[i].to_person);

    return c->to_person || bot ? channel_address(c, h->api.people, person) : NULL;
}

/* Returns the number of channels with an address for the person, and the last one. */
static size_t count_ways(const struct hub *h, const char *person, const char *rule, size_t *ret_last)
{
    const struct channels *c = outbox_channels(h->outbox);
    size_t ways = 0;

    if (!people_wants(h->api.people, person, rule))
        return 0;
    for (size_t i = 0; i < c->n; i++)
        if (address_of(h, c, &c->v[i], person)) {
            *ret_last = i;
            ways++;
        }
    return ways;
}

bool notify_reaches(const struct hub *h, const char *person, const char *rule)
{
    size_t last;

    return count_ways(h, person, rule, &last) > 0;
}

size_t notify_person(struct hub *h, const char *person, const char *rule, const char *title, const char *text,
                     store_done_fn *done, void *arg)
{
    size_t last = 0, ways = count_ways(h, person, rule, &last);
    const struct channels *c = outbox_channels(h->outbox);

    for (size_t i = 0; ways && i <= last; i++) {
        const char *address = address_of(h, c, &c->v[i], person);
        if (address)
            outbox_send(h->outbox,
                        &(struct message){.created_ms = clock_wall_ms(),
                                          .kind = MESSAGE_NOTICE,
                                          .severity = SEV_INFO,
                                          .channel = c->v[i].name,
                                          .to = address,
                                          .person = person,
                                          .rule = rule,
                                          .title = title,
                                          .text = text},
                        NULL, i == last ? done : NULL, arg); /* they are stored in this order */
    }
    return ways;
}
