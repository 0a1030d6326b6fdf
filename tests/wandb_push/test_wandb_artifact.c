/* A version of an artifact: its digests (worked out with another program), its requests, and answers that lack things.
 */
#include "wandb_push/artifact.h"

#include <errno.h>

#include "base/mem.h"
#include "test.h"

#define CSV "date,run_id\n2026-05-09,abc\n"

static struct artifact dataset(void)
{
    struct artifact a = {.entity = "geniac-gpu",
                         .project = "gpu-dashboard2",
                         .run = "abcd1234",
                         .type = "dataset",
                         .name = "all_runs_data",
                         .file = "all_runs_data.csv",
                         .bytes = STR(CSV)};
    artifact_init(&a);
    return a;
}

/* Ask for the next request, and answer it. */
static void asks(struct artifact *a, struct wandb_request *q)
{
    struct err err = {0};
    struct wandb_job e = artifact_job(a);
    *q = (struct wandb_request){0};
    assert_int_equal(e.next(e.self, q, &err), 1);
}

static int answer(struct artifact *a, const char *json, struct err *err)
{
    struct wandb_job e = artifact_job(a);
    struct wandb_answer got = {.status = 200, .data = json ? json_loads(json, 0, NULL) : NULL};
    int r = e.take(e.self, &got, err);
    json_decref(got.data);
    return r;
}

static bool has(struct str text, const char *what)
{
    if (str_find(text, what) < 0)
        print_message("'%.*s' lacks '%s'\n", STR_ARG(text), what);
    return str_find(text, what) >= 0;
}

static void digests_are_those_of_other_programs(void **unused)
{
    char name[41], hex[SHA256_HEX_SIZE];
    struct artifact a = dataset(), b = dataset();
    (void)unused;
    assert_string_equal(a.md5, "nRBSmUiqnpcZ1qvyKgytzg==");
    assert_string_equal(a.digest, "94661416b9da40e17b3aed57d186f972");
    assert_string_equal(sha256_hex(STR("muster"), hex),
                        "74cd18c016d902f940554dfd07545f219064b27fe6e890e9447f0c9e377903a8");
    assert_string_equal(digest_name(STR("muster"), 40, name), "izymwbc72nfbhmx7a28toqar6tmotndyrpb4f7r9");
    assert_int_equal(strlen(a.client), ARTIFACT_CLIENT_ID);
    assert_string_equal(a.client, b.client); /* a second try has the name of the first */
    assert_string_not_equal(a.client, a.sequence);
    artifact_fini(&a);
    artifact_fini(&b);
}

static void a_version_is_drafted_filled_and_committed_in_this_order(void **unused)
{
    struct artifact a = dataset();
    struct wandb_request q;
    struct err err = {0};
    struct wandb_job e = artifact_job(&a);
    (void)unused;

    asks(&a, &q);
    assert_string_equal(q.op, "CreateArtifact");
    assert_true(has(q.variables, "\"artifactCollectionName\":\"all_runs_data\""));
    assert_true(has(q.variables, "\"alias\":\"latest\""));
    assert_true(has(q.variables, "\"digest\":\"94661416b9da40e17b3aed57d186f972\""));
    assert_true(has(q.variables, "\"enableDigestDeduplication\":true"));
    assert_true(has(q.variables, "\"runName\":\"abcd1234\""));
    assert_int_equal(answer(&a,
                            "{\"createArtifact\":{\"artifact\":{\"id\":\"A1\",\"state\":\"PENDING\","
                            "\"artifactSequence\":{\"latestArtifact\":{\"id\":\"A0\"}}}}}",
                            &err),
                     0);

    asks(&a, &q);
    assert_string_equal(q.op, "CreateArtifactManifest");
    assert_true(has(q.variables, "\"baseArtifactID\":\"A0\""));
    assert_true(has(q.variables, "\"digest\":\"\""));
    assert_true(has(q.variables, "\"includeUpload\":false"));
    assert_int_equal(answer(&a, "{\"createArtifactManifest\":{\"artifactManifest\":{\"id\":\"M1\"}}}", &err), 0);

    asks(&a, &q);
    assert_string_equal(q.op, "CreateArtifactFiles");
    assert_true(has(q.variables, "\"md5\":\"nRBSmUiqnpcZ1qvyKgytzg==\""));
    assert_true(has(q.variables, "\"artifactManifestID\":\"M1\""));
    assert_true(has(q.variables, "\"storageLayout\":\"V2\""));
    assert_int_equal(answer(&a,
                            "{\"createArtifactFiles\":{\"files\":{\"edges\":[{\"node\":{\"uploadUrl\":\"http://s/1\","
                            "\"uploadHeaders\":[\"Content-Md5:x\",null,\"Bad\\nOne:1\"],\"artifact\":{\"id\":\"A1\"}}}"
                            "]}}}",
                            &err),
                     0);

    asks(&a, &q);
    assert_string_equal(q.method, "PUT");
    assert_string_equal(q.url, "http://s/1");
    assert_string_equal(q.headers[0], "Content-Md5:x");
    assert_null(q.headers[1]);
    assert_true(str_eq(q.body, CSV));
    assert_int_equal(answer(&a, NULL, &err), 0);

    asks(&a, &q);
    assert_string_equal(q.op, "CreateArtifactManifest");
    assert_true(has(q.variables, "\"includeUpload\":true"));
    assert_true(has(q.variables, "\"digest\":\"VKqzQgcuSQGOf+orsNUcuw==\""));
    assert_int_equal(answer(&a,
                            "{\"createArtifactManifest\":{\"artifactManifest\":{\"id\":\"M2\",\"file\":{"
                            "\"uploadUrl\":\"http://s/2\",\"uploadHeaders\":null}}}}",
                            &err),
                     0);

    asks(&a, &q);
    assert_string_equal(q.url, "http://s/2");
    assert_null(q.headers[0]);
    assert_true(str_eq(q.body,
                       "{\"version\":1,\"storagePolicy\":\"wandb-storage-policy-v1\",\"storagePolicyConfig\":{"
                       "\"storageLayout\":\"V2\"},\"contents\":{\"all_runs_data.csv\":{\"digest\":"
                       "\"nRBSmUiqnpcZ1qvyKgytzg==\",\"size\":27,\"birthArtifactID\":\"A1\",\"skip_cache\":false}}}"));
    assert_int_equal(answer(&a, NULL, &err), 0);

    asks(&a, &q);
    assert_string_equal(q.op, "CommitArtifact");
    assert_true(str_eq(q.variables, "{\"artifactID\":\"A1\"}"));
    assert_int_equal(answer(&a, "{\"commitArtifact\":{\"artifact\":{\"id\":\"A1\"}}}", &err), 0);
    assert_int_equal(e.next(e.self, &q, &err), 0);
    assert_false(a.there);
    artifact_fini(&a);
}

static void what_is_there_is_not_sent_again(void **unused)
{
    struct artifact a = dataset();
    struct wandb_request q;
    struct err err = {0};
    struct wandb_job e = artifact_job(&a);
    (void)unused;
    asks(&a, &q);
    assert_int_equal(answer(&a, "{\"createArtifact\":{\"artifact\":{\"id\":\"A1\",\"state\":\"COMMITTED\"}}}", &err),
                     0);
    assert_true(a.there);
    assert_int_equal(e.next(e.self, &q, &err), 0);
    artifact_fini(&a);
}

static void a_version_nobody_read_is_not_overwritten(void **unused)
{
    static const struct {
        const char *newest, *base;
        int want;
    } cases[] = {{NULL, "\"A0\"", 0},     {"A0", "\"A0\"", 0},       {"", "null", 0},
                 {"", "\"A1\"", 0}, /* its own draft */
                 {"", "\"A0\"", -ESTALE}, {"A0", "\"A9\"", -ESTALE}, {"A0", "null", -ESTALE}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct artifact a = dataset();
        struct err err = {0};
        char text[256];
        a.newest = cases[i].newest;
        snprintf(text, sizeof(text),
                 "{\"createArtifact\":{\"artifact\":{\"id\":\"A1\",\"state\":\"PENDING\",\"artifactSequence\":{"
                 "\"latestArtifact\":{\"id\":%s}}}}}",
                 cases[i].base);
        print_message("%zu\n", i);
        assert_int_equal(answer(&a, text, &err), cases[i].want);
        artifact_fini(&a);
    }
}

static void bytes_the_server_has_are_not_sent_again(void **unused)
{
    struct artifact a = dataset();
    struct wandb_request q;
    struct err err = {0};
    (void)unused;
    assert_int_equal(answer(&a, "{\"createArtifact\":{\"artifact\":{\"id\":\"A1\",\"state\":\"PENDING\"}}}", &err), 0);
    assert_int_equal(answer(&a, "{\"createArtifactManifest\":{\"artifactManifest\":{\"id\":\"M1\"}}}", &err), 0);
    assert_int_equal(answer(&a,
                            "{\"createArtifactFiles\":{\"files\":{\"edges\":[{\"node\":{\"uploadUrl\":null,"
                            "\"artifact\":{\"id\":"
                            "\"A7\"}}}]}}}",
                            &err),
                     0);
    asks(&a, &q);
    assert_string_equal(q.op, "CreateArtifactManifest");
    assert_string_equal(a.birth, "A7");
    artifact_fini(&a);
}

static void answers_that_lack_something_are_errors(void **unused)
{
    static const struct {
        enum artifact_step step;
        const char *json;
    } cases[] = {
        {ARTIFACT_CREATE, "{}"},
        {ARTIFACT_CREATE, "{\"createArtifact\":null}"},
        {ARTIFACT_CREATE, "{\"createArtifact\":{\"artifact\":{\"id\":7}}}"},
        {ARTIFACT_MANIFEST, "{\"createArtifactManifest\":{\"artifactManifest\":null}}"},
        {ARTIFACT_FILE, "{\"createArtifactFiles\":{\"files\":{\"edges\":[]}}}"},
        {ARTIFACT_FILE, "{\"createArtifactFiles\":[]}"},
        {ARTIFACT_MANIFEST_FILE, "{\"createArtifactManifest\":{\"artifactManifest\":{\"id\":\"M\",\"file\":{}}}}"},
        {ARTIFACT_COMMIT, "{\"commitArtifact\":{}}"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct artifact a = dataset();
        struct err err = {0};
        a.step = cases[i].step;
        a.id = mem_str("A1");
        print_message("%s\n", cases[i].json);
        assert_int_equal(answer(&a, cases[i].json, &err), -EBADMSG);
        assert_non_null(strstr(err.msg, "all_runs_data"));
        artifact_fini(&a);
    }
}

TESTS(cmocka_unit_test(digests_are_those_of_other_programs),
      cmocka_unit_test(a_version_is_drafted_filled_and_committed_in_this_order),
      cmocka_unit_test(what_is_there_is_not_sent_again), cmocka_unit_test(a_version_nobody_read_is_not_overwritten),
      cmocka_unit_test(bytes_the_server_has_are_not_sent_again),
      cmocka_unit_test(answers_that_lack_something_are_errors))
