package fetch

// SetUserAgent changes the User-Agent field of the retrievals that begin later.
func (s *Store) SetUserAgent(agent string) { s.agent.Store(&agent) }

// ForgetDenied drops from memory what is known of origins whose address could not
// be dialled because it was denied: for when other addresses may be dialled now.
func (s *Store) ForgetDenied() {
	for _, at := range s.memory.all() {
		if t := at.known.Load().trouble; t != nil && t.access.EgressDenied {
			s.memory.delete(at.origin)
		}
	}
}
