/* export.c: records as text. JSON lines and CSV share the JSON of what is not a sample. */
#include "format/export.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "format/words.h"

const char *const export_words[EXPORT_FORMATS + 1] = {"jsonl", "csv", "openmetrics", NULL};
const char *const record_words[REC_KINDS] = {"node", "device", "metric", "samples", "process", "event", "job"};

/* ---- JSON ---- */

static void put_device(struct json *j, const struct device_fact *d)
{
    json_some(j, "parent", d->parent);
    json_some(j, "name", d->name);
    json_some(j, "serial", d->serial);
    json_some(j, "pci", d->pci);
    json_int(j, "index", d->index);
    json_int(j, "minor", d->minor);
    json_int(j, "mig", d->mig);
    json_int(j, "vendor", d->vendor);
    if (d->lost)
        json_bool(j, "lost", true);
    if (d->asleep)
        json_bool(j, "asleep", true);
    json_some(j, "note", d->note);
}

static void put_custom(struct json *j, const struct custom_fact *c)
{
    json_cstr(j, "metric", c->name);
    json_some(j, "unit", unit_names[c->unit < UNIT_COUNT ? c->unit : 0]);
    json_cstr(j, "type", c->kind == KIND_COUNTER ? "counter" : "gauge");
    json_int(j, "per", c->per);
}

static void put_event(struct json *j, const struct node_event *e)
{
    json_int(j, "time", e->at_ms);
    json_int(j, "event", e->kind);
    json_int(j, "slot", e->slot);
    json_int(j, "code", e->code);
    json_some(j, "text", e->text);
}

/* What the table of its fields names for exports. */
static void put_record(struct json *j, const struct record_kind *kind, const void *record)
{
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        if (!f->json)
            continue;
        if (!record_is_number(f))
            json_some(j, f->json, f->type == FIELD_TEXT ? *record_text(f, record) : record_array(f, record));
        else if (f->type == FIELD_FLAG)
            json_bool(j, f->json, record_int(f, record) != 0);
        else
            json_int(j, f->json, record_int(f, record));
    }
}

static void put_samples(struct json *j, const struct export_record *r)
{
    json_cstr(j, "metric", r->metric);
    json_arr(j, "t");
    for (size_t i = 0; i < r->n; i++)
        json_int(j, NULL, r->at_ms[i]);
    json_end_arr(j);
    json_arr(j, "v");
    for (size_t i = 0; i < r->n; i++)
        json_fixed(j, NULL, r->v[i], r->per);
    json_end_arr(j);
}

static void put_json(struct buf *out, const struct export_record *r)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_cstr(&j, "kind", record_words[r->kind]);
    json_some(&j, "node", r->node);
    json_some(&j, "device", r->device);
    switch (r->kind) {
    case REC_NODE:
        json_some(&j, "name", r->fact->name);
        put_record(&j, &node_facts, r->fact);
        break;
    case REC_DEVICE:
        put_device(&j, r->dev);
        break;
    case REC_METRIC:
        put_custom(&j, r->custom);
        break;
    case REC_SAMPLES:
        put_samples(&j, r);
        break;
    case REC_PROCESS:
        put_record(&j, &proc_record, r->proc);
        break;
    case REC_EVENT:
        put_event(&j, r->event);
        break;
    default:
        put_record(&j, &job_record, r->job);
    }
    json_end_obj(&j);
}

/* ---- CSV ---- */

/* As csv_text with a comma behind it, and so that the mark before a formula can be taken off again: text that begins
 * with it gets one more. */
static void cell(struct buf *out, const char *s)
{
    AUTO_BUF b = BUF_INIT(EXPORT_LINE_MAX);

    if (s && s[0] == '\'') {
        buf_addf(&b, "'%s", s);
        s = b.p;
    }
    csv_text(out, s ? s : "");
    buf_addc(out, ',');
}

static void csv_samples(struct buf *out, const struct export_record *r)
{
    AUTO_BUF head = BUF_INIT(4096);
    AUTO_BUF metric = BUF_INIT(4096);
    char iso[32];

    buf_adds(&head, "samples,");
    cell(&head, r->node);
    cell(&head, r->device);
    buf_addc(&metric, ',');
    cell(&metric, r->metric);
    for (size_t i = 0; i < r->n && out->err == 0; i++) {
        buf_addstr(out, buf_str(&head));
        buf_adds(out, clock_iso(r->at_ms[i], iso));
        buf_addstr(out, buf_str(&metric));
        buf_fixed(out, r->v[i], r->per);
        buf_adds(out, ",\r\n");
    }
}

static void csv_record(struct buf *out, const struct export_record *r)
{
    AUTO_BUF detail = BUF_INIT(EXPORT_LINE_MAX);
    char iso[32] = "";
    int64_t at = r->kind == REC_PROCESS ? r->proc->first_ms : r->kind == REC_EVENT ? r->event->at_ms : 0;

    if (r->kind == REC_JOB)
        at = r->job->start_ms;
    put_json(&detail, r);
    buf_adds(out, record_words[r->kind]);
    buf_addc(out, ',');
    cell(out, r->node);
    cell(out, r->device);
    buf_addf(out, "%s,,,", at > 0 ? clock_iso(at, iso) : "");
    cell(out, detail.p);
    buf_cut(out, out->len - 1);
    buf_adds(out, "\r\n");
}

/* ---- OpenMetrics ---- */

/* sample: the family's name with what its samples add: "_total", "_info". */
static void family(struct export_writer *w, struct buf *out, const char *sample, const char *add, const char *type,
                   const char *unit, const char *help)
{
    if (strcmp(w->family, sample) == 0)
        return;
    mem_copy_str(w->family, sizeof(w->family), sample);
    openmetrics_family(out, sample, add, type, unit, help);
}

static void device_labels(struct buf *out, const struct export_record *r)
{
    char index[16];

    prom_label(out, "node", r->name);
    if (!r->device || !r->device[0])
        return;
    snprintf(index, sizeof(index), "%d", r->dev ? (int)r->dev->index : -1);
    prom_label(out, "gpu", index);
    prom_label(out, "uuid", r->device);
}

static void om_info(struct export_writer *w, struct buf *out, const struct export_record *r)
{
    static const struct {
        const char *name, *help;
    } infos[] = {[REC_NODE] = {"muster_node_info", "what a node is"},
                 [REC_DEVICE] = {"muster_gpu_info", "what a device is"},
                 [REC_METRIC] = {"muster_export_metric_info", "a metric declared at run time"}};
    char name[128], per[32];

    family(w, out, infos[r->kind].name, "_info", "info", "", infos[r->kind].help);
    buf_addf(out, "%s{", infos[r->kind].name);
    device_labels(out, r);
    if (r->kind == REC_NODE) {
        prom_node_labels(out, r->node, r->fact);
    } else if (r->kind == REC_DEVICE) {
        prom_device_labels(out, r->dev);
    } else {
        prom_custom_name(r->custom, name);
        snprintf(per, sizeof(per), "%lld", (long long)r->custom->per);
        prom_label(out, "metric", r->custom->name);
        prom_label(out, "family", name);
        prom_label(out, "unit", unit_names[r->custom->unit < UNIT_COUNT ? r->custom->unit : 0]);
        prom_label(out, "type", r->custom->kind == KIND_COUNTER ? "counter" : "gauge");
        prom_label(out, "per", per);
    }
    buf_adds(out, "} 1 ");
    buf_fixed(out, w->at_ms, 1000);
    buf_addc(out, '\n');
}

static void om_samples(struct export_writer *w, struct buf *out, const struct export_record *r)
{
    int m = metric_by_name(str_of(r->metric));
    const struct metric_info *mi = m >= 0 ? &metrics[m] : NULL;
    bool counter = mi ? mi->kind == KIND_COUNTER : r->custom && r->custom->kind == KIND_COUNTER;
    char custom[128] = "", name[160];
    AUTO_BUF head = BUF_INIT(8192);

    if (!mi && !r->custom)
        return;
    if (!mi)
        prom_custom_name(r->custom, custom);
    snprintf(name, sizeof(name), "%s%s", mi ? mi->prom : custom, !mi && counter ? "_total" : "");
    family(w, out, name, counter ? "_total" : "", counter ? "counter" : "gauge",
           unit_names[mi                             ? mi->unit
                      : r->custom->unit < UNIT_COUNT ? r->custom->unit
                                                     : 0],
           mi ? mi->help : "declared at run time");
    buf_adds(&head, name);
    buf_addc(&head, '{');
    device_labels(&head, r);
    buf_adds(&head, "} ");
    for (size_t i = 0; i < r->n && out->err == 0; i++) {
        if (i && r->at_ms[i] == r->at_ms[i - 1])
            continue; /* one value per moment */
        buf_addstr(out, buf_str(&head));
        buf_fixed(out, r->v[i], r->per);
        buf_addc(out, ' ');
        buf_fixed(out, r->at_ms[i], 1000);
        buf_addc(out, '\n');
    }
}

/* ---- the three ---- */

void export_start(struct export_writer *w, struct buf *out)
{
    if (w->format == EXPORT_JSONL)
        buf_adds(out, "{\"muster_export\":1}\n");
    else if (w->format == EXPORT_CSV)
        buf_adds(out, "kind,node,device,time,metric,value,detail\r\n");
}

void export_put(struct export_writer *w, struct buf *out, const struct export_record *r)
{
    switch (w->format) {
    case EXPORT_JSONL:
        put_json(out, r);
        buf_addc(out, '\n');
        break;
    case EXPORT_CSV:
        if (r->kind == REC_SAMPLES)
            csv_samples(out, r);
        else
            csv_record(out, r);
        break;
    default:
        if (r->kind == REC_SAMPLES)
            om_samples(w, out, r);
        else if (r->kind <= REC_METRIC)
            om_info(w, out, r);
    }
}

void export_end(struct export_writer *w, struct buf *out)
{
    if (w->format == EXPORT_OPENMETRICS)
        buf_adds(out, "# EOF\n");
}
