/* web.h: the files of web/, as tools/build-web put them into the binary: each whole and gzipped. */
#pragma once

#include "http/cache.h"

struct asset {
    const char *path; /* "now/view-1a2b3c4d5e.js": below /assets/ */
    const char *type; /* of its content */
    struct blob blob; /* bytes of the binary; the table's own reference keeps them from being freed */
};
extern struct asset web_assets[]; /* by path; ends with path NULL */
/* index.html of each language in two parts; between them belong the facts. rules is the header line that goes with it.
 */
#define WEB_LANGUAGES 2
struct web_page {
    const char *language; /* "ja" */
    struct str head, tail;
    const char *rules;
};
extern const struct web_page web_pages[WEB_LANGUAGES]; /* the first is for who reads none of the others */
/* The same for other documents of ours, as reports in HTML and charts in SVG, which have their styles and pictures in
 * them. */
extern const char web_document_rules[];
