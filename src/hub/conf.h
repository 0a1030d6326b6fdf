/* conf.h: the settings of a hub: one table for flags, environment, muster.yaml, --help and the man page. */
#ifndef HUB_CONF_H
#define HUB_CONF_H

#include "base/opt.h"
#include "now/live.h"
#include "relay/files_settings.h"
#include "relay/ssh_settings.h"
#include "usage/count.h"
#include "usage/tariff.h"

enum hub_slurm { SLURM_AUTO, SLURM_ON, SLURM_OFF };
enum hub_read { READ_OPEN, READ_TOKEN };

struct hub_conf {
    char *config; /* which file was read */
    struct opt_list listen;
    char *data, *name;
    bool start_empty;
    struct opt_list names;
    int page_colours;
    bool tls;
    char *tls_cert, *tls_key;
    int read; /* enum hub_read */
    struct opt_list host_names;
    bool show_cmdlines;
    /* state rule: a preset, then what is told alone (NULL: as the preset has it; "off": not asked) */
    char *rule_preset, *rule_util, *rule_mem_util, *rule_held_mem, *rule_graphics_mem, *rule_stale_after,
        *rule_down_after, *rule_hung_after;
    int64_t keep_raw, keep_minute, keep_hour, keep_records, keep_bytes, rotate, commit, interval, watch_interval,
        max_connections, max_per_address, max_streams, max_streams_per_address, max_nodes;
    struct ssh_settings ssh; /* machines without an agent: a relay reads them */
    struct files_settings files;
    char *vesta_token, *vesta_token_file;
    char *proxy_header;
    struct opt_list proxy_from, proxy_admins;
    int bookings_auth; /* enum book_auth */
    int slurm;         /* enum hub_slurm */
    char *bookings_mirror;
    int64_t slurm_every, session;
    char *usage_zone, *usage_currency, *usage_co2;
    struct opt_list usage_zones;
    int usage_split; /* enum usage_split */
    int64_t usage_idle_spell, usage_every, keep_usage;
    struct opt_list usage_price;
    struct opt_section people, teams, projects, companies; /* who is who: docs/people.md */
    struct opt_section alerts;                             /* docs/alerts.md */
    struct opt_section channels, slack;
    struct opt_section reports; /* docs/reports.md */
    char *people_aliases, *people_companies;
    char *wandb_config, *wandb_key_file, *wandb_base_url;
    struct opt_list wandb_schedule, wandb_check; /* times of day */
    bool wandb_push;
    struct opt_list people_unix_groups, people_ignore;
    int log_level, log_format;
    bool demo;
};
extern const struct opt hub_opts[];

/* What no single option can tell: a key has its certificate, the preset is known, thresholds and blocks parse. */
int hub_conf_check(const struct hub_conf *conf, struct err *err);
/* What usage is counted by, and priced. ret is ended with tariff_fini, also on failure. */
void hub_conf_count(const struct hub_conf *conf, const struct state_rule *rule, struct count_rule *ret);
int hub_conf_tariff(const struct hub_conf *conf, struct tariff *ret, struct err *err);
int hub_conf_rule(const struct hub_conf *conf, struct state_rule *ret, struct err *err);
/* The data folder to use: as told, or the usual one. 0 or -errno. */
int hub_conf_data(const struct hub_conf *conf, char *out, size_t size, struct err *err);

#endif
