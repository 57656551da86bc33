/*
 * pin.h
 *		The snapshot all partitions of a version are built on.
 */
#ifndef BF_PIN_H
#define BF_PIN_H

#include "backfill.h"
#include "define/rule.h"

#include "utils/snapshot.h"

/*
 * Locks the sources (ACCESS SHARE, or SHARE with late_changes => 'block'), then
 * takes and registers the snapshot and records it.  Release with bf_pin_release.
 */
extern Snapshot bf_pin_take(const BfVersion *v, const BfRuleInfo *rule);
extern void bf_pin_release(Snapshot pin);

#endif							/* BF_PIN_H */
