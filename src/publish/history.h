/*
 * history.h
 *		The record of publications and rollbacks (owns bf_history), and its announcement.
 */
#ifndef BF_HISTORY_H
#define BF_HISTORY_H

#include "backfill.h"

#include "fmgr.h"
#include "publish/locks.h"

/* What one call did to one version: a row of backfill_publish or backfill_rollback. */
typedef struct BfOutcome
{
	const BfVersion *version;
	const char *action;			/* published, rolled_back, already_live, already_withdrawn */
	int			swapped;
	int			unchanged;
	int			created;		/* by rollback: removed again */
	char	   *replaces;		/* publish: what was live before; rollback: what is live again */
	char	   *overrides;		/* jsonb text; NULL: none */
	BfLockTimes times;			/* zero when nothing was locked */
} BfOutcome;

/* Inserts the row, sends NOTIFY and a logical message; all of it commits with the switch, and durably. */
extern void bf_history_record(const BfOutcome *o);
/* Rows of the calling set-returning function, from a list of BfOutcome *. */
extern void bf_history_return(FunctionCallInfo fcinfo, List *outcomes);

/* Versions published on the target now, the latest publication first; of BfVersion *. */
extern List *bf_history_published(Oid target);
/* Which of two versions was published later; ids of their last publications, 0 when never. */
extern int64 bf_history_last(const BfVersion *v);

#endif							/* BF_HISTORY_H */
