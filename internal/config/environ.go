package config

import (
	"fmt"
	"strings"
)

const envPrefix = "HEED_"

// environment reads the HEED_ variables among environ, each NAME=VALUE as
// os.Environ has them. Of two with one name the first counts, as in os.Getenv.
// An unknown one is a warning, not a fault: it may be meant for another version.
func environment(environ []string) *layer {
	l := newLayer()
	names, byName := make([]string, 0, len(table)), make(map[string]key, len(table))
	for _, k := range table {
		names = append(names, k.variable())
		byName[k.variable()] = k
	}
	seen := map[string]bool{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !strings.HasPrefix(name, envPrefix) || isForeign(name) || seen[name] {
			continue
		}
		seen[name] = true
		k, known := byName[name]
		if k.fileOnly() {
			l.warnings = append(l.warnings, fmt.Sprintf("environment %s: ignored; %s can only be set in the file", name, k.name))
			continue
		}
		if !known {
			l.warnings = append(l.warnings, fmt.Sprintf("environment %s: unknown variable%s", printable(name), suggestVariable(name, names)))
			continue
		}
		l.setText(k, value, "environment "+name)
	}
	return l
}

// isForeign reports whether the variable starts like one of ours and is none:
// Kubernetes sets HEED_PORT… and HEED_SERVICE_… for a service called heed, and
// heed run tells its command HEED_ACTIVE and HEED_PROXY.
func isForeign(name string) bool {
	return strings.HasPrefix(name, "HEED_PORT") || strings.HasPrefix(name, "HEED_SERVICE_") ||
		name == "HEED_ACTIVE" || name == "HEED_PROXY"
}

// suggestVariable compares without the prefix: it is right already, and would
// make every two names look alike.
func suggestVariable(name string, names []string) string {
	bare := make([]string, len(names))
	for i, n := range names {
		bare[i] = strings.TrimPrefix(n, envPrefix)
	}
	near := didYouMean(strings.ToUpper(strings.TrimPrefix(name, envPrefix)), bare, "_")
	return strings.Replace(near, "did you mean ", "did you mean "+envPrefix, 1)
}
