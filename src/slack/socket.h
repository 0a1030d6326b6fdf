/*
 * socket.h: Socket Mode, in a process of its own: what Slack sends over a websocket is never parsed in the hub before
 * it was one whole frame of JSON of bounded length. It knows no token: the hub asks for addresses.
 *
 * Lines on its standard output: {"socket": "want"}: an address, please; "open", "closed" (with "error"), "disabled",
 * "alive" (every 10 s); and each envelope as it came, on one line. On its standard input: {"url": "wss://..."} and
 * {"ack": "envelope_id"}. The end of the input ends it.
 *
 * X1 An envelope is acknowledged when the hub has said so, on the connection it came by, and never before. X2 When
 * Slack says that it will close a connection, another one is open before this one goes. X3 Frames that are no JSON, or
 * are too long, are passed over; the connection stays. X4 Certificates are checked. X5 After a failure 1 to 60 s pass,
 * longer each time, before the next address is asked for.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct socket_conf {
    const char *ca_file; /* NULL: the system's */
    int in_fd, out_fd;
};
int64_t socket_back_off(unsigned *tries); /* ms before the next try: X5, for whoever starts it, too */
int socket_run(const struct socket_conf *conf, struct err *err);

/* "wss://host:port/path?query" taken apart; false: it is no such address. */
struct socket_url {
    char host[256], path[2048]; /* path with the slash before it */
    int port;
};
bool socket_url_parse(struct str url, struct socket_url *ret);
