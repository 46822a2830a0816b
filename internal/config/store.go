package config

import (
	"net/url"
	"regexp"
	"strings"
)

// store is where robots.txt files are kept. What follows the scheme of a redis
// URL is only known to be good once it is used.
var store = ruleOf("memory: or file:PATH or redis://[user:password@]host:port/db or rediss://…", func(s string) string {
	if problem := badLine(s); problem != "" {
		return problem
	}
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case !ok:
		return "no scheme"
	case scheme == "memory":
		if rest != "" {
			return "memory: takes nothing after it"
		}
	case scheme == "file":
		if rest == "" || strings.HasPrefix(rest, "//") {
			return "a path follows file: at once, such as file:/var/lib/heed/robots.db"
		}
	case scheme == "redis" || scheme == "rediss":
		if u, err := url.Parse(s); err != nil || u.Host == "" {
			return "not a URL with a host"
		}
	default:
		return "not a known kind of store"
	}
	return ""
})

// secrets are the parts of a redis URL that hold passwords: after the user, and
// as parameters.
var secrets = regexp.MustCompile(`(://[^:@/?#]*:)[^@]*(@)|([?&][a-z_]*password=)[^&#]*()`)

// withoutPassword masks the passwords of a URL, also of one that cannot be read.
func withoutPassword(s string) string {
	return secrets.ReplaceAllString(s, "${1}${3}"+mask+"${2}${4}")
}
