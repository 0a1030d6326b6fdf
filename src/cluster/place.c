/* place.c: adds a password to a URL, and refuses passwords in settings. */
#include "cluster/place.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"

#define PASSWORD_MAX 1024
#define PLACE_MAX    1900 /* with the additions of place_for_hub it must fit into the buffer of a folder */

static struct str scheme_of(struct str url)
{
    int at = str_find(url, "://");

    return at > 0 ? str_n(url.p, (size_t)at + 3) : STR("");
}

/* The part between the scheme and the @; "" if none. */
static struct str user_of(struct str url)
{
    struct str rest = str_drop(url, scheme_of(url).len), before_path, authority;

    if (!str_cut(&rest, '/', &before_path) || !str_cut(&before_path, '?', &authority))
        return STR("");
    int at = str_find(authority, "@");
    return at > 0 ? str_n(authority.p, (size_t)at) : STR("");
}

int place_check(const char *url, struct err *err)
{
    struct str all = str_of(url), scheme = scheme_of(all);

    if (!str_eq(scheme, "postgres://") && !str_eq(scheme, "postgresql://"))
        return err_set(err, -EINVAL,
                       "store: it must be the address of a PostgreSQL server: postgres://USER@HOST/DATABASE");
    if (str_find(user_of(all), ":") >= 0 || str_find(all, "password=") >= 0)
        return err_set(err, -EINVAL,
                       "store: a password does not belong into the address, where others read it: put it into a file "
                       "for store_password_file, or into ~/.pgpass");
    return 0;
}

/* Reads the password, escaped for a URL. */
static int read_password(const char *path, struct buf *out, struct err *err)
{
    AUTO_BUF text = {0};
    int r = file_read_secret(path, &text, err);

    if (r < 0)
        return err_prefix(err, r, "store_password_file");
    for (size_t i = 0; i < text.len; i++)
        buf_addf(out, "%%%02X", (unsigned char)text.p[i]);
    return out->err ? err_set(err, out->err, "store_password_file: the password is too long") : 0;
}

static void add_option(struct buf *out, const char *url, const char *name, const char *value)
{
    AUTO_FREE char *key = mem_fmt("%s=", name);

    if (!out->err && !strstr(url, key))
        buf_addf(out, "%c%s%s", strchr(out->p, '?') ? '&' : '?', key, value);
}

char *place_of(const char *url, const char *password_file, struct err *err)
{
    AUTO_BUF password = BUF_INIT(3 * PASSWORD_MAX + 1), out = BUF_INIT(PLACE_MAX);
    struct str all = str_of(url), scheme = scheme_of(all), user = user_of(all);
    int r = place_check(url, err);

    if (r == 0 && password_file)
        r = read_password(password_file, &password, err);
    if (r < 0)
        return NULL;
    struct str rest = str_drop(all, scheme.len + user.len);
    if (password.len)
        buf_addf(&out, "%.*s%.*s:%s%s%.*s", STR_ARG(scheme), STR_ARG(user), password.p,
                 str_starts(rest, "@") ? "" : "@", STR_ARG(rest));
    else
        buf_addstr(&out, all);
    add_option(&out, url, "target_session_attrs", "read-write"); /* of several servers use the primary */
    if (out.err) {
        err_set(err, -ENAMETOOLONG, "store: the address is too long");
        return NULL;
    }
    return mem_str(buf_str(&out).p);
}

/* The value of this URL option, else of this environment variable; "" if neither. */
static struct str option_of(struct str query, const char *name, const char *variable)
{
    struct str option, key;
    const char *set = getenv(variable);

    while (str_cut(&query, '&', &option))
        if (str_cut(&option, '=', &key) && str_eq(key, name))
            return option;
    return str_of(set ? set : "");
}

bool place_is_open(const char *place, char ret[SECRET_HOST_MAX])
{
    static const char *const enough[] = {"require", "verify-ca", "verify-full"};
    struct str all = str_of(place), rest = str_drop(all, scheme_of(all).len + user_of(all).len), path, hosts, host;

    str_skip(&rest, "@");
    str_cut(&rest, '?', &path);
    str_cut(&path, '/', &hosts);
    if (!hosts.len)
        hosts = option_of(rest, "host", "PGHOST");
    struct str mode = option_of(rest, "sslmode", "PGSSLMODE");
    if (ANY(ARRAY_LEN(enough), i, str_eq(mode, enough[i])))
        return false;
    while (str_cut(&hosts, ',', &host))
        if (!secret_host_is_local(host)) {
            snprintf(ret, SECRET_HOST_MAX, "%.*s", STR_ARG(secret_host(host)));
            return true;
        }
    return false;
}

char *place_for_hub(const char *place, int64_t hub)
{
    return mem_fmt("%s%capplication_name=muster-hub-%lld", place, strchr(place, '?') ? '&' : '?', (long long)hub);
}
