/*
 * validate.h
 *		Measuring the gates of a version.
 */
#ifndef BF_VALIDATE_H
#define BF_VALIDATE_H

#include "backfill.h"

/*
 * Measures every gate of the version on its staged partitions against the live
 * ones and appends one bf_evidence row a gate and partition (partition NULL for
 * whole-version gates).  Each is bound to what it was measured on: definition,
 * gates' settings, staged and live relations with their files, writes to the staged one.
 */
extern void bf_validate(BfVersion *v, List *partitions);

#endif							/* BF_VALIDATE_H */
