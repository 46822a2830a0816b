package fetch

import "heed/policy"

// Waiting returns how many callers wait for o's robots.txt.
func (s *Store) Waiting(o policy.Origin) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[o]; f != nil {
		return f.waiting
	}
	return 0
}

// Octets returns what memory takes by its own estimate.
func (s *Store) Octets() int64 {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return s.memory.octets
}
