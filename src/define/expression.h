/*
 * expression.h
 *		One SQL expression given as text: analysed, with errors located in it.
 */
#ifndef BF_EXPRESSION_H
#define BF_EXPRESSION_H

#include "backfill.h"

#include "nodes/params.h"
#include "nodes/parsenodes.h"

/*
 * Analyses `text` as the only column of a SELECT over `relid` (InvalidOid: over
 * nothing) under the search_path in force.  `what` names it in error contexts;
 * `setup` may install parser hooks.  Subqueries, window functions and functions
 * that return sets are refused, volatile ones too.
 */
extern Query *bf_expression_analyze(const char *text, const char *what, Oid relid, ParserSetupHook setup, void *arg);

/* The expression as text that any session reads the same way; columns prefixed by `alias` unless it is NULL. */
extern char *bf_expression_text(Node *expr, Oid relid, const char *alias);

/* OPERATOR(schema.=) of the type's default btree operator class; NULL when it has none. */
extern char *bf_expression_equal(Oid type);

/*
 * Runs `work` in a subtransaction.  A data exception (class 22: overflow,
 * division by zero ...) is returned as its message, anything else raised.
 */
extern char *bf_expression_guard(void (*work) (void *), void *arg);

#endif							/* BF_EXPRESSION_H */
