package fetch

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// The longest that an unreachable origin is left alone: by heed's own patience,
// and because it asked for it.
const (
	maxErrorTTL   = time.Hour
	maxRetryAfter = 24 * time.Hour
)

// backoff is how long to wait after so many failures in a row, at least one:
// base, doubling, never more than an hour unless base itself is. Up to a quarter
// is added by chance, so that origins which failed together, or one origin and
// many heeds, do not meet again.
func backoff(base time.Duration, failures int) time.Duration {
	most := max(maxErrorTTL*4/5, base)
	wait := base
	for range failures - 1 {
		if wait >= most {
			break
		}
		wait *= 2
	}
	wait = min(wait, most)
	return min(wait+rand.N(wait/4+1), max(maxErrorTTL, base))
}

// retryAfter reads Retry-After (RFC 9110 10.2.3), a number of seconds or a date,
// and returns 0 when it says nothing. A day is the most that is honoured.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	wait, ok := deltaSeconds(value)
	if !ok {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0
		}
		// The date is the origin's; so is the clock that it was read from.
		wait = at.Sub(dateOf(h, now))
	}
	return min(max(wait, 0), maxRetryAfter)
}
