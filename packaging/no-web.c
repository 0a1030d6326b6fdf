/* no-web.c: in place of the page, for `make NOWEB=1`, which needs neither node nor npm. All else is there: the API,
 * text for terminals, the command line. */
#include "http/web.h"

#define HEAD                                                                                                           \
    "<!doctype html>\n<title>muster</title>\n<p>This muster was built without its page (make NOWEB=1).\n"              \
    "<script type=\"application/json\">"
#define TAIL "</script>\n"

struct asset web_assets[] = {{0}};

#define PAGE(language)                                                                                                 \
    {                                                                                                                  \
        language, {HEAD, sizeof(HEAD) - 1}, {TAIL, sizeof(TAIL) - 1},                                                  \
            "Content-Security-Policy: default-src 'none'; base-uri 'none'; frame-ancestors 'none'"                     \
    }

const struct web_page web_pages[WEB_LANGUAGES] = {PAGE("en"), PAGE("ja")};
const char web_document_rules[] =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
