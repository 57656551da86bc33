/*
 * stop.h
 *		Named points at which tests stop a process, to crash it there.
 */
#ifndef BF_STOP_H
#define BF_STOP_H

/* Setting backfill.debug_stop_at: the name of a point, or empty. */
extern char *bf_stop_at;

/*
 * Called where a crash must do no harm.  With backfill.debug_stop_at set to
 * `name` it waits there, without holding anything of its own, while any other
 * session holds the advisory lock BF_STOP_KEY; a cancel ends it.
 */
#define BF_STOP_KEY 4747

extern void bf_stop_point(const char *name);

#endif							/* BF_STOP_H */
