/* alert.c: starts a run at W&B, sends the alert under it, and ends it. */
#include "wandb_push/alert.h"

#include <errno.h>

#include "base/json.h"
#include "wandb_push/logged.h"

#define TEXT_MAX (1u << 20)

static const char notify[] =
    "mutation NotifyScriptableRunAlert($entityName:String!,$projectName:String!,$runName:String!,$title:String!,"
    "$text:String!,$severity:AlertSeverity=INFO,$waitDuration:Duration){notifyScriptableRunAlert(input:{"
    "entityName:$entityName,projectName:$projectName,runName:$runName,title:$title,text:$text,severity:$severity,"
    "waitDuration:$waitDuration}){success}}";

static int notify_send(struct wandb *w, const struct logged *run, const struct wandb_alert *a, struct err *err)
{
    AUTO_BUF variables = BUF_INIT(TEXT_MAX);
    json_auto_t *data = NULL;

    json_print(&variables, "{'entityName':%s,'projectName':%s,'runName':%s,'title':%s,'text':", run->entity,
               run->project, run->id, a->title);
    json_escape(&variables, str_trim(a->text));
    json_print(&variables, ",'severity':%s}", a->warn ? "WARN" : "INFO");
    if (variables.err)
        return err_set(err, variables.err, "the text of the alert is too long");
    struct wandb_request q = {.op = "NotifyScriptableRunAlert", .query = notify, .variables = buf_str(&variables)};
    int r = wandb_wait(w, &q, &data, NULL, err);
    if (r == 0 && !json_is_true(answer_at(data, "notifyScriptableRunAlert.success")))
        r = err_set(err, -EPROTO, "W&B did not take the alert");
    return r;
}

int wandb_alert_send(struct wandb *w, const struct wandb_config *config, const struct wandb_alert *a, struct err *err)
{
    AUTO_LOGGED run = {.entity = config->dashboard.entity,
                       .project = config->dashboard.project,
                       .name = a->run,
                       .job_type = a->job_type,
                       .config = "{}",
                       .salt = a->salt,
                       .at_ms = a->at_ms};
    if (!run.entity || !run.project)
        return err_set(err, -EINVAL, "the config has no dashboard: {entity, project} for alerts");
    logged_init(&run);
    int r = wandb_job_run(w, logged_begin(&run), err) ?: notify_send(w, &run, a, err);
    return r ?: wandb_job_run(w, logged_finish(&run), err);
}
