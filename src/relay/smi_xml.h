/*
 * smi_xml.h: `nvidia-smi -q -x` of any driver, old layouts and new, MIG instances and processes included. Pure. Only in
 * muster itself: the lean agent has no XML parser.
 */
#ifndef RELAY_SMI_XML_H
#define RELAY_SMI_XML_H

#include "collect/collect.h"

/*
 * Adds what the text describes to ret (GPUs, each followed by its instances; processes with raw_use.known; driver and
 * cuda). 0; -ENODEV when nvidia-smi says that there is no driver; -EINVAL with the line that is wrong, and then ret
 * may hold part of it.
 */
int smi_xml(struct str text, struct reading *ret, struct err *err);

#endif
