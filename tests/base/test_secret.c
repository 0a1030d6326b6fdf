/* What lets one in is kept out of process lists, screens and logs. */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"

static void addresses_are_shown_without_what_lets_one_in(void **unused)
{
    static const struct {
        const char *url, *want;
    } cases[] = {
        {"http://hub:8765", NULL},
        {"https://kim:pw@hub:8765/x?a=1#f", "https://***@hub:8765/x?a=1#f"},
        {"https://mst_token@hub", "https://***@hub"},
        {"http://a:b@c@hub/", "http://***@hub/"},
        {"HTTPS://kim:pw@hub", "HTTPS://***@hub"},
        {"socks5://kim:pw@proxy:1080", "socks5://***@proxy:1080"},
        {"ssh://kim@box", NULL},
        {"consul:https://u:p@consul:8501/v1 token_file=/x", "consul:https://***@consul:8501/v1 token_file=/x"},
        {"https://x/y?Token=abc&dc=eu&api_key=z", "https://x/y?Token=***&dc=eu&api_key=***"},
        {"https://x/y?token=&passing", NULL},
        {"https://x/y?token=a#part", "https://x/y?token=***#part"},
        {"https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/***"},
        {"https://discord.com/api/webhooks/1/abc", "https://discord.com/***"},
        {"https://x.webhook.office.com/a?b=c", "https://x.webhook.office.com/***?b=c"},
        {"https://hooks.slack.com/", NULL},
        {"kim:pw@proxy:3128", "***@proxy:3128"},
        {"token@proxy", "***@proxy"},
        {"kim:p,w;x)y'z@proxy/a@b", "***@proxy/a@b"},
        {"proxy:3128", NULL},
        {"@proxy", NULL},
        {"file_sd:/etc/kim@corp/webhooks/x", NULL},
        {"://", NULL},
        {"", NULL},
        {"http://@", NULL},
        {"http://h/@x", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1000);
        print_message("'%s'\n", cases[i].url);
        assert_int_equal(secret_url(&out, str_of(cases[i].url)), cases[i].want != NULL);
        assert_true(str_eq(buf_str(&out), cases[i].want ? cases[i].want : cases[i].url));
    }
}

static void sentences_quote_addresses_without_it(void **unused)
{
    static const struct {
        const char *say, *want;
    } cases[] = {
        {"cannot reach 'http://u:p@hub:1/x': refused; asked https://a@b, and kim:pw@c",
         "cannot reach 'http://***@hub:1/x': refused; asked https://***@b, and kim:pw@c"},
        {"asked https://u:p,w@hub/, then", "asked https://***@hub/, then"},
        {"asked 'https://u:p,w;x)y'z@hub': refused", "asked 'https://***@hub': refused"},
        {"(http://u:p)@h)", "(http://***@h)"},
        {"'http://hub': told kim@x", "'http://hub': told kim@x"},
        {"http://hub,http://u:p@h;http://x/a@b", "http://hub,http://***@h;http://x/a@b"},
        {"http://hub/a,b@c", "http://hub/a,b@c"},
        {"http://", "http://"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1000);
        print_message("%s\n", cases[i].say);
        secret_text(&out, str_of(cases[i].say));
        assert_string_equal(out.p, cases[i].want);
    }
}

static void an_address_without_tls_names_its_host(void **unused)
{
    static const struct {
        const char *url, *host; /* NULL: TLS, or this machine */
    } cases[] = {
        {"http://db:8123/x", "db"},
        {"HTTP://db", "db"},
        {"http://kim:p@w@db:1/a@b", "db"},
        {"http://[fd00::1]:8765", "fd00::1"},
        {"smtp://mail.example.org:587", "mail.example.org"},
        {"https://db:8123", NULL},
        {"smtps://mail", NULL},
        {"http://localhost:8765/x", NULL},
        {"http://127.0.0.1:8765", NULL},
        {"http://[::1]:8765", NULL},
        {"http://kim@LOCALHOST", NULL},
        {"db:8123", NULL},
        {"", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char host[SECRET_HOST_MAX] = "";
        print_message("'%s'\n", cases[i].url);
        assert_int_equal(secret_in_clear(cases[i].url, host), cases[i].host != NULL);
        assert_string_equal(host, cases[i].host ? cases[i].host : "");
    }
}

struct flags {
    char *hub, *token, *token_file;
    bool all;
};
static const struct opt flags_opts[] = {
    OPT(flags, hub, 'u', OPT_STR, NULL, "URL", "", .url = true),
    OPT(flags, token, 't', OPT_SECRET, NULL, "TOKEN", ""),
    OPT(flags, token_file, 0, OPT_PATH, NULL, "FILE", ""),
    OPT(flags, all, 'a', OPT_BOOL, NULL, NULL, ""),
    {0},
};

static void secrets_among_the_arguments_are_overwritten_where_they_stood(void **unused)
{
    static const struct {
        const char *given[8], *seen[8];
    } cases[] = {
        {{"x", "--token=secret", "--all", "y"}, {"x", "--token=******", "--all", "y"}},
        {{"x", "--all", "--token", "secret", "--token-file", "/etc/t"},
         {"x", "--all", "--token", "******", "--token-file", "/etc/t"}},
        {{"x", "-t", "secret"}, {"x", "-t", "******"}},
        {{"x", "-tsecret", "-a"}, {"x", "-t******", "-a"}},
        {{"x", "--hub", "http://hub:1", "--hub=http://u:p@h"}, {"x", "--hub", "http://hub:1", "--hub=************"}},
        {{"x", "--hub", "u:pw@proxy:3128", "--hub", "proxy:3128"},
         {"x", "--hub", "***************", "--hub", "proxy:3128"}},
        {{"x", "--token"}, {"x", "--token"}},
        {{"x", "--token="}, {"x", "--token="}},
        {{"x", "--token-file", "--token", "z"}, {"x", "--token-file", "--token", "z"}}, /* the file's name */
        {{"x", "--", "--token", "z"}, {"x", "--", "--token", "z"}},                     /* another program's */
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char room[8][64], *argv[9] = {0};
        int argc = 0;
        print_message("%zu\n", i);
        for (; argc < 8 && cases[i].given[argc]; argc++) {
            mem_copy_str(room[argc], sizeof(room[argc]), cases[i].given[argc]);
            argv[argc] = room[argc];
        }
        secret_args(flags_opts, argc, argv);
        for (int k = 0; k < argc; k++) {
            assert_string_equal(room[k], cases[i].seen[k]);  /* what ps shows */
            assert_string_equal(argv[k], cases[i].given[k]); /* what the program reads */
        }
    }
}

static void config_show_has_addresses_with_secrets_as_comments(void **unused)
{
    struct urls {
        char *one, *two;
        struct opt_list list, safe;
    } conf = {0};
    static const struct opt opts[] = {
        OPT(urls, one, 0, OPT_STR, "https://u:p@h/x", "URL", "", .url = true),
        OPT(urls, two, 0, OPT_STR, "https://h/x", "URL", "", .url = true),
        OPT(urls, list, 0, OPT_LIST, NULL, "URL", "", .url = true),
        OPT(urls, safe, 0, OPT_LIST, "a", "URL", "", .url = true),
        {0},
    };
    AUTO_BUF out = BUF_INIT(1000);

    (void)unused;
    opt_defaults(opts, &conf);
    assert_int_equal(opt_set(&opts[2], &conf, STR("http://a"), NULL), 0);
    assert_int_equal(opt_set(&opts[2], &conf, STR("http://t@b"), NULL), 0);
    opt_show(opts, &conf, &out);
    assert_string_equal(out.p, "# one: \"https://***@h/x\"\n"
                               "two: \"https://h/x\"\n"
                               "# list: [\"http://a\", \"http://***@b\"]\n"
                               "safe:\n  - \"a\"\n");
    opt_fini(opts, &conf);
}

TESTS(cmocka_unit_test(addresses_are_shown_without_what_lets_one_in),
      cmocka_unit_test(sentences_quote_addresses_without_it), cmocka_unit_test(an_address_without_tls_names_its_host),
      cmocka_unit_test(secrets_among_the_arguments_are_overwritten_where_they_stood),
      cmocka_unit_test(config_show_has_addresses_with_secrets_as_comments))
