/* cmd.h: the subcommands. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 could not reach or read something. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "base/opt.h"

enum { EXIT_OK = 0, EXIT_NO = 1, EXIT_USAGE = 2, EXIT_REACH = 3 };

struct cmd {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
    const struct opt_cmd *help;        /* summary, options, examples: --help and the man page */
    bool hidden;
    const struct cmd *verbs; /* NULL, or what may follow it: a table like this one */
};
extern const struct cmd cmds[], wandb_verbs[], vesta_verbs[]; /* end with name NULL */

int cmd_up(int argc, char **argv);
int cmd_hub(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_relay(int argc, char **argv);
int cmd_fetch(int argc, char **argv);
int cmd_render(int argc, char **argv);

int cmd_ls(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_jobs(int argc, char **argv);
int cmd_usage(int argc, char **argv);
int cmd_people(int argc, char **argv);
int cmd_alerts(int argc, char **argv);
int cmd_say(int argc, char **argv);
int cmd_free(int argc, char **argv);
int cmd_wait(int argc, char **argv);
int cmd_idle(int argc, char **argv);
int cmd_book(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_reports(int argc, char **argv);
int cmd_peaks(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_backup(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_wandb(int argc, char **argv);
int cmd_vesta(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_slack_socket(int argc, char **argv);
int cmd_mail_send(int argc, char **argv);
int cmd_man(int argc, char **argv);

extern const struct opt_cmd peaks_help, plot_help, mail_send_help, slack_socket_help;
extern const struct opt_cmd usage_help, people_help, idle_help, free_help, wait_help, alerts_help, say_help, wandb_help,
    vesta_help;
extern const struct opt_cmd up_help, hub_help, agent_help, relay_help, fetch_help, render_help, ls_help, top_help,
    history_help, record_help, jobs_help, book_help, report_help, reports_help, token_help, node_help, config_help,
    doctor_help, simulate_help, man_help, backup_help, restore_help, export_help, import_help, completion_help;

#endif
