package config

import (
	"maps"
	"slices"
	"strconv"
)

// validate judges what the settings of the decision log have to do with each
// other.
func (a Audit) validate(refused map[string]bool) (faults []Fault) {
	fault := func(key, value, problem, allowed string) {
		if !refused["audit."+key] {
			faults = append(faults, Fault{Key: "audit." + key, Value: value, Problem: problem, Allowed: allowed})
		}
	}
	file := a.Path != "" && a.Path != "-"
	if a.Client == "hash" && a.KeyFile == "" && !refused["audit.key_file"] {
		fault("client", a.Client, "needs audit.key_file: without a key every address could be tried", "a key_file, or truncate")
	}
	if a.KeyFile != "" && !a.Chain && a.Client != "hash" {
		fault("key_file", a.KeyFile, "has no use without audit.chain", "chain: true, client: hash, or no key_file")
	}
	if a.Required && a.Path == "" && !refused["audit.path"] {
		fault("required", "true", "there is no log: audit.path is \"\"", "a path, or required: false")
	}
	by := map[string]string{}
	if a.Rotate.Size > 0 {
		by["rotate.size"] = a.Rotate.Size.String()
	}
	if a.Rotate.Every > 0 {
		by["rotate.every"] = renderDuration(a.Rotate.Every)
	}
	if !file && !refused["audit.path"] {
		for _, key := range slices.Sorted(maps.Keys(by)) {
			fault(key, by[key], "only a file can be rotated, and audit.path is \""+a.Path+"\"", "a path that names a file, or 0 for never")
		}
	}
	if a.Rotate.Keep > 0 && len(by) == 0 && !refused["audit.rotate.size"] && !refused["audit.rotate.every"] {
		fault("rotate.keep", strconv.Itoa(a.Rotate.Keep), "nothing is put aside without rotate.size or rotate.every", "one of these, or keep: 0")
	}
	return faults
}
