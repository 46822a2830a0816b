package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Error says that the proxy, and not the origin, is why there is no answer. Its
// text names no address: where the proxy stands is nobody's business.
type Error struct {
	Status int   // what the proxy answered; 0 when it did not
	Err    error // why it did not; nil when it did
}

func (e *Error) Error() string {
	const who = "the upstream proxy"
	if e.Status != 0 {
		return fmt.Sprintf("%s answered %d %s", who, e.Status, http.StatusText(e.Status))
	}
	err := e.Err
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		err = errors.New("DNS: " + dns.Err)
	case errors.As(err, &op):
		err = op.Err
	}
	return fmt.Sprintf("%s: %v", who, err)
}

func (e *Error) Unwrap() error { return e.Err }
