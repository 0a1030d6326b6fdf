// @ts-nocheck: values have the types that modules give them
/* words.ja.js: the sentences of logging in, in Japanese; docs/japanese.md has the words that are used throughout. */

export const say = {
    loggedIn: "ログインしています",
    asWhom: (person, role) => `${person ?? "名前なし"}、ロール: ${role}`,
    logOut: "ログアウト",
    logOutAll: "すべてログアウト",
    logOutMeans: "このブラウザーのセッションを終了します。「すべて」ではほかのブラウザーのセッションも終了します。",
    logIn: "ログイン",
    readOpen: "このハブの閲覧にログインは不要です。",
    readToken: "このハブの閲覧にはトークンが必要です。",
    token: "トークン",
    oneMoment: "お待ちください",
    aboutTokens: (member, admin, reader) => ["トークンはハブで作成します: ", member, "、", admin, "、壁掛け画面用は ", reader, "。ブラウザーにはトークンではなく Cookie だけが残ります。"],
};
