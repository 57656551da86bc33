/*
 * switch.h
 *		The seam between publishing and the ways to switch.
 */
#ifndef BF_SWITCH_H
#define BF_SWITCH_H

#include "backfill.h"

/* One way to switch.  Moves are BfMove *, in bound order, never none. */
typedef struct BfSwitch
{
	/* Before any strong lock: all that may take long, such as scanning a table nobody reads. */
	void		(*prepare) (const BfVersion *v, List *moves);
	/* Under the locks, when some relation was changed since: what prepare found out is asked again.  NULL: nothing. */
	void		(*recheck) (const BfVersion *v, List *moves);
	/*
	 * Under the locks: catalog changes only.  `waiting` are moves that come later
	 * in the same call; they go on naming what they are about.
	 */
	void		(*apply) (const BfVersion *v, List *moves, List *waiting);
} BfSwitch;

/* These hand each move to the way of its partition; all of one way together. */
extern void bf_switch_prepare(const BfVersion *v, List *moves);
extern void bf_switch_recheck(const BfVersion *v, List *moves);
extern void bf_switch_apply(const BfVersion *v, List *moves, List *waiting);
/* Those of the moves that go this way. */
extern List *bf_switch_moves(List *moves, BfSwap swap);

#endif							/* BF_SWITCH_H */
