package fetch

import (
	"math/rand/v2"
	"time"

	"heed/policy"
)

// settle returns what is known after out, where prev was known before; prev may
// be nil.
func (s *Store) settle(prev *known, out outcome) *known {
	if out.access.Result == policy.Unreachable {
		return s.failed(prev, out.access, out.retryAfter)
	}
	k := &known{access: out.access, validators: out.validators, noStore: out.noStore, declared: -1, updated: out.access.Retrieved}
	f := out.freshness
	if out.notModified {
		k.file = prev.file
		k.access.Status, k.access.SHA256, k.access.MediaType = prev.access.Status, prev.access.SHA256, prev.access.MediaType
		if !f.explicit && prev.declared >= 0 { // RFC 9111 4.3.4: fields that the 304 does not replace stay
			f.explicit, f.lifetime = true, prev.declared
		}
	} else if k.access.Result == policy.Successful {
		k.file = out.file
	}
	if f.explicit {
		k.declared = f.lifetime
	} else {
		f.lifetime = s.options.TTL
	}
	s.schedule(k, f.left())
	return k
}

// schedule sets the times of a settled k whose freshness has left to go when it
// was retrieved.
func (s *Store) schedule(k *known, left time.Duration) {
	o := s.options
	at := k.access.Retrieved
	left = min(max(left, o.MinTTL), o.TTL)
	k.fresh = at.Add(left)
	// A refresh begins when a tenth to a fifth is left: what was fetched together
	// must not be refreshed together.
	k.refresh = k.fresh.Add(-left/10 - rand.N(left/10+1))
	k.grace = at.Add(min(left+o.MinTTL, o.TTL))
	if k.access.Result == policy.Successful && !k.noStore {
		k.keep = at.Add(max(o.StaleFor, 0))
	}
}

// failed returns what is known after an attempt that ended in a, which is
// unreachable. The answer before it, if there was one, keeps its times.
func (s *Store) failed(prev *known, a policy.Access, retryAfter time.Duration) *known {
	k := &known{declared: -1}
	failures := 1
	if prev != nil {
		*k = *prev
		if prev.trouble != nil {
			failures = prev.trouble.failures + 1
		}
	}
	k.updated = time.Now()
	if k.access.URL == "" {
		k.access.URL = a.URL
	}
	wait := backoff(s.options.ErrorTTL, failures)
	if retryAfter > 0 {
		wait = max(retryAfter, s.options.ErrorTTL)
	}
	a.Retry = k.updated.Add(wait)
	k.trouble = &trouble{access: a, failures: failures}
	return k
}
