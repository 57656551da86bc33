# backfill: PGXS build; `make demo` and `make check` bring their own cluster.
EXTENSION = backfill
EXTVERSION = 0.1
MODULE_big = backfill
DATA = sql/backfill--$(EXTVERSION).sql

OBJS = src/backfill.o \
	src/common/catalog.o src/common/subxact.o src/common/stop.o \
	src/define/version.o src/define/rule.o src/define/rule_parameters.o src/define/rule_audit.o src/define/bound.o src/define/partition.o src/define/plan.o \
	src/define/expression.o src/define/expect.o src/define/total.o src/define/gate.o src/define/guard.o \
	src/define/swap.o src/define/reference.o src/define/preflight.o src/define/create.o src/define/drop.o \
	src/build/pin.o src/build/shape.o src/build/load.o src/build/builder.o \
	src/verify/compare.o src/verify/foreign_key.o src/verify/evidence.o src/verify/validate.o \
	src/publish/locks.o src/publish/names.o src/publish/counters.o src/publish/switch.o src/publish/switch_attach.o \
	src/publish/switch_storage.o src/publish/publish.o src/publish/rollback.o src/publish/history.o \
	src/run/build.o \
	src/report/manifest.o

PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
# No bitcode: clang is not needed, and functions of an extension like this are never inlined.
override with_llvm = no

# The scripts choose a server themselves when PG_CONFIG is not given.  They are exec-ed, so that ending make ends them.
PG_CONFIG_GIVEN := $(PG_CONFIG)
PG_CONFIG ?= pg_config

ifneq (,$(filter check demo setup,$(MAKECMDGOALS)))

# These work where no PostgreSQL is installed yet, so they come without PGXS (which also has a `check` of its own).
.PHONY: check demo setup

# make check [SUITES="regress isolation pgtap tap examples"]
check:
	@exec env PG_CONFIG="$(PG_CONFIG_GIVEN)" tools/check.sh $(SUITES)

# make demo [DATA=path/to/flights.csv.xz]; plain DATA also means PGXS's list above, hence the origin
demo:
	@exec env PG_CONFIG="$(PG_CONFIG_GIVEN)" tools/demo/run.sh $(if $(filter command line,$(origin DATA)),"$(DATA)")

setup:
	@exec env PG_CONFIG="$(PG_CONFIG_GIVEN)" tools/setup.sh

else

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS tracks no headers, and objects of another server must not be linked.
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h) build/server

build/server: FORCE
	@mkdir -p build; echo '$(VERSION) $(includedir_server)' | cmp -s - $@ || echo '$(VERSION) $(includedir_server)' > $@

.PHONY: FORCE
FORCE:

endif
