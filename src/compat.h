/*
 * compat.h
 *		The only file that looks at PG_VERSION_NUM: what differs between 15 and 18.
 */
#ifndef BACKFILL_COMPAT_H
#define BACKFILL_COMPAT_H

#include "postgres.h"

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

#endif							/* BACKFILL_COMPAT_H */
