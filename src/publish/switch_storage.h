/*
 * switch_storage.h
 *		The switch by exchange of storage.
 */
#ifndef BF_SWITCH_STORAGE_H
#define BF_SWITCH_STORAGE_H

#include "publish/switch.h"

/* The relations stay where they are and trade what is in them. */
extern const BfSwitch bf_switch_storage;

#endif							/* BF_SWITCH_STORAGE_H */
