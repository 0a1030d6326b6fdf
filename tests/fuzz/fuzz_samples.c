/* A Dask worker's CSV: any bytes. Peaks per job are at most those of the file; a job that is there can be drawn. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "dask/job.h"
#include "dask/peaks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_peaks(const char *path)
{
    struct peaks all = {0}, jobs = {0};
    struct err err = {0};
    static const char *const metrics[] = {"total-mem"};
    if (peaks_of(path, "total-mem", false, NULL, NULL, &all, &err) < 0) {
        assert(err.msg[0]);
        return;
    }
    assert(all.n <= 1);
    assert(peaks_of(path, "total-mem", true, NULL, NULL, &jobs, &err) == 0);
    for (size_t i = 0; i < jobs.n; i++) {
        assert(all.n == 1 && jobs.v[i].n <= all.v[0].n);
        for (size_t k = 0; k < jobs.v[i].n; k++)
            assert(isnan(jobs.v[i].v[k]) || jobs.v[i].v[k] <= all.v[0].v[k]);
    }
    if (jobs.n) {
        struct dask_job j = {0};
        if (job_read(path, jobs.v[0].job, metrics, 1, NULL, NULL, &j, &err) == 0) {
            size_t n = j.n;
            struct box b;
            if (j.metrics[0].gpus && box_of(j.metrics[0].v[0], &n, &b))
                assert(b.low <= b.q1 && b.q1 <= b.median && b.median <= b.q3 && b.q3 <= b.high);
            job_fini(&j);
        }
    }
    peaks_fini(&all);
    peaks_fini(&jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("samples", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_peaks(path);
    close(fd);
    return 0;
}
