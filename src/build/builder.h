/*
 * builder.h
 *		Builds all partitions of a version.
 */
#ifndef BF_BUILDER_H
#define BF_BUILDER_H

#include "backfill.h"

/*
 * Builds every partition in the caller's transaction, from one snapshot, all or
 * nothing: the version is built afterwards.  Blockers found by the preflight are errors.
 */
extern void bf_build(BfVersion *v);

#endif							/* BF_BUILDER_H */
