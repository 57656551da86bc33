/*
 * guard.h
 *		Guard triggers: writes to attached leaves are marked, writes to staged and
 *		retired tables refused (owns bf_mark).
 */
#ifndef BF_GUARD_H
#define BF_GUARD_H

#include "backfill.h"

extern void bf_guard_init(void);
/* Makes this transaction's next write to any leaf leave a mark again, though it left one before. */
extern void bf_guard_forget(void);

/* Both are idempotent and run as the table's owner. */
extern void bf_guard_install(Oid relid);
extern void bf_guard_remove(Oid relid);
/* Both triggers are there, call our function and fire ALWAYS. */
extern bool bf_guard_installed(Oid relid);

/* Whether relid was written after the version's pin was taken. */
extern bool bf_guard_written_since_pin(int64 version_id, Oid relid);
/* Name of the first live leaf of the version written since its pin, NULL when there is none. */
extern char *bf_guard_late_write(int64 version_id);
/* Whether relid was ever written while it was attached. */
extern bool bf_guard_is_marked(Oid relid);
extern void bf_guard_forget_marks(Oid relid);

#endif							/* BF_GUARD_H */
