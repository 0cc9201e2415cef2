# site.mk - the course as static pages. A page is made anew when its source or what makes pages has changed; all are
# when the list of pages has: they lead to each other.

SITE := $(BUILD)/site
SITE_LIST := $(BUILD)/site.pages
SITE_MAKERS := scripts/site-page site/filter.lua site/page.html site/themes.tsv
# Files that every page loads.
SITE_PARTS := $(patsubst %,$(SITE)/%,$(wildcard site/*.css site/*.js site/*.svg) site/words.js)
# Programs of labs that may know --trace.
SITE_PROGRAMS := $(BUILD)/simt

.PHONY: site

##@ Data and reading

site: ## The course as pages for a browser, without a network: build/site/index.html

ifneq ($(filter site,$(MAKECMDGOALS)),)
# Words KIND>SOURCE>PAGE. The list's file changes when the list does, and old pages leave with it.
SITE_PAGES := $(shell mkdir -p '$(BUILD)' && scripts/site-pages '$(SITE_PROGRAMS)' >'$(SITE_LIST).new' && \
    { cmp -s '$(SITE_LIST).new' '$(SITE_LIST)' || { rm -rf '$(SITE)'; cp '$(SITE_LIST).new' '$(SITE_LIST)'; }; } && \
    awk -F '\t' '{ print $$1 ">" $$2 ">" $$3 }' '$(SITE_LIST)')
$(if $(SITE_PAGES),,$(error site: scripts/site-pages lists no page))

# site_page KIND, SOURCE, PAGE: the rule of a page.
define site_page
$(SITE)/$(3): $(if $(filter map trace,$(1)),$(call site_needs_$(1),$(2)),$(2)) $(if $(filter copy,$(1)),,$(SITE_LIST) $(SITE_MAKERS))
	$$(call say,PAGE,$(3))
	$$(Q)$(if $(filter copy,$(1)),mkdir -p $$(@D) && cp $$< $$@,scripts/site-page '$(SITE_LIST)' '$(2)' $$@ '$(SITE_PROGRAMS)')
site: $(SITE)/$(3)
endef
site_needs_map =
site_needs_trace = site/traces.tsv $(SITE_PROGRAMS)/$(shell awk -F '\t' '$$1 == "$(1)" { sub(/ .*/, "", $$3); print $$3 }' site/traces.tsv)
$(foreach p,$(SITE_PAGES),$(eval $(call site_page,$(word 1,$(subst >, ,$(p))),$(word 2,$(subst >, ,$(p))),$(word 3,$(subst >, ,$(p))))))

# Notebooks are not searched: they tell what was.
SITE_SEARCHED := $(foreach p,$(filter-out %/LOG.html,$(filter text>%,$(SITE_PAGES))),$(SITE)/$(lastword $(subst >, ,$(p))))
$(SITE)/site/words.js: $(SITE_SEARCHED) site/words.awk
	@mkdir -p $(@D)
	$(call say,WORDS,site/words.js)
	$(Q)awk -v site='$(SITE)/' -f site/words.awk $(SITE_SEARCHED) >$@
$(SITE)/site/%: site/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

site: $(SITE_PARTS)
	$(Q)scripts/check-site '$(SITE)' '$(SITE_LIST)'
	@echo 'site: $(words $(SITE_PAGES)) pages and pictures: $(SITE)/index.html'
endif
