package fetch

import "time"

// SetUserAgent changes the User-Agent field of the retrievals that begin later.
func (s *Store) SetUserAgent(agent string) { s.agent.Store(&agent) }

// ForgetFailures drops from memory the origins that could not be reached and have no
// copy that rules meanwhile, and those whose address was denied: for when origins are
// reached in another way from now on. The next request for each asks again.
func (s *Store) ForgetFailures() {
	now := time.Now()
	for _, at := range s.memory.all() {
		k := at.known.Load()
		if standing, _ := k.at(now); standing == failed || k.trouble != nil && k.trouble.access.EgressDenied {
			s.memory.delete(at.origin)
		}
	}
}
