/*
 * switch_attach.h
 *		How a switch is made: the seam between publishing and the ways to do it.
 */
#ifndef BF_SWITCH_ATTACH_H
#define BF_SWITCH_ATTACH_H

#include "backfill.h"

/* One way to switch.  Moves are BfMove *, in bound order. */
typedef struct BfSwitch
{
	const char *name;
	/* Before any strong lock: all that may take long, such as scanning a table nobody reads. */
	void		(*prepare) (const BfVersion *v, List *moves);
	/* Under the locks: catalog changes only. */
	void		(*apply) (const BfVersion *v, List *moves);
} BfSwitch;

/* DETACH/ATTACH; names move over, so that readers and scripts find what they knew. */
extern const BfSwitch bf_switch_attach;

#endif							/* BF_SWITCH_ATTACH_H */
