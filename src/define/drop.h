/*
 * drop.h
 *		What a version leaves behind goes.
 */
#ifndef BF_DROP_H
#define BF_DROP_H

#include "backfill.h"

/* Removes every trace of a version that was never published: its tables, guards nobody else needs, its rows. */
extern void bf_drop_forget(const BfVersion *v);

#endif							/* BF_DROP_H */
