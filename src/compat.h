/*
 * compat.h
 *		The only file that looks at PG_VERSION_NUM: what differs between 15 and 18.
 */
#ifndef BACKFILL_COMPAT_H
#define BACKFILL_COMPAT_H

#include "postgres.h"

#include "access/heapam.h"
#include "catalog/objectaddress.h"
#include "executor/executor.h"
#include "replication/message.h"
#include "utils/acl.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#define bf_owns_relation(relid, role) object_ownercheck(RelationRelationId, (relid), (role))
#define bf_namespace_aclcheck(nsp, role, mode) object_aclcheck(NamespaceRelationId, (nsp), (role), (mode))
#else
#define bf_owns_relation(relid, role) pg_class_ownercheck((relid), (role))
#define bf_namespace_aclcheck(nsp, role, mode) pg_namespace_aclcheck((nsp), (role), (mode))
#endif

#if PG_VERSION_NUM >= 170000
#define bf_log_message(prefix, msg, size) LogLogicalMessage((prefix), (msg), (size), true, false)
#else
#define bf_log_message(prefix, msg, size) LogLogicalMessage((prefix), (msg), (size), true)
#endif

#if PG_VERSION_NUM >= 180000
#define bf_executor_run(qd) ExecutorRun((qd), ForwardScanDirection, 0)
#else
#define bf_executor_run(qd) ExecutorRun((qd), ForwardScanDirection, 0, true)
#endif

#ifndef pg_attribute_noreturn	/* gone in 18 */
#define pg_attribute_noreturn() __attribute__((noreturn))
#endif

/* Virtual generated columns and unenforced constraints came with 18. */
#if PG_VERSION_NUM >= 180000
#define bf_stored_not_null(att) ((att)->attnotnull && !(att)->attisdropped && (att)->attgenerated != ATTRIBUTE_GENERATED_VIRTUAL)
#define bf_check_enforced(check) ((check)->ccenforced)
#else
#define bf_stored_not_null(att) ((att)->attnotnull && !(att)->attisdropped)
#define bf_check_enforced(check) true
#endif

#if PG_VERSION_NUM >= 160000
/* Which indexes need a new entry is told by the tuple as well. */
#define bf_heap_update(rel, tid, tup) simple_heap_update((rel), (tid), (tup), &(TU_UpdateIndexes) {TU_None})
#else
#define bf_heap_update(rel, tid, tup) simple_heap_update((rel), (tid), (tup))
#endif

/* Files of relations, and what the relation cache knows of those made in this transaction. */
#if PG_VERSION_NUM >= 160000
#define bf_first_file_subid(rel) ((rel)->rd_firstRelfilelocatorSubid)
#define bf_new_file_subid(rel) ((rel)->rd_newRelfilelocatorSubid)
#define bf_assume_new_file(rel) RelationAssumeNewRelfilelocator(rel)
#else
#define bf_first_file_subid(rel) ((rel)->rd_firstRelfilenodeSubid)
#define bf_new_file_subid(rel) ((rel)->rd_newRelfilenodeSubid)
#define bf_assume_new_file(rel) RelationAssumeNewRelfilenode(rel)
#endif

#if PG_VERSION_NUM >= 170000
#define bf_close_files(relid) ((void) (relid))
#else
#define bf_close_files(relid) RelationCloseSmgrByOid(relid)
#endif

/* pg_class counts all-frozen pages from 18 on. */
#if PG_VERSION_NUM >= 180000
#define bf_with_allfrozen(statement) statement
#else
#define bf_with_allfrozen(statement) ((void) 0)
#endif

/* Counters of a table's rows. */
#if PG_VERSION_NUM >= 160000
#define BF_LIVE_TUPLES live_tuples
#define BF_DEAD_TUPLES dead_tuples
#define BF_MOD_SINCE_ANALYZE mod_since_analyze
#define BF_INS_SINCE_VACUUM ins_since_vacuum
#define BF_COUNTS counts
#define BF_DELTA_LIVE_TUPLES delta_live_tuples
#define BF_DELTA_DEAD_TUPLES delta_dead_tuples
#define BF_CHANGED_TUPLES changed_tuples
#else
#define BF_LIVE_TUPLES n_live_tuples
#define BF_DEAD_TUPLES n_dead_tuples
#define BF_MOD_SINCE_ANALYZE changes_since_analyze
#define BF_INS_SINCE_VACUUM inserts_since_vacuum
#define BF_COUNTS t_counts
#define BF_DELTA_LIVE_TUPLES t_delta_live_tuples
#define BF_DELTA_DEAD_TUPLES t_delta_dead_tuples
#define BF_CHANGED_TUPLES t_changed_tuples
#endif

#endif							/* BACKFILL_COMPAT_H */
