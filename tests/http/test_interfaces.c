/* Interfaces as /sys/class/net has them: which of them lead to other machines. */
#include "test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "http/interfaces.h"

/* What each has: hardware, a bridge, and interfaces below it. */
static const char *const made[] = {"eth0",
                                   "eth0/device",
                                   "docker0",
                                   "docker0/bridge",
                                   "docker0/lower_veth1",
                                   "veth1",
                                   "bond0",
                                   "bond0/lower_eth0",
                                   "br0",
                                   "br0/bridge",
                                   "br0/lower_bond0",
                                   "virbr0",
                                   "virbr0/bridge",
                                   "wg0"};

static void those_of_containers_lead_nowhere(void **unused)
{
    static const struct {
        const char *name;
        bool outside, contained;
    } cases[] = {{"eth0", true, true},     {"bond0", true, true},  {"br0", true, true}, {"docker0", false, false},
                 {"virbr0", false, false}, {"veth1", true, false}, {"wg0", true, false}};
    char folder[] = "/tmp/muster-interfaces-XXXXXX", path[128];
    (void)unused;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(interface_leads_out(folder, cases[i].name, false), cases[i].outside);
        assert_int_equal(interface_leads_out(folder, cases[i].name, true), cases[i].contained);
    }
    for (size_t i = sizeof(made) / sizeof(made[0]); i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        rmdir(path);
    }
    rmdir(folder);
}

static void loopback_is_ours_and_leads_nowhere(void **unused)
{
    (void)unused;
    assert_true(interfaces_have("127.0.0.1"));
    assert_false(interfaces_reach("127.0.0.1"));
    assert_false(interfaces_have("198.51.100.9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_of_containers_lead_nowhere),
                                       cmocka_unit_test(loopback_is_ours_and_leads_nowhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
