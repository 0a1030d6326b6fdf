/*
 * facts.c: the tables a page needs before it shows anything: metrics, states, kinds of events, each with its words. It
 * loops over the tables that everything else uses, so that a page never repeats them.
 */
#include "base/buf.h"
#include "base/json.h"
#include "base/version.h"
#include "format/render.h"
#include "model/event.h"
#include "model/quantities.h"

static void put_metric(struct json *j, const struct metric_info *m, bool brief)
{
    json_obj(j, NULL);
    json_cstr(j, "name", m->name);
    json_cstr(j, "label", m->label);
    json_cstr(j, "unit", unit_names[m->unit]);
    json_int(j, "per", m->per);
    json_cstr(j, "kind", m->kind == KIND_COUNTER ? "counter" : "gauge");
    json_cstr(j, "scope", m->scope == SCOPE_NODE ? "node" : "device");
    if (!brief)
        json_cstr(j, "help", m->help);
    json_end_obj(j);
}

static void put_words(struct json *j, const char *key, const char *const *words, size_t n)
{
    json_arr(j, key);
    for (size_t i = 0; i < n; i++)
        json_cstr(j, NULL, words[i]);
    json_end_arr(j);
}

void render_facts(struct buf *out, const char *name, const char *about, const char *colours, bool brief)
{
    struct json j = json_on(out);
    json_obj(&j, NULL);
    json_cstr(&j, "muster", MUSTER_VERSION);
    json_some(&j, "commit", muster_commit);
    json_int(&j, "format", MUSTER_FORMAT);
    json_cstr(&j, "name", name);
    if (about)
        json_cstr(&j, "about", about);
    if (colours)
        json_cstr(&j, "colours", colours);
    json_arr(&j, "states");
    for (int i = 0; i < DEV_STATES; i++) {
        const struct state_info *s = &dev_states[i];
        json_obj(&j, NULL);
        json_cstr(&j, "word", s->word);
        json_cstr(&j, "mark", s->mark);
        json_cstr(&j, "ascii", s->ascii);
        json_cstr(&j, "meaning", s->meaning);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    json_arr(&j, "terms");
    for (const struct quantity *t = quantities; t->word; t++) {
        json_obj(&j, NULL);
        json_cstr(&j, "word", t->word);
        json_cstr(&j, "meaning", t->meaning);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    put_words(&j, "node_states", node_words, NODE_STATES);
    put_words(&j, "events", event_words, EVENT_KINDS);
    json_arr(&j, "trouble");
    for (uint16_t kind = 0; kind < EVENT_KINDS; kind++)
        if (event_is_trouble(kind))
            json_cstr(&j, NULL, event_words[kind]);
    json_end_arr(&j);
    json_arr(&j, "metrics");
    for (int m = 0; m < M_COUNT; m++)
        put_metric(&j, &metrics[m], brief);
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
}
