/*
 * opt_def.h: turns the options of a file settings.def into a struct and its table. A line has the name, the member, the
 * type, the default, the value's name in --help, the help text, and other members of struct opt.
 *
 * SETTINGS is the folder the file is in; define it before the include: usage gives struct usage_settings and
 * usage_opts.
 */
#include "base/opt.h"

/* clang-format off */
#ifndef BASE_OPT_DEF_H
#define BASE_OPT_DEF_H

#define OPT_C_BOOL     bool
#define OPT_C_INT      int64_t
#define OPT_C_STR      char *
#define OPT_C_PATH     char *
#define OPT_C_SECRET   char *
#define OPT_C_DURATION int64_t
#define OPT_C_BYTES    int64_t
#define OPT_C_CHOICE   int
#define OPT_C_LIST     struct opt_list
#define OPT_C_SECTION  struct opt_section
#define OPT_MEMBER(name, member, type, ...) OPT_C_##type member;
#define OPT_ROW(strct, nm, member, typ, dflt, argname, text, ...) \
    {.name = nm, .type = OPT_##typ, .offset = offsetof(struct strct, member), .def = dflt, .arg = argname, .help = text, __VA_ARGS__},

#define OPT_FILE_(path) #path
#define OPT_FILE(path)  OPT_FILE_(path)
#define OPT_JOIN_(a, b) a##b
#define OPT_JOIN(a, b)  OPT_JOIN_(a, b)

#endif

#ifdef SETTINGS
#define SETTING OPT_MEMBER
struct OPT_JOIN(SETTINGS, _settings) {
#include OPT_FILE(SETTINGS/settings.def)
};
#undef SETTING
#define SETTING(...) OPT_ROW(OPT_JOIN(SETTINGS, _settings), __VA_ARGS__)
static const struct opt OPT_JOIN(SETTINGS, _opts)[] __attribute__((unused)) = {
#include OPT_FILE(SETTINGS/settings.def)
    {0},
};
#undef SETTING
#undef SETTINGS
#endif
