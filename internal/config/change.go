package config

import (
	"reflect"
	"strings"
)

// Change is a key with another value than before.
type Change struct {
	Key      string
	From, To string // for people; what is secret is masked
	Restart  bool   // it takes effect with a restart alone
}

// Changes returns what differs in c from what was before, in the order of Keys.
func (c Config) Changes(before Config) []Change {
	now, then := c.values(), before.values()
	var out []Change
	for _, k := range table {
		from, to := then[k.name], now[k.name]
		if !same(from, to) {
			out = append(out, Change{Key: k.name, From: flow(k.shown(from)), To: flow(k.shown(to)), Restart: k.restart})
		}
	}
	return out
}

// same overlooks the difference between a list that is empty and one that is not there.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}

// Running returns c as a heed can take it over that was started with the
// configuration given: what needs a restart stays as it was.
func (c Config) Running(started Config) Config {
	for _, k := range table {
		if !k.restart {
			continue
		}
		field(reflect.ValueOf(&c).Elem(), k.name).Set(field(reflect.ValueOf(started), k.name))
	}
	return c
}

// field returns the field of a section that a dotted name leads to.
func field(section reflect.Value, name string) reflect.Value {
	first, rest, deeper := strings.Cut(name, ".")
	for f, v := range section.Fields() {
		if f.Tag.Get("mapstructure") != first {
			continue
		}
		if deeper {
			return field(v, rest)
		}
		return v
	}
	panic("config: no field for " + name)
}

// NeedsRestart reports whether a change of the key waits for a restart.
func NeedsRestart(name string) bool {
	k, known := lookup(name)
	return known && k.restart
}
