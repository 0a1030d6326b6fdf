// @ts-nocheck: values have the types that modules give them
/* words.ja.js: the sentences of jobs, in Japanese; docs/japanese.md has the words that are used throughout. */

export const say = {
    job: (what, from, span) => `${what}、${from} から: ${span}`,
    stillRunning: "実行中",
    noEnd: "終了の報告なし",
    jobs: "ジョブ",
    parts: (n) => `${n} 個の部分`,
    moreJobs: (n) => `ほか、以前のジョブ ${n} 件`,
    tooMany: "一度に表示できません。期間を狭めてください",
};
