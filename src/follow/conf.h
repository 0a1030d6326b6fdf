/* conf.h: the section `follow` of muster.yaml: a list of hubs, each with a name here and how to reach it. */
#pragma once

#include "base/mem.h"
#include "base/opt.h"
#include "now/sites.h"

struct follow_site {
    const char *name;                       /* letters, digits, '-', '_', '.'; what stands before the slash */
    const char *url;                        /* without a slash at its end */
    const char *page;                       /* where people find its page; url unless told */
    const char *token_file, *ca_file, *pin; /* NULL: none */
};

struct follow_conf {
    size_t n;
    struct follow_site v[SITES_MAX];
    struct arena arena; /* of their text */
};
struct follow_conf *follow_conf_new(void);
void follow_conf_free(struct follow_conf *c);
/* 0, or -EINVAL with "path:line:column: sentence"; c is of no use then. */
int follow_conf_read(struct follow_conf *c, const struct opt_section *section, struct err *err);
bool follow_site_same(const struct follow_site *a, const struct follow_site *b);
