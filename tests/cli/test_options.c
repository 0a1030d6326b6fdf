/* The option tables of all commands. */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cmd.h"

static const struct opt_cmd *const helps[] = {
#define COMMAND(word, name)                &name##_help,
#define PROGRAM(word, name, hidden, verbs) &name##_help,
#include "cli/commands.def"
};

static size_t conf_size(const struct opt *opts)
{
    size_t size = 0;

    for (const struct opt *o = opts; o->name; o++)
        size = MAX(size, o->offset + sizeof(struct opt_section));
    return size;
}

/* A value that is not the default. */
static const char *value_of(const struct opt *o, char out[48])
{
    int64_t v = opt_has_max(o) ? o->max : o->min + 1;

    if (o->type == OPT_CHOICE)
        return o->choices[1];
    return o->type == OPT_INT || o->type == OPT_DURATION || o->type == OPT_BYTES || o->type == OPT_PERCENT
               ? opt_number(o, v, out)
               : "a-value";
}

static void *parse(const struct opt *opts, const char *flag, const char *value)
{
    char *argv[] = {(char *)"prog", (char *)flag, (char *)value, NULL};
    void *conf = mem_zero(1, conf_size(opts));
    struct err err = {0};
    int argi = 0, argc = value ? 3 : 2;

    opt_defaults(opts, conf);
    if (opt_args_mixed(opts, conf, argc, argv, &argi, &err) != 0)
        fail_msg("%s %s: %s", flag, value ? value : "", err.msg);
    assert_int_equal(argi, argc);
    return conf;
}

static void check_forms(const struct opt *opts, const struct opt *o)
{
    char number[48], name[OPT_FLAG_MAX];
    const char *value = o->type == OPT_BOOL ? NULL : value_of(o, number);
    AUTO_FREE char *letter = mem_fmt("-%c", o->letter), *joined = mem_fmt("-%c%s", o->letter, value ? value : ""),
                   *flag = mem_fmt("--%s", opt_flag(o, name)),
                   *equals = mem_fmt("--%s=%s", opt_flag(o, name), value ? value : "yes");
    const struct {
        const char *flag, *value;
    } forms[] = {{letter, value}, {joined, NULL}, {flag, value}, {equals, NULL}};
    void *none = mem_zero(1, conf_size(opts)), *confs[ARRAY_LEN(forms)];

    opt_defaults(opts, none);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        confs[i] = parse(opts, forms[i].flag, forms[i].value);
        assert_true(opt_differ(opts, o->name, confs[i], none));
        for (const struct opt *other = opts; other->name; other++)
            assert_false(opt_differ(opts, other->name, confs[i], confs[0]));
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        opt_fini(opts, confs[i]);
        free(confs[i]);
    }
    opt_fini(opts, none);
    free(none);
}

static size_t check_table(const struct opt_cmd *help)
{
    size_t n = 0;

    for (const struct opt *o = help->opts; o->name; o++) {
        if (!o->letter)
            continue;
        print_message("%s -%c\n", help->name, o->letter);
        assert_false(ANY((size_t)(o - help->opts), i, help->opts[i].letter == o->letter));
        check_forms(help->opts, o);
        n++;
    }
    return n;
}

static void a_letter_is_the_same_as_its_name_in_every_table(void **unused)
{
    size_t n = 0;
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(helps); i++)
        n += check_table(helps[i]);
    for (const struct cmd *c = wandb_verbs; c->name; c++)
        n += check_table(c->help);
    for (const struct cmd *c = vesta_verbs; c->name; c++)
        n += check_table(c->help);
    assert_true(n > 100);
}

/* An option that is a verb, the verb without a word, or a word of the help line. */
static bool is_verb(const struct opt_cmd *help, struct str word)
{
    const struct opt *o = opt_find(help->opts, word);
    struct str args, one;
    char words[512];

    if ((o && o->verb) || (help->verb && str_eq(word, help->verb)))
        return true;
    mem_copy_str(words, sizeof(words), help->args);
    for (char *c = words; *c; c++)
        if (strchr("|[]", *c))
            *c = ' ';
    for (args = str_of(words); str_word(&args, &one);)
        if (str_eq_str(one, word))
            return true;
    return false;
}

static void options_name_verbs_that_their_command_has(void **unused)
{
    size_t n = 0;
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(helps); i++)
        for (const struct opt *o = helps[i]->opts; o->name; o++) {
            struct str rest = str_of(o->verbs), word;
            if (helps[i] == &free_help) /* has options of wait */
                continue;
            while (str_word(&rest, &word)) {
                print_message("%s --%s: %.*s\n", helps[i]->name, o->name, STR_ARG(word));
                assert_true(is_verb(helps[i], word));
                n++;
            }
        }
    assert_true(n > 50);
}

TESTS(cmocka_unit_test(a_letter_is_the_same_as_its_name_in_every_table),
      cmocka_unit_test(options_name_verbs_that_their_command_has))
