/*
 * publish.h
 *		What publish and rollback check alike.
 */
#ifndef BF_PUBLISH_H
#define BF_PUBLISH_H

#include "backfill.h"

/* From here on, changes of relations are noticed; once in a call, before the checks. */
extern void bf_publish_watch(void);
/* Whether there were any since. */
extern bool bf_publish_noticed(void);

/* Before the locks: raises 55000 for an object that the switch would lose, or a missing guard. */
extern void bf_publish_check(const BfVersion *v, List *moves);

/* Raises 40001 when something else is attached at the places of the moves than what is to go out. */
extern void bf_publish_require_in_place(const BfVersion *v, List *moves);

/* Under the locks: raises 40001 when another call has moved the version or its partitions on. */
extern void bf_publish_recheck_rows(const BfVersion *v, List *partitions);

/*
 * Under the locks: raises 40001 when the target has other partitions now, 55000
 * when the switch would lose an object or a guard is missing.
 */
extern void bf_publish_recheck_target(const BfVersion *v, List *moves);

#endif							/* BF_PUBLISH_H */
