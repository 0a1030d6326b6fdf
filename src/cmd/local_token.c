/* local_token.c: tokens created once and kept in the data folder, for the local command line and the local agent. */
#include "cmd/local_token.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/quarantine.h"
#include "store/records.h"

static bool still_good(struct store *s, const char *path, enum role role)
{
    AUTO_BUF text = {0};
    struct err ignored = {0};
    struct store_token t = {0};
    char id[20];
    uint8_t hash[32];
    return file_read_secret(path, &text, &ignored) == 0 && token_split(buf_str(&text), id, hash) &&
           store_get(s, GET_TOKEN(id, &t), &ignored) == 1 && !t.revoked_ms && memcmp(t.hash, hash, sizeof(hash)) == 0 &&
           strcmp(t.role, role_words[role]) == 0;
}

int local_start_empty(const char *dir, const char *area, struct err *err)
{
    char to[ASIDE_NAME];
    int r = quarantine_all(dir, to, err);
    if (r > 0)
        log_warn(area, "--start-empty: what was in '%s' is in '%s/%s' now; nodes need a token of this new hub", dir,
                 dir, to);
    else if (r == 0)
        log_info(area, "--start-empty: nothing was set aside, '%s' is sound", dir);
    return MIN(r, 0);
}

int local_token(const char *place, const char *dir, const char *file, enum role role, const char *note, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, file);
    struct store *s = NULL;
    int r = place ? file_mkdirs(dir, 0700, err) : 0;
    if (r == 0)
        r = store_open_tools(&s, place ? place : dir, NULL, err);
    if (r == 0 && !still_good(s, path, role)) {
        struct store_token t = {.created_ms = clock_wall_ms()};
        char text[64];
        token_new(t.id, t.hash, text);
        mem_copy_str(t.role, sizeof(t.role), role_words[role]);
        mem_copy_str(t.note, sizeof(t.note), note);
        r = file_write(path, 0600, text, strlen(text), err);
        if (r == 0)
            r = store_explain_damage(place ? place : dir, store_put_now(s, STORE_TOKEN, &t, err), err);
    }
    store_close(s);
    return r;
}
