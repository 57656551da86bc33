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

/*
 * Whether the pin was taken in another database: this one was restored from a
 * dump, or copied, and marks of writes do not come along.  The second raises 55000.
 */
extern bool bf_pin_is_foreign(const BfVersion *v);
extern void bf_pin_refuse_foreign(const BfVersion *v);

#endif							/* BF_PIN_H */
