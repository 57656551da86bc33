/*
 * gate.h
 *		Gates and their evidence.
 */
#ifndef BF_GATE_H
#define BF_GATE_H

#include "backfill.h"

/*
 * Measures every gate of the version on its staged partitions against the live
 * ones and inserts one bf_evidence row a gate and partition (partition NULL for
 * whole-version gates), each bound to `binding` of its partition.
 */
extern void bf_gate_validate(BfVersion *v, List *partitions);

/*
 * What evidence is bound to: definition, gates' settings, staged and live relation with
 * their guard state.  Recomputed by publish under its locks.
 */
extern char *bf_gate_binding(BfVersion *v, BfPartition *p);

/*
 * Raises 23514 "backfill failed quality gates" when a required gate is red, 55000
 * when evidence is missing or bound to other data.  Returns the number of partitions without baseline.
 */
extern int	bf_gate_require_green(BfVersion *v, List *partitions);

/* Inserts the built-in gates of a new version. */
extern void bf_gate_defaults(BfVersion *v);

/* Fingerprint of a leaf's definition (InvalidOid: to be created) and its root's. */
extern char *bf_gate_definition(Oid leaf, Oid root);

#endif							/* BF_GATE_H */
