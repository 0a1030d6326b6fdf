/*
 * smi_xml.c: nvidia-smi's XML, walked with expat. An element is known by its path below <gpu>; layouts that differ
 * between drivers are more lines in one table. Entities of the document's own are refused, and depth, text and size
 * are capped: the text may come from anywhere.
 */
#include "relay/smi_xml.h"

#include <errno.h>
#include <expat.h>

#include "collect/smi.h"

#define XML_BYTES_MAX (16u << 20)
#define XML_DEPTH_MAX 24
#define XML_TEXT_MAX  512
#define XML_PATH_MAX  256
#define MIGS_MAX      64 /* instances of one GPU */

/* How a value joins those that came before it under the same metric. */
enum join { FIRST, BEST, ADD, ANY };

static const struct {
    const char *path;
    enum metric m;
    enum join join;
} elements[] = {
    {"utilization/gpu_util", M_util, FIRST},
    {"utilization/memory_util", M_mem_util, FIRST},
    {"utilization/encoder_util", M_enc, FIRST},
    {"utilization/decoder_util", M_dec, FIRST},
    {"fb_memory_usage/total", M_mem_total, FIRST},
    {"fb_memory_usage/reserved", M_mem_reserved, FIRST},
    {"fb_memory_usage/used", M_mem_used, FIRST},
    {"temperature/gpu_temp", M_temp, FIRST},
    {"temperature/memory_temp", M_temp_mem, FIRST},
    /* up to 530; 535; 580 */
    {"power_readings/power_draw", M_power, FIRST},
    {"gpu_power_readings/power_draw", M_power, FIRST},
    {"gpu_power_readings/average_power_draw", M_power, BEST},
    {"gpu_power_readings/instant_power_draw", M_power, FIRST},
    {"power_readings/enforced_power_limit", M_power_limit, BEST},
    {"power_readings/power_limit", M_power_limit, FIRST},
    {"gpu_power_readings/current_power_limit", M_power_limit, BEST},
    {"gpu_power_readings/enforced_power_limit", M_power_limit, BEST},
    {"clocks/sm_clock", M_clock_sm, FIRST},
    {"clocks/mem_clock", M_clock_mem, FIRST},
    {"max_clocks/sm_clock", M_clock_sm_max, FIRST},
    {"max_clocks/mem_clock", M_clock_mem_max, FIRST},
    {"performance_state", M_pstate, FIRST},
    {"fan_speed", M_fan, FIRST},
    {"pci/tx_util", M_pcie_tx, FIRST},
    {"pci/rx_util", M_pcie_rx, FIRST},
    {"pci/replay_counter", M_pcie_replay, FIRST},
    {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", M_pcie_gen, FIRST},
    {"pci/pci_gpu_link_info/link_widths/current_link_width", M_pcie_width, FIRST},
    /* before Ampere; after */
    {"ecc_errors/volatile/single_bit/total", M_ecc_corrected, ADD},
    {"ecc_errors/volatile/double_bit/total", M_ecc_uncorrected, ADD},
    {"ecc_errors/volatile/sram_correctable", M_ecc_corrected, ADD},
    {"ecc_errors/volatile/dram_correctable", M_ecc_corrected, ADD},
    {"ecc_errors/volatile/sram_uncorrectable", M_ecc_uncorrected, ADD},
    {"ecc_errors/volatile/sram_uncorrectable_parity", M_ecc_uncorrected, ADD},
    {"ecc_errors/volatile/sram_uncorrectable_secded", M_ecc_uncorrected, ADD},
    {"ecc_errors/volatile/dram_uncorrectable", M_ecc_uncorrected, ADD},
    {"retired_pages/multiple_single_bit_retirement/retired_count", M_rows_remapped, ADD},
    {"retired_pages/double_bit_retirement/retired_count", M_rows_remapped, ADD},
    {"retired_pages/pending_retirement", M_rows_pending, ANY},
    {"retired_pages/pending_blacklist", M_rows_pending, ANY},
    {"remapped_rows/remapped_row_corr", M_rows_remapped, ADD},
    {"remapped_rows/remapped_row_unc", M_rows_remapped, ADD},
    {"remapped_rows/remapped_row_pending", M_rows_pending, ANY},
};

static const struct {
    const char *name;
    int64_t bit;
} reasons[] = {
    {"gpu_idle", 0x1},
    {"applications_clocks_setting", 0x2},
    {"sw_power_cap", 0x4},
    {"hw_slowdown", 0x8},
    {"sync_boost", 0x10},
    {"sw_thermal_slowdown", 0x20},
    {"hw_thermal_slowdown", 0x40},
    {"hw_power_brake_slowdown", 0x80},
    {"display_clocks_setting", 0x100},
};

struct walk {
    XML_Parser parser;
    struct reading *r;
    struct err *err;
    int depth, skip; /* skip: elements open inside one that is of no interest */
    char path[XML_PATH_MAX];
    size_t path_len;
    char text[XML_TEXT_MAX];
    size_t text_len;
    bool root_ok, failed;
    /* the GPU being read */
    bool in_gpu;
    size_t gpu, n_gpus; /* gpu: its place in the reading */
    size_t n_migs;
    struct {
        int64_t index, gi, ci;
        size_t at;
    } migs[MIGS_MAX];
    struct {
        int64_t gi, ci, pid, mem;
        uint8_t kind;
        char name[256];
    } proc;
};

static void walk_fail(struct walk *w, const char *why)
{
    if (w->failed)
        return;
    w->failed = true;
    err_set(w->err, -EINVAL, "nvidia-smi's XML: line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(w->parser), why);
    XML_StopParser(w->parser, XML_FALSE);
}

/* ---- what elements mean ---- */

static void put_value(struct sample *s, enum metric m, enum join join, int64_t v)
{
    bool had = sample_has(s, m);

    if (had && join == FIRST)
        return;
    if (had && join == ADD && __builtin_add_overflow(v, s->v[m], &v))
        return;
    if (had && join == ANY)
        v |= s->v[m];
    sample_set(s, m, v);
}

static void put_reason(struct sample *s, struct str name, struct str text)
{
    if (!str_skip(&name, "clocks_event_reasons/clocks_event_reason_") &&
        !str_skip(&name, "clocks_throttle_reasons/clocks_throttle_reason_"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (str_eq(name, reasons[i].name) && (str_eq(text, "Active") || str_eq(text, "Not Active")))
            put_value(s, M_throttle, ANY, str_eq(text, "Active") ? reasons[i].bit : 0);
}

static void put_element(struct sample *s, struct str path, struct str text)
{
    int64_t v;

    for (size_t i = 0; i < ARRAY_LEN(elements); i++)
        if (str_eq(path, elements[i].path) && smi_value(text, STR(""), elements[i].m, &v))
            put_value(s, elements[i].m, elements[i].join, v);
    put_reason(s, path, text);
}

static bool said(struct str text)
{
    return text.len && !str_eq(text, "N/A") && text.p[0] != '[';
}

static void gpu_fact(struct device_fact *f, struct str path, struct str text)
{
    int64_t v;

    smi_remark(text, f);
    if (!said(text))
        return;
    if (str_eq(path, "uuid"))
        collect_text(f->uuid, sizeof(f->uuid), text);
    else if (str_eq(path, "product_name"))
        collect_text(f->name, sizeof(f->name), text);
    else if (str_eq(path, "serial"))
        collect_text(f->serial, sizeof(f->serial), text);
    else if (str_eq(path, "pci/pci_bus_id"))
        collect_pci(f->pci, text);
    else if (str_eq(path, "minor_number") && str_int(text, &v) && v >= 0 && v <= INT32_MAX)
        f->minor = (int32_t)v;
}

static void mig_element(struct walk *w, struct str path, struct str text)
{
    int64_t v;

    if (!w->n_migs)
        return;
    struct device_reading *d = &w->r->devices[w->migs[w->n_migs - 1].at];
    if (str_eq(path, "uuid") && said(text))
        collect_text(d->fact.uuid, sizeof(d->fact.uuid), text);
    else if (str_eq(path, "index") && str_int(text, &v) && v >= 0 && v <= INT32_MAX)
        w->migs[w->n_migs - 1].index = v;
    else if (str_eq(path, "gpu_instance_id") && str_int(text, &v))
        w->migs[w->n_migs - 1].gi = v;
    else if (str_eq(path, "compute_instance_id") && str_int(text, &v))
        w->migs[w->n_migs - 1].ci = v;
    else if (str_starts(path, "fb_memory_usage/")) /* the rest has other names, and is the GPU's */
        put_element(&d->sample, path, text);
}

static void proc_element(struct walk *w, struct str path, struct str text)
{
    int64_t v;

    if (str_eq(path, "pid") && str_int(text, &v) && v > 0 && v <= INT32_MAX)
        w->proc.pid = v;
    else if (str_eq(path, "gpu_instance_id") && str_int(text, &v))
        w->proc.gi = v;
    else if (str_eq(path, "compute_instance_id") && str_int(text, &v))
        w->proc.ci = v;
    else if (str_eq(path, "process_name") && said(text))
        collect_text(w->proc.name, sizeof(w->proc.name), text);
    else if (str_eq(path, "used_memory") && smi_value(text, STR(""), M_mem_used, &v))
        w->proc.mem = v;
    else if (str_eq(path, "type"))
        w->proc.kind = (uint8_t)((memchr(text.p, 'C', text.len) ? PROC_COMPUTE : 0) |
                                 (memchr(text.p, 'G', text.len) ? PROC_GRAPHICS : 0) |
                                 (memchr(text.p, 'M', text.len) ? PROC_MPS : 0));
}

/* A process of an instance is the instance's; of one we do not know, the GPU's. */
static void proc_done(struct walk *w)
{
    size_t at = w->gpu;

    if (!w->proc.pid)
        return;
    for (size_t i = 0; i < w->n_migs; i++)
        if (w->proc.gi >= 0 && w->migs[i].gi == w->proc.gi && (w->proc.ci < 0 || w->migs[i].ci == w->proc.ci))
            at = w->migs[i].at;
    int32_t pid = (int32_t)w->proc.pid;
    device_reading_use(&w->r->devices[at],
                       (struct raw_use){pid, w->proc.kind, w->proc.mem, -1, reading_known(w->r, pid, w->proc.name)});
}

/* ---- GPUs and instances ---- */

static size_t walk_add(struct walk *w)
{
    if (w->r->n_devices >= DEVICES_MAX) {
        walk_fail(w, "more GPUs than fit");
        return 0;
    }
    struct device_reading *d = reading_add(w->r);
    d->fact.vendor = VENDOR_NVIDIA;
    d->uses_known = true;
    return w->r->n_devices - 1;
}

static void gpu_begin(struct walk *w, const char **attributes)
{
    w->gpu = walk_add(w);
    w->in_gpu = !w->failed;
    w->n_migs = 0;
    if (w->failed)
        return;
    struct device_fact *f = &w->r->devices[w->gpu].fact;
    f->index = (int32_t)w->n_gpus++;
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], "id") == 0)
            collect_pci(f->pci, str_of(attributes[i + 1]));
}

static void mig_begin(struct walk *w)
{
    if (w->n_migs == MIGS_MAX) {
        walk_fail(w, "more MIG instances than fit");
        return;
    }
    size_t at = walk_add(w);
    if (w->failed)
        return;
    w->migs[w->n_migs].index = (int64_t)w->n_migs;
    w->migs[w->n_migs].gi = w->migs[w->n_migs].ci = -1;
    w->migs[w->n_migs++].at = at;
}

/* Only now is everything of the GPU known that its instances are named by. */
static void gpu_end(struct walk *w)
{
    struct device_fact *g = &w->r->devices[w->gpu].fact;

    for (size_t i = 0; i < w->n_migs; i++) {
        struct device_fact *f = &w->r->devices[w->migs[i].at].fact;
        if (!f->uuid[0])
            snprintf(f->uuid, sizeof(f->uuid), "MIG-%.50s/%d/%d", g->uuid, (int)w->migs[i].gi, (int)w->migs[i].ci);
        snprintf(f->parent, sizeof(f->parent), "%s", g->uuid);
        snprintf(f->name, sizeof(f->name), "%.100s MIG", g->name);
        snprintf(f->pci, sizeof(f->pci), "%s", g->pci);
        f->index = g->index;
        f->minor = g->minor;
        f->mig = (int32_t)w->migs[i].index;
    }
    w->in_gpu = false;
}

static void walk_element(struct walk *w, struct str path, struct str text)
{
    if (!str_skip(&path, "nvidia_smi_log/"))
        return;
    if (str_eq(path, "driver_version"))
        collect_text(w->r->driver, sizeof(w->r->driver), text);
    else if (str_eq(path, "cuda_version") && said(text))
        collect_text(w->r->cuda, sizeof(w->r->cuda), text);
    if (!w->in_gpu || !str_skip(&path, "gpu/"))
        return;
    if (str_skip(&path, "mig_devices/mig_device/")) {
        mig_element(w, path, text);
    } else if (str_skip(&path, "processes/process_info/")) {
        proc_element(w, path, text);
    } else if (str_eq(path, "processes/process_info")) {
        proc_done(w);
    } else {
        struct device_reading *d = &w->r->devices[w->gpu];
        gpu_fact(&d->fact, path, text);
        put_element(&d->sample, path, text);
    }
}

/* ---- expat ---- */

static void on_start(void *arg, const char *name, const char **attributes)
{
    struct walk *w = arg;
    size_t n = strlen(name);

    if (w->failed)
        return;
    if (w->depth == 0)
        w->root_ok = strcmp(name, "nvidia_smi_log") == 0;
    if (++w->depth > XML_DEPTH_MAX) {
        walk_fail(w, "elements too deep in one another");
        return;
    }
    if (w->skip || strcmp(name, "supported_clocks") == 0 || w->path_len + n + 2 > sizeof(w->path)) {
        w->skip++;
        return;
    }
    if (w->path_len)
        w->path[w->path_len++] = '/';
    memcpy(w->path + w->path_len, name, n);
    w->path_len += n;
    w->text_len = 0;
    struct str path = str_n(w->path, w->path_len);
    if (str_eq(path, "nvidia_smi_log/gpu"))
        gpu_begin(w, attributes);
    else if (w->in_gpu && str_eq(path, "nvidia_smi_log/gpu/mig_devices/mig_device"))
        mig_begin(w);
    else if (str_eq(path, "nvidia_smi_log/gpu/processes/process_info")) {
        memset(&w->proc, 0, sizeof(w->proc));
        w->proc.gi = w->proc.ci = w->proc.mem = -1;
    }
}

static void on_end(void *arg, const char *name)
{
    struct walk *w = arg;

    if (w->failed)
        return;
    w->depth--;
    if (w->skip) {
        w->skip--;
        return;
    }
    struct str path = str_n(w->path, w->path_len);
    walk_element(w, path, str_trim(str_n(w->text, w->text_len)));
    if (w->in_gpu && str_eq(path, "nvidia_smi_log/gpu"))
        gpu_end(w);
    w->path_len -= MIN(w->path_len, strlen(name) + (w->path_len > strlen(name)));
    w->text_len = 0;
}

static void on_text(void *arg, const char *text, int len)
{
    struct walk *w = arg;
    size_t n = MIN((size_t)len, sizeof(w->text) - w->text_len);

    memcpy(w->text + w->text_len, text, n);
    w->text_len += n;
}

static void on_entity(void *arg, const XML_Char *name, int parameter, const XML_Char *value, int len,
                      const XML_Char *base, const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
    (void)name, (void)parameter, (void)value, (void)len, (void)base, (void)system, (void)public, (void)notation;
    walk_fail(arg, "it declares an entity, which nvidia-smi never does");
}

int smi_xml(struct str text, struct reading *ret, struct err *err)
{
    struct str rest = text, line = STR("");
    int r = 0;

    if (text.len > XML_BYTES_MAX)
        return err_set(err, -EINVAL, "nvidia-smi's XML: more than %u bytes", XML_BYTES_MAX);
    while (str_trim(line).len == 0 && str_line(&rest, &line))
        ;
    if (smi_failure(line) < 0) {
        char words[120];
        collect_text(words, sizeof(words), line);
        return err_set(err, -ENODEV, "nvidia-smi: %s", words);
    }
    AUTO_FREE struct walk *w = mem_zero(1, sizeof(*w));
    w->r = ret;
    w->err = err;
    w->parser = XML_ParserCreate(NULL);
    if (!w->parser)
        return err_set(err, -ENOMEM, "nvidia-smi's XML: no memory");
    XML_SetUserData(w->parser, w);
    XML_SetElementHandler(w->parser, on_start, on_end);
    XML_SetCharacterDataHandler(w->parser, on_text);
    XML_SetEntityDeclHandler(w->parser, on_entity);
    if (XML_Parse(w->parser, text.p, (int)text.len, 1) != XML_STATUS_OK && !w->failed)
        walk_fail(w, XML_ErrorString(XML_GetErrorCode(w->parser)));
    if (!w->failed && !w->root_ok)
        walk_fail(w, "it does not begin with <nvidia_smi_log>");
    r = w->failed ? -EINVAL : 0;
    XML_ParserFree(w->parser);
    return r;
}
