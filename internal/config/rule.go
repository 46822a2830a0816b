package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// rule is what a setting allows, in words and as a check of one value. problem
// returns "" for a value that is allowed.
type rule struct {
	allowed string
	problem func(any) string
}

// ruleOf lets a check be written for the type that the kind yields.
func ruleOf[T any](allowed string, problem func(T) string) rule {
	return rule{allowed, func(v any) string {
		t, ok := v.(T)
		if !ok {
			return "has the wrong type"
		}
		return problem(t)
	}}
}

var (
	// line is text that fits in a header field or a path.
	line = ruleOf("text without control characters", badLine)

	either   = ruleOf("true or false", func(bool) string { return "" })
	positive = ruleOf("a duration above 0 with its unit, such as 500ms, 30s or 2h", func(d time.Duration) string {
		if d <= 0 {
			return "not above 0"
		}
		return ""
	})

	bearer = ruleOf("visible ASCII characters without spaces", func(s string) string {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "holds a character that a bearer token cannot have"
		}
		return ""
	})
)

func badLine(s string) string {
	if !utf8.ValidString(s) {
		return "not UTF-8"
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "holds a control character"
	}
	return ""
}

func oneOf[T comparable](values ...T) rule {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return ruleOf(strings.Join(words, " or "), func(v T) string {
		if !slices.Contains(values, v) {
			return "not a known value"
		}
		return ""
	})
}

func atLeast[T cmp.Ordered](low T) rule {
	return ruleOf(fmt.Sprintf("%v or more", low), func(v T) string {
		if v < low {
			return "too small"
		}
		return ""
	})
}

func between[T cmp.Ordered](low, high T) rule {
	return ruleOf(fmt.Sprintf("%v to %v", low, high), func(v T) string {
		switch {
		case v < low:
			return "too small"
		case v > high:
			return "too large"
		}
		return ""
	})
}

// orEmpty allows "" too.
func (r rule) orEmpty() rule {
	return rule{r.allowed + `, or ""`, func(v any) string {
		if v == "" {
			return ""
		}
		return r.problem(v)
	}}
}

// orZero allows the zero value too, where it means never.
func (r rule) orZero() rule {
	return rule{r.allowed + ", or 0 for never", func(v any) string {
		if reflect.ValueOf(v).IsZero() {
			return ""
		}
		return r.problem(v)
	}}
}
