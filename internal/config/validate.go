package config

import (
	"fmt"
	"reflect"
	"time"
)

// Validate judges the whole configuration and changes nothing. Warnings are for
// people: what they tell of works, but is probably not meant. The faults have no
// Where; Load adds it.
func (c Config) Validate() (warnings []string, faults []Fault) {
	return c.validate(nil)
}

// validate leaves out the keys whose given value was refused already: what
// stands in for them says nothing about the user's configuration.
func (c Config) validate(refused map[string]bool) (warnings []string, faults []Fault) {
	values := c.values()
	for _, k := range table {
		if refused[k.name] {
			continue
		}
		if problem := k.rule.problem(values[k.name]); problem != "" {
			faults = append(faults, Fault{Key: k.name, Value: k.display(values[k.name]), Problem: problem, Allowed: k.rule.allowed})
		}
	}
	if !refused["admin.listen"] && !refused["admin.token"] && c.Admin.Listen != "" && !isLoopback(c.Admin.Listen) && c.Admin.Token == "" {
		faults = append(faults, Fault{Key: "admin.token", Problem: fmt.Sprintf("required, because admin.listen %s is reachable from other machines", c.Admin.Listen),
			Allowed: "a secret, or admin.listen on 127.0.0.1, ::1 or localhost"})
	}
	if !refused["admin.listen"] && !refused["listen"] && collide(c.Listen, c.Admin.Listen) {
		faults = append(faults, Fault{Key: "admin.listen", Value: c.Admin.Listen, Problem: "the same address as listen " + c.Listen,
			Allowed: "another port, port 0 or \"\""})
	}
	if given, missing := "tls.cert", "tls.key"; (c.TLS.Cert == "") != (c.TLS.Key == "") {
		if c.TLS.Cert == "" {
			given, missing = missing, given
		}
		faults = append(faults, Fault{Key: given, Value: c.TLS.Cert + c.TLS.Key, Problem: "useless without " + missing, Allowed: "both or neither"})
	}
	faults = append(faults, c.Audit.validate(refused)...)
	more, invalid := c.validateAccess(time.Now())
	warnings, faults = append(warnings, more...), append(faults, invalid...)
	warnings = append(warnings, tokenWarnings(c.Agent.Tokens)...)
	if c.Robots.TTL > 24*time.Hour {
		warnings = append(warnings, "robots.ttl: "+renderDuration(c.Robots.TTL)+" is longer than the 24h for which RFC 9309 2.4 wants a copy to be used")
	}
	return warnings, faults
}

// values is every setting by its dotted name.
func (c Config) values() map[string]any {
	out := make(map[string]any, len(table))
	flatten("", reflect.ValueOf(c), out)
	return out
}

func flatten(path string, section reflect.Value, out map[string]any) {
	for field, v := range section.Fields() {
		name := join(path, field.Tag.Get("mapstructure"))
		if field.Type.Kind() == reflect.Struct {
			flatten(name, v, out)
			continue
		}
		out[name] = v.Interface()
	}
}
