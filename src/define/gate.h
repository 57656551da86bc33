/*
 * gate.h
 *		Gates: the built-in ones, those a DBA adds, waivers (owns bf_gate).
 */
#ifndef BF_GATE_H
#define BF_GATE_H

#include "backfill.h"

/* One row of bf_gate. */
typedef struct BfGate
{
	char	   *name;
	char	   *kind;			/* integrity, comparison, total */
	char	   *expression;		/* canonical; totals only */
	char	   *expect;			/* as people read it */
	bool		whole_version;	/* scope => 'version' */
	bool		required;
	bool		waived;
} BfGate;

#define BF_GATE_IS_INTEGRITY(g) (strcmp((g)->kind, "integrity") == 0)
#define BF_GATE_IS_TOTAL(g) (strcmp((g)->kind, "total") == 0)

/* Inserts the built-in gates of a new version. */
extern void bf_gate_defaults(BfVersion *v);
/* The gates of a version as BfGate *: integrity, comparison, then totals by name. */
extern List *bf_gate_list(int64 version_id);
/* Fingerprint of a leaf's definition (InvalidOid: to be created) and its root's. */
extern char *bf_gate_definition(Oid leaf, Oid root);
/* Those of the partitions whose leaf or root has changed since the build; one query. */
extern List *bf_gate_changed_definitions(const BfVersion *v, List *partitions);

#endif							/* BF_GATE_H */
