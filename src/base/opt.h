/*
 * opt.h: an option is one line of a table. Flags, environment, env files, YAML, --help, man pages and `config show`
 * loop over it. An option named "rule.util" is --rule-util, MUSTER_RULE_UTIL, and rule: {util: ...} in muster.yaml.
 * Order of weight: flag, environment, file, default.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

enum opt_type {
    OPT_BOOL,     /* bool; the flag takes no argument, --no-NAME clears it */
    OPT_INT,      /* int64_t, min..max */
    OPT_STR,      /* char *, owned; NULL when not set, never "" */
    OPT_PATH,     /* char *, owned */
    OPT_SECRET,   /* char *, owned; never printed */
    OPT_DURATION, /* int64_t milliseconds, min..max in ms */
    OPT_BYTES,    /* int64_t */
    OPT_PERCENT,  /* int64_t in 0.01 %: "5" or "5%" is 500 */
    OPT_CHOICE,   /* int, index into choices */
    OPT_LIST,     /* struct opt_list: repeated flag, comma list in env, sequence in YAML */
    OPT_SECTION,  /* struct opt_section: keys or a list in YAML that its owner reads; no flag, no environment */
};

struct opt_list {
    char **v; /* NULL-ended; NULL: none */
    size_t n;
};

/* A part of muster.yaml as it was written. Its owner reads it with parse/ytree.h, from line `line` of path. */
struct opt_section {
    char *text, *path; /* NULL if unset */
    uint32_t line;     /* lines before it */
};

struct opt {
    const char *name; /* NULL ends the table */
    char letter;      /* 0: none */
    enum opt_type type;
    size_t offset;
    const char *def;          /* text form; NULL: empty, 0 or false */
    const char *default_text; /* text that --help shows instead of def; "": nothing */
    const char *arg;          /* name of the value in --help */
    const char *help;
    int64_t min, max;           /* both 0: no limit */
    const char *const *choices; /* NULL-terminated */
    bool hidden;                /* not in --help */
    bool fixed;                 /* a reload of the settings does not change it */
    bool no_file;               /* makes no sense in a file: refused there */
    bool secret;                /* a section that may hold secrets: never printed */
    bool blanks;                /* a list whose items may hold commas: separated by spaces where it is one text */
    const char *verbs;          /* of a command with verbs: those that use it, e.g. "new list"; NULL: all */
    bool verb;                  /* the option is a verb itself: muster book --list */
    bool url; /* a text or a list of addresses, which may hold secrets: shown without (base/secret.h) */
};

#define OPT(strct, field, let, typ, dflt, argname, text, ...)                                                          \
    {                                                                                                                  \
        .name = #field, .letter = (let), .type = (typ), .offset = offsetof(struct strct, field), .def = (dflt),        \
        .arg = (argname), .help = (text), __VA_ARGS__                                                                  \
    }
/* As OPT, for a name that is not the field's. */
#define OPTN(strct, nm, field, let, typ, dflt, argname, text, ...)                                                     \
    {                                                                                                                  \
        .name = (nm), .letter = (let), .type = (typ), .offset = offsetof(struct strct, field), .def = (dflt),          \
        .arg = (argname), .help = (text), __VA_ARGS__                                                                  \
    }

/* The texts of --help and the man page of one program or subcommand. */
struct opt_cmd {
    const char *name;     /* "muster ls" */
    const char *summary;  /* one line */
    const char *args;     /* "[FILTER]", or NULL */
    const char *about;    /* paragraphs, or NULL */
    const char *examples; /* lines "command  # what it does", or NULL */
    const struct opt *opts;
    const char *verb; /* what it does without one of its verbs, e.g. "list"; NULL: it needs one, or has none */
    bool leads;       /* flags end at the first operand: the rest is another program's command line */
    bool file;        /* a YAML file is read, too; without args there are no operands */
    size_t conf_size; /* of the struct that opts fill; 0: it reads its arguments itself */
    const int *no;    /* errors that mean a negative result, 0 at the end; NULL: none */
};

void opt_defaults(const struct opt *opts, void *conf);
void opt_fini(const struct opt *opts, void *conf);
int opt_set(const struct opt *o, void *conf, struct str value, struct err *err); /* replaces; lists append */
const struct opt *opt_find(const struct opt *opts, struct str name); /* by name; '-', '_' and '.' are alike */

int opt_env(const struct opt *opts, void *conf, struct err *err); /* MUSTER_NAME from environ */
int opt_env_file(const struct opt *opts, void *conf, const char *path,
                 struct err *err); /* MUSTER_NAME=value lines; unknown names are errors with a line number */
/*
 * argv[0] is the name of the program or subcommand and is skipped. Reads flags up to the first operand (or "--"). Fills
 * *ret_argi with the index of the first operand. A flag on the command line overrides everything, so call it last.
 * Returns 0, 1 for --help (nothing printed), or -EINVAL with a message in err.
 */
int opt_args(const struct opt *opts, void *conf, int argc, char **argv, int *ret_argi, struct err *err);
/* The value that opt_args (opt_args_mixed if mixed) will read for one option with a value; NULL if it is not given.
 * Reads and changes nothing else. */
const char *opt_args_peek(const struct opt *opts, const char *name, bool mixed, int argc, char **argv);
/* Removes each flag of an option without value and letter from argv, as opt_args_mixed would read it. argv ends with
 * NULL. Returns the new argc. */
int opt_args_drop(const struct opt *opts, const char *name, int argc, char **argv);
/* As opt_args, but operands and flags may mix: operands are moved to the end of argv, in order, up to "--". */
int opt_args_mixed(const struct opt *opts, void *conf, int argc, char **argv, int *ret_argi, struct err *err);

int opt_show(const struct opt *opts, const void *conf,
             struct buf *out); /* YAML that opt_yaml reads back; secrets as "(set)" in a comment */
/* The same for a file that no other user can read: addresses are written with their passwords and tokens. */
int opt_write(const struct opt *opts, const void *conf, struct buf *out);
int opt_help(const struct opt_cmd *cmd, struct buf *out);
int opt_man(const struct opt_cmd *cmd, struct buf *out);   /* roff, section 1 */
int opt_man_keys(const struct opt *opts, struct buf *out); /* roff: a paragraph for each key of the YAML file */

/* The first fixed option that differs between both; NULL if none does. */
const struct opt *opt_fixed_differs(const struct opt *opts, const void *a, const void *b);
bool opt_differ(const struct opt *opts, const char *names, const void *a,
                const void *b); /* true if one of these differs: "name tick" */

/* For callers that walk a table themselves. */
void opt_clear(const struct opt *o, void *conf);                       /* empties a text or a list; keeps other types */
const char *opt_env_name(const struct opt *o, char *out, size_t size); /* "MUSTER_RULE_UTIL" */
#define OPT_FLAG_MAX 100
const char *opt_flag(const struct opt *o, char out[OPT_FLAG_MAX]);    /* "rule-util" */
bool opt_is_on(const struct opt *o);                                  /* a bool that is true by default */
const char *opt_number(const struct opt *o, int64_t v, char out[48]); /* as opt_set reads it: "5m", "40G", "12.5%" */
bool opt_has_max(const struct opt *o);                                /* with min alone there is no upper end */
int opt_env_text(const struct opt *opts, void *conf, struct str text, const char *path, struct err *err);

/* parse/yaml.c, in muster only: libyaml events walked over the table. Unknown keys, wrong types: path:line:column and
 * what was expected. */
int opt_yaml(const struct opt *opts, void *conf, struct str text, const char *path, struct err *err);
