/* ssh as a child: its arguments, its words, and its life, with a stand-in that is a shell script.
 * tests/relay/test_relay.py has the real one. */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/ssh.h"

static bool has(const struct ssh_args *a, const char *flag, const char *value)
{
    for (int i = 0; i + 1 < a->n; i++)
        if (strcmp(a->v[i], flag) == 0 && strcmp(a->v[i + 1], value) == 0)
            return true;
    return false;
}

static void arguments_never_ask_and_never_trust(void **unused)
{
    struct ssh_conf conf = {.key = "/k",
                            .jump = "gate",
                            .known_hosts = "/kh",
                            .control_dir = "/run/x",
                            .connect_ms = 9000};
    struct ssh_args a;
    (void)unused;
    assert_int_equal(ssh_args(&conf, &(struct ssh_target){"gpu01", "kim", 2222}, &a, NULL), 0);
    assert_string_equal(a.v[0], "ssh");
    assert_true(has(&a, "-o", "BatchMode=yes") && has(&a, "-o", "StrictHostKeyChecking=yes"));
    assert_false(has(&a, "-o", "StrictHostKeyChecking=accept-new"));
    assert_true(has(&a, "-o", "ConnectTimeout=9") && has(&a, "-o", "ControlPath=/run/x/%C"));
    assert_true(has(&a, "-i", "/k") && has(&a, "-J", "gate") && has(&a, "-l", "kim") && has(&a, "-p", "2222"));
    assert_true(has(&a, "--", "gpu01"));
    assert_string_equal(a.v[a.n - 1], "exec /bin/sh -s");
    assert_null(a.v[a.n]);
    ssh_args_fini(&a);
    conf.accept_new = true; /* never "no": a key that has changed is refused */
    assert_int_equal(ssh_args(&conf, &(struct ssh_target){"gpu01", NULL, 0}, &a, NULL), 0);
    assert_true(has(&a, "-o", "StrictHostKeyChecking=accept-new") && !has(&a, "-o", "StrictHostKeyChecking=yes"));
    ssh_args_fini(&a);
}

static void what_could_be_an_option_or_a_command_is_no_host(void **unused)
{
    static const char *const odd[] = {"", "-oProxyCommand=x", "a b", "a;b", "a$(b)", "a\nb", "`a`", "a|b"};
    struct ssh_args a;
    struct err err = {0};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        assert_int_equal(ssh_args(&(struct ssh_conf){0}, &(struct ssh_target){odd[i], NULL, 0}, &a, &err), -EINVAL);
        assert_int_equal(ssh_args(&(struct ssh_conf){0}, &(struct ssh_target){"h", odd[i], 0}, &a, &err), -EINVAL);
        assert_int_equal(a.n, 0);
    }
}

#define LONG                                                                                                           \
    "0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789"

static void its_words_become_ours(void **unused)
{
    static const struct {
        const char *said;
        int status;
        const char *want;
    } cases[] = {
        {"@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.\n", 255 << 8,
         "ssh: its host key has changed; if that is right: ssh-keygen -R gpu01"},
        {"@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\r\n  remove with:\r\n  ssh-keygen -f \"/k/known\" "
         "-R "
         "\"[127.0.0.1]:2222\"\r\nHost key verification failed.\r\n",
         255 << 8,
         "ssh: its host key has changed; if that is right: ssh-keygen -f \"/k/known\" -R \"[127.0.0.1]:2222\""},
        {"@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\n  ssh-keygen -f \"/" LONG "\" -R \"[h]:2222\"\n",
         255 << 8, "ssh: its host key has changed; if that is right: ssh-keygen -R \"[h]:2222\""},
        {"No ED25519 host key is known for gpu01\nHost key verification failed.\n", 255 << 8,
         "ssh: its host key is not known: --accept-new-keys takes it, or once, as this user, ssh gpu01"},
        {"Warning: Identity file /k/id not accessible: No such file or directory.\nkim@gpu01: Permission denied "
         "(publickey).\n",
         255 << 8, "ssh: there is no key file /k/id"},
        {"Warning: Identity file /" LONG " not accessible: No such file or directory.\nkim@gpu01: Permission denied.\n",
         255 << 8, "ssh: there is no key file /" LONG},
        {"Permissions 0644 for '/k/id' are too open.\nLoad key \"/k/id\": bad permissions\nkim@gpu01: Permission "
         "denied "
         "(publickey).\n",
         255 << 8, "ssh: the key cannot be used: bad permissions: /k/id"},
        {"Warning: Identity file /k/id not accessible: No such file or directory.\nssh: connect to host gpu01 port 22: "
         "Connection refused\n",
         255 << 8, "ssh: gpu01 refuses connections: is sshd running there?"},
        {"kim@gpu01: Permission denied (publickey).\n", 255 << 8,
         "ssh: gpu01 does not let us in: is our key in authorized_keys there?"},
        {"ssh: Could not resolve hostname gpu01: Name or service not known", 255 << 8,
         "ssh: there is no host called gpu01"},
        {"ssh: connect to host gpu01 port 22: Connection refused", 255 << 8,
         "ssh: gpu01 refuses connections: is sshd running there?"},
        {"ssh: connect to host gpu01 port 22: Connection timed out", 255 << 8, "ssh: gpu01 does not answer"},
        {"something\nodd \x1b[31m happened\n\n", 255 << 8, "ssh: odd ?[31m happened"},
        {"", 127 << 8, "ssh could not be started, or there is no /bin/sh on gpu01"},
        {"", 9, "ssh was ended by signal 9"},
        {"", 0, "ssh: the connection to gpu01 ended"},
    };
    char words[160];
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int code =
            ssh_words(str_of(cases[i].said), cases[i].status, &(struct ssh_target){"gpu01", NULL, 0}, false, words);
        assert_string_equal(words, cases[i].want);
        int want = cases[i].status == 9 ? -1 : cases[i].status >> 8;
        assert_int_equal(code, strstr(words, "is not known") ? SSH_KEY_UNKNOWN : want);
    }
}

/* It was told to take keys and did not take this one: telling it again is no advice. */
static void keys_that_are_taken_are_not_advised_again(void **unused)
{
    char words[160];
    (void)unused;
    assert_int_equal(ssh_words(STR("Host key verification failed.\nConnection closed by UNKNOWN port 65535\n"),
                               255 << 8, &(struct ssh_target){"gpu01", NULL, 0}, true, words),
                     255);
    assert_string_equal(words, "ssh: the host key of a host on the way is not known: once, as this user, ssh gpu01");
}

/* ---- its life ---- */

struct slack_event {
    struct event_base *loop;
    struct ssh *ssh;
    size_t lines, longest, stop_after, bytes_after, bytes;
    char last[64], words[160], raw[64];
    int ended, status;
};

static void on_line(void *arg, struct str line)
{
    struct slack_event *h = arg;
    h->lines++;
    h->longest = MAX(h->longest, line.len);
    snprintf(h->last, sizeof(h->last), "%.*s", (int)MIN(line.len, 60u), line.p);
    if (h->lines == h->stop_after) {
        ssh_stop(h->ssh);
        event_base_loopbreak(h->loop);
    }
    if (h->lines == h->bytes_after)
        ssh_bytes(h->ssh);
}

static void on_bytes(void *arg, struct str bytes)
{
    struct slack_event *h = arg;
    for (size_t i = 0; i < bytes.len && h->bytes < sizeof(h->raw) - 1; i++)
        h->raw[h->bytes++] = bytes.p[i];
}

static void on_ended(void *arg, const char *words, int status)
{
    struct slack_event *h = arg;
    h->status = status;
    snprintf(h->words, sizeof(h->words), "%s", words);
    h->ended++;
    event_base_loopbreak(h->loop);
}

static char *stand_in(const char *text)
{
    char *path = mem_str("/tmp/muster-ssh-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    fchmod(fd, 0700);
    close(fd);
    return path;
}

static void run(struct slack_event *h, const char *text, const char *script)
{
    static const struct ssh_calls calls = {on_line, on_bytes, on_ended};
    AUTO_FREE char *path = stand_in(text);
    struct ssh_conf conf = {.program = path};
    h->loop = event_base_new();
    assert_int_equal(ssh_start(&h->ssh, h->loop, &conf, &(struct ssh_target){"gpu01", NULL, 0}, str_of(script), &calls,
                               h, NULL),
                     0);
    event_base_dispatch(h->loop);
    event_base_loop(h->loop, h->ended ? EVLOOP_NONBLOCK : 0); /* stopped: until it is reaped */
    event_base_free(h->loop);
    unlink(path);
}

static void lines_come_whole_and_its_end_is_told_once(void **unused)
{
    struct slack_event h = {0};
    (void)unused;
    run(&h,
        "#!/bin/sh\nIFS= read -r a; printf 'first %s\\nsec' \"$a\"; sleep 0.1; printf 'ond\\n'; echo 'Connection "
        "refused' >&2; exit 255\n",
        "script\n");
    assert_int_equal(h.lines, 2);
    assert_string_equal(h.last, "second");
    assert_int_equal(h.ended, 1);
    assert_string_equal(h.words, "ssh: gpu01 refuses connections: is sshd running there?");
    assert_int_equal(h.status, 255);
}

static void bytes_come_as_they_are_once_asked_for(void **unused)
{
    struct slack_event h = {.bytes_after = 2};
    (void)unused;
    run(&h, "#!/bin/sh\nprintf 'one\\ntwo\\nth\\nr'; sleep 0.05; printf 'ee'; exit 97\n", "");
    assert_int_equal(h.lines, 2);
    assert_string_equal(h.raw, "th\nree");
    assert_int_equal(h.ended, 1);
    assert_int_equal(h.status, 97);
}

static void a_line_without_end_is_cut(void **unused)
{
    struct slack_event h = {0};
    (void)unused;
    run(&h, "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x; echo; echo after\n", "");
    assert_int_equal(h.lines, 2);
    assert_int_equal(h.longest, SSH_LINE_MAX);
    assert_string_equal(h.last, "after");
}

static void one_that_is_stopped_says_nothing_more_and_ends(void **unused)
{
    struct slack_event h = {.stop_after = 3};
    (void)unused;
    run(&h, "#!/bin/sh\ntrap '' TERM\nwhile :; do echo x; done\n", "");
    assert_int_equal(h.lines, 3);
    assert_int_equal(h.ended, 0);
}

TESTS(cmocka_unit_test(arguments_never_ask_and_never_trust),
      cmocka_unit_test(what_could_be_an_option_or_a_command_is_no_host), cmocka_unit_test(its_words_become_ours),
      cmocka_unit_test(keys_that_are_taken_are_not_advised_again),
      cmocka_unit_test(lines_come_whole_and_its_end_is_told_once),
      cmocka_unit_test(bytes_come_as_they_are_once_asked_for), cmocka_unit_test(a_line_without_end_is_cut),
      cmocka_unit_test(one_that_is_stopped_says_nothing_more_and_ends))
