/*
 * locks.h
 *		The strong locks of publish and rollback: taken in short attempts, held for a bounded time.
 */
#ifndef BF_LOCKS_H
#define BF_LOCKS_H

#include "backfill.h"

#include "datatype/timestamp.h"

typedef struct BfLockTimes
{
	int			attempts;
	TimestampTz asked;			/* before the first attempt */
	TimestampTz first;			/* first strong lock of the attempt that succeeded */
	TimestampTz granted;		/* all locks are there */
	TimestampTz done;			/* the work under them is */
} BfLockTimes;

/* What to lock, and what to do then. */
typedef struct BfLockWork
{
	const BfVersion *version;
	const char *action;			/* publish, roll back */
	List	   *moves;			/* of BfMove *, every one that the work may make */
	List	   *still;			/* Oids: tables that nobody may write from `confirm` on */
	void		(*confirm) (void *arg);	/* with these locked, before any strong lock; may take long */
	void		(*work) (void *arg);
	void	   *arg;
} BfLockWork;

/*
 * One publish or rollback of a target at a time, until the transaction ends.
 * Comes first, so that what is read afterwards is what the one before has left,
 * and two of them never stand in each other's way with the locks of their checks.
 */
extern void bf_locks_serialize(const BfVersion *v, const char *action);

/*
 * Takes all locks of the moves, then does the work, inside max_xlock_time.  What
 * confirms is called in each attempt, when there are tables to hold still.
 * Raises 55P03 naming the blockers when backfill.publish_wait is over.
 */
extern void bf_locks_run(const BfLockWork *w, BfLockTimes *times);

#endif							/* BF_LOCKS_H */
