/*
 * switch.c
 *		Hands each move to the way its partition is switched.
 */
#include "publish/switch.h"

#include "define/partition.h"
#include "publish/switch_attach.h"
#include "publish/switch_storage.h"

static const BfSwitch *const ways[] = {
	[BF_SWAP_ATTACH] = &bf_switch_attach,
	[BF_SWAP_STORAGE] = &bf_switch_storage
};

List *
bf_switch_moves(List *moves, BfSwap swap)
{
	List	   *chosen = NIL;
	ListCell   *lc;

	foreach(lc, moves)
		if (((BfMove *) lfirst(lc))->partition->swap == swap)
			chosen = lappend(chosen, lfirst(lc));
	return chosen;
}

void
bf_switch_prepare(const BfVersion *v, List *moves)
{
	for (int i = 0; i < lengthof(ways); i++)
	{
		List	   *chosen = bf_switch_moves(moves, i);

		if (chosen != NIL)
			ways[i]->prepare(v, chosen);
	}
}

void
bf_switch_recheck(const BfVersion *v, List *moves)
{
	for (int i = 0; i < lengthof(ways); i++)
	{
		List	   *chosen = bf_switch_moves(moves, i);

		if (chosen != NIL && ways[i]->recheck)
			ways[i]->recheck(v, chosen);
	}
}

void
bf_switch_apply(const BfVersion *v, List *moves, List *waiting)
{
	for (int i = 0; i < lengthof(ways); i++)
	{
		List	   *chosen = bf_switch_moves(moves, i);

		if (chosen != NIL)
			ways[i]->apply(v, chosen, waiting);
	}
}
