/*
 * load.h
 *		Filling one staged table: the only per-tuple code.
 */
#ifndef BF_LOAD_H
#define BF_LOAD_H

#include "backfill.h"
#include "define/rule.h"

#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

typedef struct BfLoadResult
{
	int64		rows;
	int64		rejected;
	uint64		fingerprint;	/* order-independent sum of row hashes */
	List	   *rejections;		/* of BfRejection *, at most max_rejections */
} BfLoadResult;

typedef struct BfRejection
{
	Jsonb	   *row;
	char	   *reason;
} BfRejection;

/*
 * Runs rq under `snapshot` and writes its rows frozen into `staged`, which was
 * created in the current subtransaction with the physical layout of the query's
 * target list.  Every row is checked against NOT NULL, CHECK and (unless
 * rq->filtered) bound_qual; one that breaks them is rejected, and the first
 * beyond max_rejections is an error (23514 with the row in errdetail).
 * Called as the target's owner.  Results live in the caller's context.
 */
extern BfLoadResult *bf_load(const BfRuleQuery *rq, Relation staged, List *bound_qual, Snapshot snapshot,
							 int64 max_rejections);

/*
 * Whether all pages are all-frozen, as the load leaves them.  A page that is not
 * reads as empty, or in part, for a snapshot older than its rows.
 */
extern bool bf_load_is_frozen(Oid relid, BlockNumber *frozen, BlockNumber *blocks);

#endif							/* BF_LOAD_H */
