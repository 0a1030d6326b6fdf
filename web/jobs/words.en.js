// @ts-nocheck: values have the types that modules give them
/* words.en.js: the sentences of jobs, in English. */

export const say = {
    job: (what, from, span) => `${what} from ${from}: ${span}`,
    stillRunning: "still running",
    noEnd: "no end reported",
    jobs: "jobs",
    parts: (n) => `${n} ${n === 1 ? "part" : "parts"}`,
    moreJobs: (n) => `and ${n} earlier jobs`,
    tooMany: "too many to show: zoom in",
};
