/*
 * partition.h
 *		The partitions of versions: what was built for each, and the chain of what replaced what (owns bf_partition).
 */
#ifndef BF_PARTITION_H
#define BF_PARTITION_H

#include "backfill.h"

/* One step of a switch: `in` takes the place of `out`. */
typedef struct BfMove
{
	BfPartition *partition;
	Oid			out;			/* InvalidOid: nothing is there yet (a created partition) */
	Oid			in;				/* InvalidOid: nothing will be there (a created one withdrawn) */
	char	   *out_check;		/* the CHECK that will spare a scan when `out` comes back; see switch_attach.c */
	Oid			previous;		/* what `in` replaced when it was live before; InvalidOid: nothing */
	struct BfPairs *pairs;		/* what trades contents beside the tables, when they exchange storage */
} BfMove;

extern void bf_partition_insert(const BfVersion *v, List *partitions);
/* The version's partitions in bound order, as BfPartition *. */
extern List *bf_partition_list(int64 version_id);
/* Ids of partitions, as bigint[]. */
extern Datum bf_partition_ids(List *partitions);
/* Their live leaves; those to be created have none. */
extern List *bf_partition_live(List *partitions);
/* What now hangs at each partition's parent and bound, in their order; InvalidOid: nothing. */
extern Oid *bf_partition_locate(const BfVersion *v, List *partitions);

/* Lets the owner of a target create tables in the staging schema. */
extern void bf_partition_allow_staging(Oid owner);
/* Drops a staged or retired table. */
extern void bf_partition_drop_table(Oid relid);
/* Writes to the live leaves are marked from here on, so that publish can tell whether any came after the pin. */
extern void bf_partition_guard(const BfVersion *v, List *partitions);
/* Notes what the live leaves are, before their contents are pinned. */
extern void bf_partition_note_live(int64 version_id);
/* What happened to a live leaf since then that left no mark: rewritten, or unguarded for a while; NULL: nothing. */
extern char *bf_partition_tampered(const BfPartition *p);
/* p was built: its staged table, row counts, fingerprint and the definition it was built to. */
extern void bf_partition_built(const BfPartition *p, const char *fingerprint, const char *definition, TimestampTz started);
/* Of the version's built partitions these are identical to what is live, the others not. */
extern void bf_partition_unchanged(const BfVersion *v, List *unchanged);
extern void bf_partition_dropped(const BfVersion *v);
/* Whether a version has partitions in this state. */
extern bool bf_partition_in_state(int64 version_id, const char *state);

/* From now on p replaces `live` when it is published. */
extern void bf_partition_replace(BfPartition *p, Oid live);
/* Locks the rows of every version that a switch of these moves may change, the versions' own rows too. */
extern void bf_partition_lock_rows(List *moves);
/*
 * Records a switch that has taken place (forward: publish, else rollback) on the
 * partitions of all versions.  Returns the names of other versions it changed.
 */
extern List *bf_partition_switched(const BfVersion *v, List *moves, bool forward);
/*
 * The tables of each move have traded their contents: in the marks of writes and
 * in the rows of all partitions, save those of the moves, each is named by the
 * other from now on.  bf_partition_switched comes next.
 */
extern void bf_partition_exchanged(List *moves);
/* Those of these tables that were rewritten since they were published, as ALTER TABLE does without firing a trigger. */
extern List *bf_partition_rewritten(List *relids);
/* The versions whose live partitions these relations are, or "original", as text for people. */
extern char *bf_partition_owners(List *relids);
/* Names of versions, and of partitions, whose live data replaced data of this version. */
extern char *bf_partition_newer(const BfVersion *v, List *withdrawn, char **partitions);
/* Names of the versions whose partitions this one replaced. */
extern List *bf_partition_predecessors(const BfVersion *v);

#endif							/* BF_PARTITION_H */
