/*
 * expect.c
 *		What a total must be: equal, within 2%, between 2% and 4%, true, or a
 *		condition over old and new.
 *
 * NULL and NaN are values like others: equal to themselves and a change of 0%.
 */
#include "define/expect.h"

#include <ctype.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "define/expression.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#define EXPECT_HINT "Use 'equal', 'within 2%', 'between 2% and 4%', 'true', or a condition over old and new."

#define NUM(x) DirectFunctionCall1(int8_numeric, Int64GetDatum(x))
#define NUM_OP(f, a, b) DirectFunctionCall2(f, (a), (b))

/* What the parser hook needs to know. */
typedef struct ExpectParse
{
	Oid			type;
	Oid			collation;
	bool		names_old;
} ExpectParse;

static bool
numeric_is_less(Datum a, Datum b)
{
	return DatumGetBool(NUM_OP(numeric_lt, a, b));
}

static pg_attribute_noreturn() void
bad_expect(const char *text, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid expect: %s", quote_literal_cstr(text)),
			 errdetail("%s", detail),
			 errhint("%s", EXPECT_HINT)));
}

static Param *
make_value(int id, Oid type, Oid collation)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = id;
	param->paramtype = type;
	param->paramtypmod = -1;
	param->paramcollid = collation;
	param->location = -1;
	return param;
}

/* old and new are the only names there are. */
static Node *
resolve_side(ParseState *pstate, ColumnRef *cref, Node *var)
{
	ExpectParse *parse = pstate->p_ref_hook_state;
	Node	   *name = linitial(cref->fields);
	bool		old;

	if (var != NULL || list_length(cref->fields) != 1 || !IsA(name, String))
		return NULL;
	old = strcmp(strVal(name), "old") == 0;
	if (!old && strcmp(strVal(name), "new") != 0)
		return NULL;
	parse->names_old |= old;
	return (Node *) make_value(old ? 1 : 2, parse->type, parse->collation);
}

static void
setup_parser(ParseState *pstate, void *arg)
{
	pstate->p_ref_hook_state = arg;
	pstate->p_post_columnref_hook = resolve_side;
}

static void
parse_condition(BfExpect *e, const char *text, const char *shown, Oid collation)
{
	ExpectParse parse = {e->type, collation, false};
	Query	   *query = bf_expression_analyze(text, "expect of a gate", InvalidOid, setup_parser, &parse);
	Node	   *expr = (Node *) linitial_node(TargetEntry, query->targetList)->expr;

	if (query->hasAggs)
		bad_expect(shown, "It must not contain an aggregate: old and new are values already.");
	if (getBaseType(exprType(expr)) != BOOLOID)
		bad_expect(shown, psprintf("It is of type %s, not boolean.", format_type_be(exprType(expr))));
	e->condition = (Expr *) expr;
	e->needs_old = parse.names_old;
}

static const char *
skip_spaces(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
		s++;
	return s;
}

/* The rest of s after the keyword; NULL when it does not start with it. */
static const char *
after_word(const char *s, const char *word)
{
	size_t		len = strlen(word);

	s = skip_spaces(s);
	if (pg_strncasecmp(s, word, len) != 0 || isalnum((unsigned char) s[len]) || s[len] == '_')
		return NULL;
	return skip_spaces(s + len);
}

/* Reads "2.5 %"; the rest of s, or NULL when it is no percentage. */
static const char *
read_percent(const char *s, Datum *percent)
{
	const char *start = s;
	int			digits = 0;
	int			points = 0;

	if (*s == '-' || *s == '+')
		s++;
	for (; isdigit((unsigned char) *s) || *s == '.'; s++)
		*s == '.' ? points++ : digits++;
	if (digits == 0 || points > 1)
		return NULL;
	*percent = DirectFunctionCall3(numeric_in, CStringGetDatum(pnstrdup(start, s - start)),
								   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	s = skip_spaces(s);
	return *s == '%' ? skip_spaces(s + 1) : NULL;
}

static void
parse_within(BfExpect *e, const char *text, const char *rest)
{
	rest = read_percent(rest, &e->high);
	if (rest == NULL || *rest != '\0' || numeric_is_less(e->high, NUM(0)))
		bad_expect(text, "After \"within\" comes one percentage that is not negative.");
	e->low = DirectFunctionCall1(numeric_uminus, e->high);
}

static void
parse_between(BfExpect *e, const char *text, const char *rest)
{
	rest = read_percent(rest, &e->low);
	rest = rest ? after_word(rest, "and") : NULL;
	rest = rest ? read_percent(rest, &e->high) : NULL;
	if (rest == NULL || *rest != '\0')
		bad_expect(text, "After \"between\" come two percentages joined by \"and\".");
	if (numeric_is_less(e->high, e->low))
		bad_expect(text, "The first percentage is greater than the second.");
}

/* How a total of this type becomes a number; NULL when it is none. */
static Expr *
numeric_cast(Oid type, Oid collation)
{
	ParseState *pstate = make_parsestate(NULL);
	Expr	   *cast = NULL;

	if (TypeCategory(getBaseType(type)) == TYPCATEGORY_NUMERIC)
		cast = (Expr *) coerce_to_target_type(pstate, (Node *) make_value(1, type, collation), type, NUMERICOID, -1,
											  COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, -1);
	free_parsestate(pstate);
	return cast;
}

/* The equality of the type itself, whatever operators a search_path holds. */
static const char *
equality(Oid type)
{
	char	   *equal = bf_expression_equal(type);

	return equal ? psprintf("old IS NULL AND new IS NULL OR old %s new", equal) : "old IS NOT DISTINCT FROM new";
}

BfExpect *
bf_expect_parse(const char *text, Oid type, Oid collation)
{
	BfExpect   *e = palloc0(sizeof(BfExpect));
	const char *rest;

	e->type = type;
	e->to_numeric = numeric_cast(type, collation);
	if ((rest = after_word(text, "within")) != NULL || after_word(text, "between") != NULL)
	{
		e->percent = e->needs_old = true;
		if (rest != NULL)
			parse_within(e, text, rest);
		else
			parse_between(e, text, after_word(text, "between"));
		if (e->to_numeric == NULL)
			bad_expect(text, psprintf("A percentage needs a number, but the total is of type %s.", format_type_be(type)));
	}
	else if ((rest = after_word(text, "equal")) != NULL && *rest == '\0')
		parse_condition(e, equality(type), text, collation);
	else if ((rest = after_word(text, "empty")) != NULL && *rest == '\0')
		bad_expect(text, "\"empty\" is for gates that run a query.");
	else if ((rest = after_word(text, "true")) != NULL && *rest == '\0')
	{
		if (getBaseType(type) != BOOLOID)
			bad_expect(text, psprintf("\"true\" needs a boolean total, but this one is of type %s.", format_type_be(type)));
		parse_condition(e, "new IS TRUE", text, collation);
	}
	else if (*skip_spaces(text) == '\0')
		bad_expect(text, "It is empty.");
	else
		parse_condition(e, text, text, collation);
	return e;
}

/* Evaluates an expression over old and new. */
static Datum
evaluate(Expr *expr, const BfExpect *e, Datum old, bool oldnull, Datum new, bool newnull, bool *isnull)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	ParamListInfo params = makeParamList(2);
	MemoryContext context = CurrentMemoryContext;
	Datum		result;
	int16		len;
	bool		byval;

	params->params[0] = (ParamExternData) {old, oldnull, PARAM_FLAG_CONST, e->type};
	params->params[1] = (ParamExternData) {new, newnull, PARAM_FLAG_CONST, e->type};
	econtext->ecxt_param_list_info = params;
	result = ExecEvalExprSwitchContext(ExecPrepareExpr(copyObject(expr), estate), econtext, isnull);
	get_typlenbyval(exprType((Node *) expr), &len, &byval);
	MemoryContextSwitchTo(context);
	if (!*isnull)
		result = datumCopy(result, byval, len);
	FreeExecutorState(estate);
	return result;
}

static char *
numeric_text(Datum d, int digits)
{
	if (digits >= 0)
		d = DirectFunctionCall2(numeric_round, d, Int32GetDatum(digits));
	return DatumGetCString(DirectFunctionCall1(numeric_out, d));
}

static bool
is_ordinary(Datum d)
{
	return !numeric_is_nan(DatumGetNumeric(d)) && !numeric_is_inf(DatumGetNumeric(d));
}

/* "+" before what is greater than nothing; numeric_out writes the other sign. */
static const char *
plus(Datum d)
{
	return numeric_is_less(NUM(0), d) ? "+" : "";
}

/*
 * The change in percent of old's size.  False when it has none: a side is NULL
 * or not finite and the other is not the same, or old is 0.
 */
static bool
percent_change(Datum old, bool oldnull, Datum new, bool newnull, Datum *change)
{
	Datum		difference;

	*change = NUM(0);
	if (oldnull || newnull)
		return oldnull && newnull;
	if (DatumGetBool(NUM_OP(numeric_eq, old, new)))
		return true;
	if (!is_ordinary(old) || !is_ordinary(new) || DatumGetBool(NUM_OP(numeric_eq, old, NUM(0))))
		return false;
	difference = NUM_OP(numeric_sub, new, old);
	*change = NUM_OP(numeric_div, NUM_OP(numeric_mul, difference, NUM(100)), DirectFunctionCall1(numeric_abs, old));
	return true;
}

/* Difference and change of two numbers. */
static void
describe_numbers(BfVerdict *verdict, Datum old, Datum new, bool known, Datum percent)
{
	Datum		difference = NUM_OP(numeric_sub, new, old);

	verdict->difference = psprintf("%s%s", plus(difference), numeric_text(difference, -1));
	if (known)
	{
		verdict->difference = psprintf("%s (%s%s%%)", verdict->difference, plus(percent), numeric_text(percent, 2));
		verdict->change = fabs(DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, percent)));
	}
	else
		verdict->change = get_float8_infinity();
}

void
bf_expect_check(const BfExpect *e, Datum old, bool oldnull, Datum new, bool newnull, BfVerdict *verdict)
{
	Datum		change = (Datum) 0;
	bool		known = false;
	bool		isnull;

	memset(verdict, 0, sizeof(*verdict));
	if (e->to_numeric != NULL)
	{
		Datum		o = evaluate(e->to_numeric, e, old, oldnull, (Datum) 0, true, &isnull);
		Datum		n = evaluate(e->to_numeric, e, new, newnull, (Datum) 0, true, &isnull);

		known = percent_change(o, oldnull, n, newnull, &change);
		if (!oldnull && !newnull)
			describe_numbers(verdict, o, n, known, change);
	}
	if (e->percent)
		verdict->passed = known && !numeric_is_less(change, e->low) && !numeric_is_less(e->high, change);
	else
	{
		Datum		d = evaluate(e->condition, e, old, oldnull, new, newnull, &isnull);

		verdict->passed = !isnull && DatumGetBool(d);
	}
}
