/* amd_json.c: reads the JSON of AMD's two tools, which have different names for the same things. */
#include "relay/amd_json.h"

#include <errno.h>
#include <jansson.h>

#include "base/order.h"

/* ---- values ---- */

/*
 * Reads 12, "12.5", "(1725Mhz)", {"value": 12, "unit": "W"}: the number times scale. Returns false if there is no
 * number.
 */
static bool number(const json_t *v, int64_t scale, int64_t *ret)
{
    char text[64];
    if (json_is_object(v))
        v = json_object_get(v, "value");
    if (json_is_integer(v))
        snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        snprintf(text, sizeof(text), "%.6f", json_real_value(v));
    else if (json_is_string(v))
        snprintf(text, sizeof(text), "%s", json_string_value(v));
    else
        return false;
    struct str s = str_trim(str_of(text));
    str_skip(&s, "(");
    size_t n = FIRST(s.len, i, (s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '.' && (i || s.p[i] != '-'));
    return str_fixed(str_n(s.p, n), scale, ret);
}

static void put(struct sample *to, enum metric m, const json_t *v, int64_t scale)
{
    int64_t got;
    if (v && number(v, scale, &got) && got >= 0)
        sample_set(to, m, got);
}

static struct str text_of(const json_t *v)
{
    struct str s = str_trim(str_of(json_is_string(v) ? json_string_value(v) : ""));
    return str_eq_nocase(s, "N/A") ? STR("") : s;
}

static void put_text(char *to, size_t size, const json_t *v)
{
    struct str s = text_of(v);
    if (s.len)
        collect_text(to, size, s);
}

/* "0x2f048617326b1ea" -> "amd-2f048617326b1ea"; zero is not an id. */
static void put_unique(struct device_fact *f, const json_t *v)
{
    uint64_t id;
    if (str_hex(text_of(v), &id) && id)
        snprintf(f->uuid, sizeof(f->uuid), "amd-%llx", (unsigned long long)id);
}

static struct device_reading *device(struct reading *r, int64_t index)
{
    struct device_reading *d = FIND(r->devices, r->n_devices, e, e->fact.index == index);
    if (d || r->n_devices >= DEVICES_MAX)
        return d;
    d = reading_add(r);
    d->fact.index = (int32_t)index;
    d->fact.vendor = VENDOR_AMD;
    return d;
}

/* ---- rocm-smi: {"card0": {"GPU use (%)": "0", …}, "system": {…}} ---- */

/* If a metric has several names, the last one found counts: names of newer versions are last. */
static const struct {
    const char *key;
    enum metric m;
    int64_t scale;
} rocm[] = {
    {"GPU use (%)", M_util, 100},
    {"GPU memory use (%)", M_mem_util, 100},
    {"GPU Memory Read/Write Activity (%)", M_mem_util, 100},
    {"VRAM Total Memory (B)", M_mem_total, 1},
    {"VRAM Total Used Memory (B)", M_mem_used, 1},
    {"Temperature (Sensor junction) (C)", M_temp, 1000},
    {"Temperature (Sensor edge) (C)", M_temp, 1000},
    {"Temperature (Sensor memory) (C)", M_temp_mem, 1000},
    {"Average Graphics Package Power (W)", M_power, 1000},
    {"Current Socket Graphics Package Power (W)", M_power, 1000},
    {"Max Graphics Package Power (W)", M_power_limit, 1000},
    {"sclk clock speed:", M_clock_sm, 1000000},
    {"mclk clock speed:", M_clock_mem, 1000000},
    {"Fan speed (%)", M_fan, 100},
    {"PCIe Replay Count", M_pcie_replay, 1},
};

static void rocm_name(struct device_fact *f, const json_t *card)
{
    static const char *const keys[] = {"Device Name", "Card model", "Card Model", "Card series", "Card Series"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str s = text_of(json_object_get(card, keys[i]));
        if (s.len && !str_starts(s, "0x")) /* a number is no name */
            collect_text(f->name, sizeof(f->name), s);
    }
}

static void rocm_card(struct device_reading *d, const json_t *card)
{
    struct device_fact *f = &d->fact;
    for (size_t i = 0; i < ARRAY_LEN(rocm); i++)
        put(&d->sample, rocm[i].m, json_object_get(card, rocm[i].key), rocm[i].scale);
    rocm_name(f, card);
    collect_pci(f->pci, text_of(json_object_get(card, "PCI Bus")));
    put_unique(f, json_object_get(card, "Unique ID"));
    struct str serial = text_of(json_object_get(card, "Serial Number"));
    if (serial.len && !str_eq(serial, "0"))
        collect_text(f->serial, sizeof(f->serial), serial);
}

static bool rocm_all(json_t *root, struct reading *ret)
{
    const char *key;
    json_t *card;
    bool any = false;
    json_object_foreach (root, key, card) {
        struct str s = str_of(key);
        int64_t index;
        if (str_eq(s, "system"))
            put_text(ret->driver, sizeof(ret->driver), json_object_get(card, "Driver version"));
        if (!str_skip(&s, "card") || !str_int(s, &index) || index < 0 || index > 4096 || !json_is_object(card))
            continue;
        struct device_reading *d = device(ret, index);
        if (d)
            rocm_card(d, card);
        any = true;
    }
    return any;
}

/* ---- amd-smi: [{"gpu": 0, "usage": {…}}, …], or the same under "gpu_data" ---- */

static const struct {
    const char *group, *key;
    enum metric m;
    int64_t scale;
} amd[] = {
    {"usage", "gfx_activity", M_util, 100},
    {"usage", "umc_activity", M_mem_util, 100},
    {"mem_usage", "total_vram", M_mem_total, 1 << 20},
    {"mem_usage", "used_vram", M_mem_used, 1 << 20},
    {"temperature", "hotspot", M_temp, 1000},
    {"temperature", "edge", M_temp, 1000},
    {"temperature", "mem", M_temp_mem, 1000},
    {"power", "socket_power", M_power, 1000},
    {"energy", "total_energy_consumption", M_energy, 1000},
    {"fan", "usage", M_fan, 100},
    {"pcie", "width", M_pcie_width, 1},
    {"pcie", "replay_count", M_pcie_replay, 1},
    {"ecc", "total_correctable_count", M_ecc_corrected, 1},
    {"ecc", "total_uncorrectable_count", M_ecc_uncorrected, 1},
    {"limit", "max_power", M_power_limit, 1000},
    {"limit", "socket_power", M_power_limit, 1000},
};

static void amd_one(struct device_reading *d, struct reading *ret, const json_t *gpu)
{
    struct device_fact *f = &d->fact;
    for (size_t i = 0; i < ARRAY_LEN(amd); i++)
        put(&d->sample, amd[i].m, json_object_get(json_object_get(gpu, amd[i].group), amd[i].key), amd[i].scale);
    const json_t *clock = json_object_get(gpu, "clock"), *asic = json_object_get(gpu, "asic");
    put(&d->sample, M_clock_sm, json_object_get(json_object_get(clock, "gfx_0"), "clk"), 1000000);
    put(&d->sample, M_clock_mem, json_object_get(json_object_get(clock, "mem_0"), "clk"), 1000000);
    put_text(f->name, sizeof(f->name), json_object_get(asic, "market_name"));
    put_unique(f, json_object_get(asic, "asic_serial"));
    const json_t *bdf = json_object_get(json_object_get(gpu, "bus"), "bdf");
    if (!bdf)
        bdf = json_object_get(gpu, "bdf");
    if (text_of(bdf).len)
        collect_pci(f->pci, text_of(bdf));
    put_text(ret->driver, sizeof(ret->driver), json_object_get(json_object_get(gpu, "driver"), "version"));
}

static bool amd_all(json_t *list, struct reading *ret)
{
    size_t i;
    json_t *gpu;
    bool any = false;
    json_array_foreach (list, i, gpu) {
        const json_t *index = json_object_get(gpu, "gpu");
        if (!json_is_integer(index) || json_integer_value(index) < 0 || json_integer_value(index) > 4096)
            continue;
        struct device_reading *d = device(ret, json_integer_value(index));
        if (d)
            amd_one(d, ret, gpu);
        any = true;
    }
    return any;
}

/* ---- either ---- */

/* The start of the JSON: the first line that starts with a brace; the tools print warnings before it. */
static struct str from_brace(struct str text)
{
    struct str rest = text, line;
    while (str_line(&rest, &line))
        if (str_starts(line, "{") || str_starts(line, "["))
            return str_n(line.p, (size_t)(text.p + text.len - line.p));
    return STR("");
}

int amd_json(struct str text, struct reading *ret, struct err *err)
{
    json_error_t e;
    if (text.len > AMD_JSON_MAX)
        return err_set(err, -EINVAL, "more JSON than any machine has GPUs for");
    text = from_brace(text);
    if (!text.len)
        return err_set(err, -EINVAL, "there is no JSON in it");
    json_auto_t *root = json_loadb(text.p, text.len, JSON_DISABLE_EOF_CHECK, &e);
    if (!root)
        return err_set(err, -EINVAL, "no JSON: line %d: %.80s", e.line, e.text);
    json_t *list = json_is_object(root) ? json_object_get(root, "gpu_data") : root;
    bool any = json_is_array(list) ? amd_all(list, ret) : rocm_all(root, ret);
    return any ? 0 : err_set(err, -EINVAL, "it names no GPU");
}
