/*
 * switch_attach.h
 *		The switch by DETACH and ATTACH.
 */
#ifndef BF_SWITCH_ATTACH_H
#define BF_SWITCH_ATTACH_H

#include "publish/switch.h"

/* Names move over, so that readers and scripts find what they knew. */
extern const BfSwitch bf_switch_attach;

#endif							/* BF_SWITCH_ATTACH_H */
