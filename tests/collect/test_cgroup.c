/* test_cgroup.c: the shapes of /proc/PID/cgroup that runtimes and schedulers make. */
#include "base/mem.h"
#include "collect/proc_info.h"

#include "test.h"

#define ID          "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2         "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID         "8c2b5a1e-4f6d-4c7b-9a3e-1d2f3a4b5c6d"
#define UNDERSCORED "8c2b5a1e_4f6d_4c7b_9a3e_1d2f3a4b5c6d"

static void a_cgroup_path_tells_container_pod_and_job(void **unused)
{
    static const struct {
        const char *text, *runtime, *container, *pod;
        int64_t job;
    } cases[] = {
        /* docker */
        {"12:memory:/docker/" ID "\n", "docker", ID, "", 0},
        {"0::/system.slice/docker-" ID ".scope\n", "docker", ID, "", 0},
        {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope\n", "docker", ID, "", 0},
        /* containerd */
        {"4:memory:/default/" ID "\n", "nerdctl", ID, "", 0},
        {"0::/system.slice/nerdctl-" ID ".scope\n", "nerdctl", ID, "", 0},
        {"0::/system.slice/containerd.service\n", "", "", "", 0},
        /* podman, and its monitor, which is not the workload */
        {"4:memory:/libpod_parent/libpod-" ID "\n", "podman", ID, "", 0},
        {"0::/machine.slice/libpod-" ID ".scope\n", "podman", ID, "", 0},
        {"0::/machine.slice/libpod-" ID ".scope/container\n", "podman", ID, "", 0},
        {"0::/user.slice/user-7.slice/user@7.service/user.slice/libpod-" ID ".scope\n", "podman", ID, "", 0},
        {"0::/machine.slice/libpod-conmon-" ID ".scope\n", "", "", "", 0},
        /* Kubernetes */
        {"4:memory:/kubepods/burstable/pod" UID "/" ID "\n", "containerd", ID, UID, 0},
        {"4:memory:/kubepods/pod" UID "/" ID "\n", "containerd", ID, UID, 0},
        {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UNDERSCORED ".slice/cri-containerd-" ID
         ".scope\n",
         "containerd", ID, UID, 0},
        {"0::/kubepods.slice/kubepods-pod" UNDERSCORED ".slice/crio-" ID ".scope\n", "crio", ID, UID, 0},
        {"0::/kubepods.slice/kubepods-pod" UNDERSCORED ".slice/crio-conmon-" ID ".scope\n", "", "", UID, 0},
        {"4:memory:/kubepods/besteffort/pod" UID "/crio-" ID "\n", "crio", ID, UID, 0},
        {"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UNDERSCORED ".slice/docker-" ID
         ".scope\n",
         "docker", ID, UID, 0},
        {"4:memory:/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID "\n", "containerd", ID,
         "0123456789abcdef0123456789abcdef", 0},
        /* nested: the innermost is the process's own */
        {"0::/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UNDERSCORED
         ".slice/cri-containerd-" ID ".scope\n",
         "containerd", ID, UID, 0},
        {"0::/docker/" ID2 "/docker/" ID "\n", "docker", ID, "", 0},
        /* Slurm */
        {"9:memory:/slurm/uid_1000/job_4711/step_batch/task_0\n", "", "", "", 4711},
        {"9:memory:/slurm_node7/uid_1000/job_12/step_extern\n", "", "", "", 12},
        {"0::/system.slice/slurmstepd.scope/job_815/step_0/user/task_3\n", "", "", "", 815},
        {"0::/system.slice/node7_slurmstepd.scope/job_815/step_interactive\n", "", "", "", 815},
        {"0::/user.slice/job_9\n", "", "", "", 0},
        {"0::/slurm/job_0\n", "", "", "", 0},
        {"0::/slurm/job_99999999999999999999\n", "", "", "", 0},
        /* by name */
        {"0::/lxc.payload.web-1/init.scope\n", "lxc", "web-1", "", 0},
        {"0::/machine.slice/systemd-nspawn@lab.service/payload\n", "nspawn", "lab", "", 0},
        {"0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", "", "", "", 0},
        /* plain */
        {"0::/user.slice/user-1000.slice/session-4.scope\n", "", "", "", 0},
        {"0::/\n", "", "", "", 0},
        {"0::/../../docker-" ID ".scope\n", "docker", ID, "", 0},
        /* which line */
        {"3:pids:/a\n2:name=systemd:/system.slice/docker-" ID ".scope\n", "", "", "", 0},
        {"2:name=systemd:/system.slice/docker-" ID ".scope\n", "docker", ID, "", 0},
        {"5:cpu,memory:/docker/" ID "\n0::/\n", "docker", ID, "", 0},
        {"5:memory:/docker/" ID2 "\n0::/docker/" ID "\n", "docker", ID, "", 0},
        {"5:cpuset:/docker/" ID "\n", "", "", "", 0},
        /* not an id */
        {"0::/docker/" ID "a\n", "", "", "", 0},
        {"0::/docker-0123.scope\n", "", "", "", 0},
        {"0::/docker-" ID "a.scope\n", "", "", "", 0},
        {"0::/podcast\n", "", "", "", 0},
        {"", "", "", "", 0},
        {"nonsense\n::\n:\n", "", "", "", 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_fact p;
        memset(&p, 'x', sizeof(p)); /* what was there before must not show through */
        print_message("%s\n", cases[i].text);
        cgroup_parse(str_of(cases[i].text), &p);
        assert_string_equal(p.runtime, cases[i].runtime);
        assert_string_equal(p.container, cases[i].container);
        assert_string_equal(p.pod, cases[i].pod);
        assert_int_equal(p.slurm_job, cases[i].job);
    }
}

static void a_sluid_is_found_below_the_step_scope_alone(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"0::/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0\n", "s5K1KKYAYG5D00"},
        {"0::/system.slice/node7_slurmstepd.scope/s5K1KKYAYG5D00/step_batch\n", "s5K1KKYAYG5D00"},
        {"0::/system.slice/slurmstepd.scope/job_815/step_0\n", NULL},
        {"0::/system.slice/slurmstepd.scope/s5K1KKYAYG5D0/step_0\n", NULL},
        {"0::/system.slice/slurmstepd.scope/s5K1KKYAYG5D0U/step_0\n", NULL},
        {"0::/user.slice/s5K1KKYAYG5D00/step_0\n", NULL},
        {"0::/system.slice/slurmstepd.scope\n", NULL},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str got = STR("");
        print_message("%s", cases[i].text);
        assert_int_equal(cgroup_sluid(str_of(cases[i].text), &got), cases[i].want != NULL);
        assert_true(!cases[i].want || str_eq(got, cases[i].want));
    }
}

TESTS(cmocka_unit_test(a_sluid_is_found_below_the_step_scope_alone),
      cmocka_unit_test(a_cgroup_path_tells_container_pod_and_job))
