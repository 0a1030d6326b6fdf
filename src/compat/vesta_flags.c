/*
 * vesta_flags.c: reads the flags of gpu_status_server.py as Python's argparse does (whole, or shortened as long as
 * only one flag fits) and writes them as YAML.
 */
#include "compat/vesta_flags.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"

#define NAME_MAX_BYTES 64

/* All of gpu_status_server.py, 1.0.0 and 1.2.5; the file's path is one, too. */
static const char *const server_flags[] = {"BIND_HOST",
                                           "DB_DIR",
                                           "DB_NAME",
                                           "DEBUG",
                                           "DOWN_TH",
                                           "HOST_DOWN_MSG",
                                           "IP",
                                           "KEYWORD_CMD_PREFIX",
                                           "KEYWORD_PRINT_ALL_HOSTS",
                                           "KEYWORD_PRINT_ALL_HOSTS_CMD",
                                           "KEYWORD_PRINT_ALL_HOSTS_DETAIL",
                                           "KEYWORD_PRINT_HELP",
                                           "KEYWORD_PRINT_HOSTS",
                                           "KEYWORD_PRINT_HOST_INFO",
                                           "LOCAL_SETTINGS_YAML_PATH",
                                           "MAIN_PAGE_DESCRIPTION",
                                           "MAIN_PAGE_TITLE",
                                           "PAGE_PER_HOST_NUM",
                                           "PORT_NUM",
                                           "QUIET",
                                           "REGISTER_UPLINK_MSG",
                                           "RE_UPLINK_MSG",
                                           "SAVE_INTERVAL",
                                           "SERVER_INFO_MSG",
                                           "SERVER_NAME",
                                           "SERVER_SLEEP_TIME",
                                           "SERVER_UP_MSG",
                                           "SHEDULE_FUNCTION",
                                           "SLACKBOT_MEMBER_JOINED_CHANNEL_MSG",
                                           "SLACK_BOT_POST_CHANNEL",
                                           "SLACK_BOT_SLEEP_TIME",
                                           "SLACK_BOT_TOKEN",
                                           "SLACK_WEBHOOK",
                                           "SORT_BY",
                                           "SSL_CERT",
                                           "SSL_KEY",
                                           "TABLE_PAGE_DESCRIPTION",
                                           "TABLE_PAGE_TITLE",
                                           "TERM_WIDTH",
                                           "TIMESTAMP_FORMAT",
                                           "TOKEN",
                                           "VALID_NETWORK",
                                           "WS_RECEIVE_TIMEOUT"};

/* "--port_num" and "--port" are the key PORT_NUM. 0; -ENOENT: not found; -ENOTUNIQ: several start with it. */
static int find_key(struct str flag, char ret[NAME_MAX_BYTES])
{
    char name[NAME_MAX_BYTES];
    size_t n = 0, found = 0;

    while (flag.len && *flag.p == '-')
        str_skip(&flag, "-");
    if (!flag.len || flag.len >= sizeof(name))
        return -ENOENT;
    for (; n < flag.len; n++)
        name[n] = (char)toupper((unsigned char)flag.p[n]);
    name[n] = 0;
    for (size_t i = 0; i < ARRAY_LEN(server_flags); i++) {
        if (!str_starts(str_of(server_flags[i]), name))
            continue;
        found++;
        mem_copy_str(ret, NAME_MAX_BYTES, server_flags[i]);
        if (strcmp(server_flags[i], name) == 0) {
            found = 1;
            break;
        }
    }
    if (found == 1 && strcmp(ret, "SHEDULE_FUNCTION") == 0) /* so it is written there */
        mem_copy_str(ret, NAME_MAX_BYTES, "SCHEDULE_FUNCTION");
    return found == 1 ? 0 : found ? -ENOTUNIQ : -ENOENT;
}

int vesta_flags_read(int argc, char **argv, struct buf *yaml, const char **file, struct err *err)
{
    for (int i = 0; i < argc;) {
        struct str flag = str_of(argv[i++]), given = {0};
        char name[NAME_MAX_BYTES];
        bool dashed = flag.len && *flag.p == '-';
        const char *equals = dashed ? memchr(flag.p, '=', flag.len) : NULL;
        if (!dashed && *file)
            return err_set(err, -EINVAL, "expected one FILE: vesta's local_settings.yaml");
        if (!dashed) {
            *file = flag.p;
            continue;
        }
        if (equals) {
            given = str_of(equals + 1);
            flag.len = (size_t)(equals - flag.p);
        }
        int r = find_key(flag, name);
        if (r < 0)
            return err_set(err, -EINVAL,
                           r == -ENOENT ? "'%.*s' is not a flag of gpu_status_server.py"
                                        : "several flags of gpu_status_server.py start with '%.*s'; write one whole",
                           (int)MIN(flag.len, 60u), flag.p);
        bool alone = strcmp(name, "QUIET") == 0 || strcmp(name, "DEBUG") == 0;
        bool list = strcmp(name, "SCHEDULE_FUNCTION") == 0;
        if (!alone && !list && !given.p && i == argc)
            return err_set(err, -EINVAL, "'%.*s' needs a value", STR_ARG(flag));
        if (!alone && !list && !given.p)
            given = str_of(argv[i++]);
        if (strcmp(name, "LOCAL_SETTINGS_YAML_PATH") == 0) {
            *file = given.p;
            continue;
        }
        buf_addf(yaml, "%s: %s", name, alone ? "true" : list ? "[" : "");
        if (given.p)
            json_escape(yaml, given);
        for (bool more = given.p; list && i < argc && argv[i][0] != '-'; more = true) {
            buf_adds(yaml, more ? ", " : "");
            json_escape(yaml, str_of(argv[i++]));
        }
        buf_adds(yaml, list ? "]\n" : "\n");
    }
    return 0;
}
