/* cmd_me.c: checks whether the hub has a person for our token. */
#include "book/cmd_me.h"

#include <jansson.h>
#include <pwd.h>
#include <unistd.h>

#include "base/buf.h"

int me_at_hub(const struct client_conf *conf, const char *told, char out[BOOKING_PERSON_MAX], struct err *err)
{
    AUTO_BUF raw = {0};
    const struct passwd *pw = getpwuid(getuid());

    out[0] = 0;
    if (told) {
        snprintf(out, BOOKING_PERSON_MAX, "%s", told);
        return 0;
    }
    int r = client_request(conf, "GET", "/api/v1/bookings?device=-", str_of(""), &raw, err);
    if (r < 0)
        return r;
    json_auto_t *o = client_json(buf_str(&raw));
    if (!json_is_string(json_object_get(o, "me")) && pw)
        snprintf(out, BOOKING_PERSON_MAX, "%s", pw->pw_name);
    return 0;
}
