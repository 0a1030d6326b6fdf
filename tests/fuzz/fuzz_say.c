/* What somebody says to the bot, and what the hub would answer to that: any bytes. No control character is in the
 * answer. The first line is the text, its
 * first letter how it came; the rest is the body of every answer. */
#include <jansson.h>
#include <stdlib.h>

#include "base/mem.h"
#include "shown_text.h"
#include "slack/dialog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_node(void *arg, struct str name)
{
    (void)arg;
    return str_starts(name, "dgx");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_n((const char *)data, size), line;
    static const struct dialog_conf bang = {.prefix = "!",
                                            .keywords = {"HOSTS", "ALL", "ALL_cmd", "", "HELP", "WHERE"}};

    if (!str_line(&rest, &line) || !line.len)
        return 0;
    char how = line.p[0];
    struct dialog_params k = {.text = str_n(line.p + 1, line.len - 1),
                              .way = how & 1 ? DIALOG_TO_US : DIALOG_TALK,
                              .person = how & 2 ? "kim" : NULL,
                              .own_rights = (how & 4) != 0,
                              .conf = how & 8 ? &bang : NULL,
                              .now_ms = 1794700800000ll,
                              .is_node = is_node};
    struct dialog *s = dialog_new(&k);
    if (!s)
        return 0;
    const struct dialog_call *c;
    for (int i = 0; (c = dialog_next_call(s)); i++) {
        if (i == DIALOG_CALLS_MAX || c->target[0] != '/')
            abort();
        dialog_add_reply(s, how & 16 ? 409 : 200, rest);
    }
    const struct dialog_answer *a = dialog_answer(s);
    if (a->blocks[0]) { /* always JSON, and nothing in it that Slack would take for a mention */
        json_t *o = json_loads(a->blocks, 0, NULL);
        if (!json_is_array(o) || json_array_size(o) > 50 || strstr(a->blocks, "<!") || strstr(a->blocks, "<@"))
            abort();
        json_decref(o);
    }
    check_shown("the bot's text", str_of(a->text));
    check_strings("the bot's blocks", str_of(a->blocks));
    for (size_t i = 0; i < a->n_files; i++) {
        check_shown("the name of a file", str_of(a->files[i].name));
        check_shown("the title of a file", str_of(a->files[i].title));
    }
    if (!a->text[0] && !a->n_files && !a->blocks[0])
        abort();
    dialog_free(s);
    return 0;
}
