/* interfaces.h: the addresses of this machine, from its network interfaces. Read from the kernel with each call. */
#pragma once

#include <stdbool.h>

#define ADDRESS_TEXT 64

bool interfaces_have(const char *address); /* it is an address of this machine, loopback included */
/* An address that other machines reach: not of loopback, not link-local, not of an interface that leads to containers
 * alone or, within a container, to its host alone. IPv4 if there is one; that of the default route first. */
bool interfaces_outside(bool ipv6, char ret[ADDRESS_TEXT]);
/* The same for an address that belongs to this machine. */
bool interfaces_reach(const char *address);
/* One interface below `sys` (/sys/class/net) leads to other machines. contained: this is a container. For tests. */
bool interface_leads_out(const char *sys, const char *name, bool contained);
