/* agent_main.c: muster-agent, the lean build of `muster agent` for nodes. */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    return cmd_agent(argc, argv);
}
