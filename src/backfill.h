/*
 * backfill.h
 *		Ids, state words and structs that every stage shares; no logic.
 *
 * Data flows one way: define -> build -> verify -> run -> publish -> report.
 * A stage includes the headers of stages before it, never of a later one.
 */
#ifndef BACKFILL_H
#define BACKFILL_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/jsonb.h"

#include "compat.h"

#define BF_STAGING_SCHEMA "backfill_staging"
#define BF_BOUND_CHECK "backfill_bound"
#define BF_GUARD_TRIGGER "backfill_guard"
#define BF_GUARD_TRUNCATE_TRIGGER "backfill_guard_truncate"

/* Settings, defined in backfill.c. */
extern int	bf_lock_attempt_ms;
extern int	bf_publish_wait_ms;
extern int	bf_max_xlock_ms;

typedef enum BfState
{
	BF_DEFINED,
	BF_BUILDING,
	BF_BUILT,
	BF_FAILED,
	BF_PUBLISHED,
	BF_ROLLED_BACK,
	BF_SUPERSEDED,
	BF_DROPPED
} BfState;

/* How a partition is switched. */
typedef enum BfSwap
{
	BF_SWAP_ATTACH,				/* another relation takes its place */
	BF_SWAP_STORAGE				/* the relation stays and gets other files */
} BfSwap;

/* One row of bf_version with its target (bf_target): what the DBA declared. */
typedef struct BfVersion
{
	int64		id;
	char	   *name;
	BfState		state;
	Oid			target;			/* the partitioned table readers use */
	Oid			owner;			/* its owner now: all user SQL runs as this role */
	char	   *rule;			/* text as given */
	char	   *rule_canonical; /* deparsed, schema-qualified; NULL before create */
	bool		match_position; /* match => 'position' */
	List	   *key;			/* of char *; NIL when key => '{}' */
	Jsonb	   *parameters;		/* always an object */
	bool		allow_volatile;
	bool		sources_declared;	/* sources => given, even '{}' */
	List	   *sources_extra;	/* Oids declared in sources => */
	char	   *late_changes;	/* "block" or "ignore" */
	char	   *swap;			/* "auto", "storage" or "attach" */
	bool		ignore_subscribers;
	int64		max_rejections;
	int64		max_lost_keys;	/* -1: no limit */
	int64		max_gained_keys;	/* -1: no limit */
	double		max_shrink;		/* percent, -1: no limit */
	List	   *settings;		/* of char *: name, value, name, value ... */
} BfVersion;

/* One row of bf_partition: a piece of the target that this version rebuilds. */
typedef struct BfPartition
{
	int64		id;
	int64		version_id;
	Oid			live;			/* leaf now in place; InvalidOid: to be created */
	Oid			parent;			/* the partitioned table it hangs on */
	Oid			staged;			/* our table; InvalidOid before the load */
	char	   *name;			/* unqualified leaf name */
	char	   *bound;			/* FOR VALUES ... | DEFAULT, as pg_get_expr gives */
	char	   *state;			/* pending staged unchanged live retired */
	char	   *lower;			/* root-level bounds in the key's type; NULL: open or not RANGE */
	char	   *upper;
	int64		rows;			/* staged rows, -1 before the load */
	int64		rejected;
	BfSwap		swap;
	char	   *swap_reason;	/* why it attaches; NULL: it exchanges storage, or was not decided yet */
} BfPartition;

#endif							/* BACKFILL_H */
