# How benchmark programs and applications are built. Who includes it has set
#   OUT, CFLAGS, PROGRAMS    and P_PARTS, a program's own objects beside P
#   COMMON                   objects of all programs
#   SELFTEST                 objects of the test of what needs no MPI
#   COMPILE_OPTIONS, LINK_OPTIONS      options of compiler and linker
# and vpath. A line a program; V=1 shows every command instead.
MPICC ?= mpicc
# MPI_STATUSES_IGNORE is the address 1, which MPICH 4.0 declares as an array: GCC takes each use for an overflow.
STRICT := -std=c11 -Wall -Wextra -Werror -pedantic -Wno-stringop-overflow
Q := $(if $(filter 1,$(V)),,@)
SAY = $(if $(Q),@echo '  CC $(notdir $@)')
OBJECTS := $(OUT)/obj
COMPILE = $(STRICT) $(CFLAGS) $(COMPILE_OPTIONS) -MMD -MP -c -o $@ $<
LINK = $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LINK_OPTIONS)

.PHONY: all check clean force
.DELETE_ON_ERROR:

all: $(PROGRAMS:%=$(OUT)/%)

# Objects of one MPI do not fit another: the stamp changes when the compiler does.
$(OBJECTS)/mpicc.stamp: force | $(OBJECTS)
	@echo '$(MPICC) $(STRICT) $(CFLAGS)' | cmp -s - $@ || echo '$(MPICC) $(STRICT) $(CFLAGS)' > $@

$(OBJECTS)/%.o: %.c $(OBJECTS)/mpicc.stamp
	$(Q)$(MPICC) $(COMPILE)

# A source that has moved is still named in an older build's dependencies.
%.c: ;

# Compilers write these with the objects; there is no other way to make them.
%.d: ;

.SECONDEXPANSION:
PARTS = $(addprefix $(OBJECTS)/,$(addsuffix .o,$($*_PARTS)))
$(PROGRAMS:%=$(OUT)/%): $(OUT)/%: $(OBJECTS)/%.o $(COMMON:%=$(OBJECTS)/%.o) $$(PARTS)
	$(SAY)
	$(Q)$(MPICC) $(LINK)

# What needs no MPI is built apart, with the plain compiler.
CHECK := $(OUT)/check
check: $(CHECK)/selftest
	$(Q)$(CHECK)/selftest

$(CHECK)/%.o: %.c | $(CHECK)
	$(Q)$(CC) $(COMPILE)

$(CHECK)/selftest: $(SELFTEST:%=$(CHECK)/%.o)
	$(SAY)
	$(Q)$(CC) $(LINK)

$(OBJECTS) $(CHECK):
	$(Q)mkdir -p $@

clean:
	rm -rf $(OBJECTS) $(CHECK) $(PROGRAMS:%=$(OUT)/%)

-include $(wildcard $(OBJECTS)/*.d $(CHECK)/*.d)
