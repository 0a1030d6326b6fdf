/* agent_main.c: muster-agent, the lean build of `muster agent` for nodes. */
#include "base/secret.h"
#include "cli/cmd.h"

int main(int argc, char **argv)
{
    secret_args(agent_help.opts, argc, argv);
    return cmd_agent(argc, argv);
}
