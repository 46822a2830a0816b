package config

import (
	"strings"

	"github.com/spf13/pflag"
)

// keyAnnotation marks the flags that set a key, so that another flag of the same
// name never does.
const keyAnnotation = "heed-config-key"

var flagTable = []struct{ name, short, key, usage string }{
	{"listen", "", "listen", "`ADDR` the proxy listens on"},
	{"admin", "", "admin.listen", "`ADDR` of the admin listener; empty turns it off"},
	{"agent", "a", "agent.tokens", "product `TOKEN`[,TOKEN...] to obey robots.txt as, most specific first"},
	{"profile", "p", "matching.profile", "matching profile `NAME`: rfc9309, decoded, folded, google or strictest"},
	{"audit", "", "audit.path", "decision log `FILE`; empty turns it off"},
	{"mode", "", "mode", "`MODE`: enforce, or monitor (decide and log, never refuse)"},
}

// AddFlags defines the flags that override settings on fs: those named, or all
// of listen, admin, agent (-a), profile (-p), audit and mode when none is. It panics on
// any other name, as pflag does on a flag defined twice.
func AddFlags(fs *pflag.FlagSet, names ...string) {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	for _, f := range flagTable {
		if len(names) > 0 && !wanted[f.name] {
			continue
		}
		delete(wanted, f.name)
		if k, _ := lookup(f.key); k.kind.list {
			fs.StringSliceP(f.name, f.short, nil, f.usage)
		} else {
			fs.StringP(f.name, f.short, "", f.usage)
		}
		if err := fs.SetAnnotation(f.name, keyAnnotation, []string{f.key}); err != nil {
			panic(err)
		}
	}
	for n := range wanted {
		panic("config: no flag --" + n + " sets a key")
	}
}

// flags reads those flags of fs that AddFlags defined and the user gave. An
// empty value is a value. fs may be nil.
func flags(fs *pflag.FlagSet) *layer {
	l := newLayer()
	if fs == nil {
		return l
	}
	fs.Visit(func(f *pflag.Flag) {
		names := f.Annotations[keyAnnotation]
		if len(names) != 1 {
			return
		}
		k, known := lookup(names[0])
		if !known {
			return
		}
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		l.setText(k, value, "flag --"+f.Name)
	})
	return l
}
