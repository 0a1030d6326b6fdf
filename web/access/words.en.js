// @ts-nocheck: values have the types that modules give them
/* words.en.js: the sentences of logging in, in English. */

export const say = {
    loggedIn: "You are logged in",
    asWhom: (person, role) => `as ${person ?? "a token without a user"}, role ${role}.`,
    logOut: "Log out",
    logOutAll: "Log out everywhere",
    logOutMeans: "This ends the session of this browser on the hub; “everywhere” also ends the sessions of your other browsers.",
    logIn: "Log in",
    readOpen: "You can view this hub without logging in.",
    readToken: "To view this hub you need a token.",
    token: "Token",
    oneMoment: "loading …",
    aboutTokens: (member, admin, reader) => ["To book GPUs or silence alerts, ask your admin for a token. The admin creates it on the hub: ", member, ", ", admin, ", or ", reader, " for a screen on the wall. This browser stores a cookie, not the token."],
};
