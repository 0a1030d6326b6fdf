/* launch.c: reads where the processes of a run meet, from what a launcher wrote into command lines and names. */
#include "model/launch.h"

#include "base/mem.h"
#include "base/order.h"

#define WORDS_MAX 512 /* maximum words of a command line to check */
#define PORT_MAX  5

enum meets { MEETS_NOT, MEETS_AT, MEETS_PORT };
static const struct {
    const char *flag; /* with - in place of _ */
    enum meets what;
} flags[] = {{"--rdzv-endpoint", MEETS_AT},   {"--master-addr", MEETS_AT},         {"--master-port", MEETS_PORT},
             {"--main-process-ip", MEETS_AT}, {"--main-process-port", MEETS_PORT}, {"--dist-url", MEETS_AT},
             {"--init-method", MEETS_AT},     {"--coordinator-address", MEETS_AT}, {"--dist-init-addr", MEETS_AT}};

static bool is_flag(struct str word, const char *flag)
{
    return word.len == strlen(flag) && !ANY(word.len, i, (word.p[i] == '_' && i > 1 ? '-' : word.p[i]) != flag[i]);
}

static enum meets meets_of(struct str word)
{
    size_t at = FIRST(ARRAY_LEN(flags), i, is_flag(word, flags[i].flag));
    return at < ARRAY_LEN(flags) ? flags[at].what : MEETS_NOT;
}

static bool is_address_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr(".:-_[]", c));
}

/* Another machine cannot mean this one by it. */
static bool is_own(struct str at)
{
    static const char *const own[] = {"localhost", "127.", "0.0.0.0", "[::1]", "::1"};
    return ANY(ARRAY_LEN(own), i, str_starts(at, own[i]));
}

static bool tell(struct str at, struct str port, char ret[LAUNCH_MAX])
{
    (void)(str_skip(&at, "tcp://") || str_skip(&at, "env://"));
    bool plain = at.len && !ANY(at.len, i, !is_address_byte(at.p[i]));
    bool number = port.len <= PORT_MAX && !ANY(port.len, i, port.p[i] < '0' || port.p[i] > '9');
    if (!plain || !number || is_own(at) || at.len + port.len + 2 > LAUNCH_MAX)
        return false;
    memcpy(ret, at.p, at.len);
    ret[at.len] = 0;
    if (port.len) {
        ret[at.len] = ':';
        memcpy(ret + at.len + 1, port.p, port.len);
        ret[at.len + 1 + port.len] = 0;
    }
    return true;
}

bool launch_of_command(struct str cmd, char ret[LAUNCH_MAX])
{
    struct str word, at = {0}, port = {0};
    enum meets next = MEETS_NOT;
    for (int i = 0; i < WORDS_MAX && str_word(&cmd, &word); i++) {
        struct str value = word, flag;
        enum meets what = next;
        next = MEETS_NOT;
        if (what == MEETS_NOT) {
            str_cut(&value, '=', &flag);
            what = meets_of(flag);
            if (what != MEETS_NOT && flag.len == word.len) {
                next = what;
                continue;
            }
        }
        if (what == MEETS_AT && !at.len)
            at = value;
        if (what == MEETS_PORT && !port.len)
            port = value;
    }
    return at.len && tell(at, port, ret);
}

/* The only variables that are read, in order of precedence. */
enum named { NAMED_SLURM, NAMED_ADDRESS, NAMED_PORT, NAMED_PMIX, NAMED_OMPI, NAMED_RUN, NAMED_COUNT };
static const char *const variables[NAMED_COUNT] = {
    [NAMED_SLURM] = "SLURM_JOB_ID=",  [NAMED_ADDRESS] = "MASTER_ADDR=",          [NAMED_PORT] = "MASTER_PORT=",
    [NAMED_PMIX] = "PMIX_NAMESPACE=", [NAMED_OMPI] = "OMPI_MCA_ess_base_jobid=", [NAMED_RUN] = "TORCHELASTIC_RUN_ID=",
};

/* "mpi:…" and the like: an identifier that the launcher made. */
static bool tell_word(const char *kind, struct str word, char ret[LAUNCH_MAX])
{
    size_t head = strlen(kind);
    if (!word.len || head + word.len >= LAUNCH_MAX || ANY(word.len, i, !is_address_byte(word.p[i]) && word.p[i] != '@'))
        return false;
    memcpy(ret, kind, head);
    memcpy(ret + head, word.p, word.len);
    ret[head + word.len] = 0;
    return true;
}

bool launch_of_environ(struct str env, char ret[LAUNCH_MAX])
{
    struct str one, v[NAMED_COUNT] = {0};
    while (str_cut(&env, 0, &one))
        for (size_t i = 0; i < NAMED_COUNT; i++)
            if (str_skip(&one, variables[i])) {
                v[i] = one;
                break;
            }
    uint64_t job;
    bool runs = v[NAMED_RUN].len && !str_eq(v[NAMED_RUN], "none"); /* torchrun's own word for none */
    return (str_uint(v[NAMED_SLURM], &job) && job && tell_word(LAUNCH_SLURM, v[NAMED_SLURM], ret)) ||
           (v[NAMED_ADDRESS].len && tell(v[NAMED_ADDRESS], v[NAMED_PORT], ret)) ||
           tell_word("mpi:", v[NAMED_PMIX], ret) || tell_word("mpi:", v[NAMED_OMPI], ret) ||
           (runs && tell_word("run:", v[NAMED_RUN], ret));
}

static bool cut_number(struct str *s)
{
    size_t n = s->len;
    while (n > 0 && s->p[n - 1] >= '0' && s->p[n - 1] <= '9')
        n--;
    if (n == s->len || n < 2 || s->p[n - 1] != '-')
        return false;
    s->len = n - 1;
    return true;
}

bool launch_of_pod(struct str pod, char ret[LAUNCH_MAX])
{
    static const char *const roles[] = {"-worker", "-master", "-launcher", "-chief", "-ps", "-head"};
    if (ANY(pod.len, i, (uint8_t)pod.p[i] <= ' ') || str_find(pod, "/") <= 0 || !cut_number(&pod))
        return false;
    size_t role = FIRST(ARRAY_LEN(roles), i, str_ends(pod, roles[i]));
    if (role < ARRAY_LEN(roles))
        pod.len -= strlen(roles[role]);
    if (!pod.len || pod.p[pod.len - 1] == '/' || pod.len >= LAUNCH_MAX)
        return false;
    memcpy(ret, pod.p, pod.len);
    ret[pod.len] = 0;
    return true;
}
