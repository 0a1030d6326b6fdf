/*
 * cmd_mail_send.c: `muster mail-send`: sends one mail for the hub: reads the mail from standard input, prints the
 * result as lines (net/smtp.h).
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "net/smtp.h"

static const struct opt mail_send_opts[] = {{0}};
const struct opt_cmd mail_send_help = {
    .name = "muster mail-send",
    .summary = "send one mail, for the hub",
    .about = "Internal: the hub starts it for channels of type mail and passes the mail on standard input.",
    .examples = "muster mail-send <question  # as the hub writes it",
    .opts = mail_send_opts,
};

int cmd_mail_send(int argc, char **argv)
{
    AUTO_BUF in = BUF_INIT(SMTP_ASK_MAX), out = BUF_INIT(65536);
    struct smtp_request_text ask;
    struct smtp_result result;
    struct err err = {0};
    size_t n_to = 0;
    int argi, r = cli_parse(&mail_send_help, NULL, argc, argv, &argi);

    if (r >= 0)
        return r;
    r = buf_read_fd(&in, STDIN_FILENO);
    if (r < 0 || !in.len || smtp_request_read(in.p, in.len, &ask) < 0)
        return cli_fail(&mail_send_help, EXIT_USAGE, "the input is not a mail request");
    if (smtp_send(&ask.k, &result, &err) < 0)
        return cli_fail(&mail_send_help, EXIT_REACH, "%s", err.msg);
    while (ask.to[n_to])
        n_to++;
    smtp_result_write(&out, &result, n_to);
    explicit_bzero(in.p, in.len);
    return fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0 ? EXIT_OK : EXIT_REACH;
}
