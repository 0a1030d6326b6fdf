/* reach.h: the URL at which other machines reach the hub, for the command that adds a node. */
#pragma once

#include <stdbool.h>

struct api;
struct buf;
struct request;

#define OWN_URL_MAX 280 /* only letters, digits and ".-_:[]/": shell scripts contain it */

enum reach {
    REACH_OK,
    REACH_LOOPBACK,  /* it listens on this machine only */
    REACH_CONTAINER, /* no address of this machine is known to be reachable from others */
};
extern const char *const reach_words[];     /* "ok", "loopback", "container" */
extern const char *const reach_sentences[]; /* what to set; for REACH_OK: "" */

/* The setting `address`; else the address of the request (NULL: no request), if others reach that, too; else an address
 * of this machine. ret is "" unless the result is REACH_OK. */
enum reach reach_url(const struct api *a, const struct request *rq, char ret[OWN_URL_MAX]);
/* The URL for the client: the setting, else the address of the request. False: its Host is neither a name of the hub
 * nor an address of this machine. */
bool reach_requested(const struct api *a, const struct request *rq, char ret[OWN_URL_MAX]);
/* "curl -fsS http://hub:8765/install | sh -s -- TOKEN", with the pin of a certificate that the hub made. */
void reach_command(const struct api *a, const char *url, const char *token, struct buf *out);
/* "https://Hub.example:8765" -> "hub.example". False: it is not the address of a hub. */
bool reach_host(const char *address, char ret[OWN_URL_MAX]);
