// @ts-nocheck: values have the types that modules give them
/* words.en.js: the sentences of logging in, in English. */

export const say = {
    loggedIn: "You are logged in",
    asWhom: (person, role) => `as ${person ?? "nobody by name"}, role ${role}.`,
    logOut: "Log out",
    logOutAll: "Log out everywhere",
    logOutMeans: "This browser's session ends on the hub; “everywhere” ends those of your other browsers, too.",
    logIn: "Log in",
    readOpen: "Reading this hub needs no login.",
    readToken: "Reading this hub needs a token.",
    token: "Token",
    oneMoment: "one moment",
    aboutTokens: (member, admin, reader) => ["A token is made on the hub: ", member, ", ", admin, ", or ", reader, " for a screen on the wall. This browser keeps a cookie in its place, never the token."],
};
