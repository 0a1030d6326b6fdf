/* upsert.c: writes UpsertBucket, as W&B's own client has it. */
#include "wandb_push/upsert.h"

#include "base/buf.h"

static const char upsert[] =
    "mutation UpsertBucket($id:String,$name:String,$project:String,$entity:String,$groupName:String,"
    "$displayName:String,$notes:String,$config:JSONString,$host:String,$program:String,$jobType:String,$state:String,"
    "$tags:[String!],$summaryMetrics:JSONString){upsertBucket(input:{id:$id,name:$name,modelName:$project,"
    "entityName:$entity,groupName:$groupName,displayName:$displayName,notes:$notes,config:$config,host:$host,"
    "jobProgram:$program,jobType:$jobType,state:$state,tags:$tags,summaryMetrics:$summaryMetrics}){"
    "bucket{id name displayName project{id name entity{id name}} historyLineCount} inserted}}";

int upsert_request(const struct buf *variables, struct wandb_request *ret, struct err *err)
{
    *ret = (struct wandb_request){.op = "UpsertBucket",
                                  .query = upsert,
                                  .variables = buf_str(variables),
                                  .conflict_again = true};
    return variables->err ? err_set(err, variables->err, "the data of a run is too long") : 1;
}
