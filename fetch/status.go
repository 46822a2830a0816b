package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"heed/internal/netguard"
	"heed/internal/upstream"
	"heed/policy"
)

// resultOf is RFC 9309 2.3.1 for a status other than a redirect. What the RFC
// does not name is unreachable.
func resultOf(status int) policy.Result {
	switch {
	case status == http.StatusPartialContent:
		return policy.Unreachable // a part was not asked for, and a part is not the file
	case 200 <= status && status <= 299:
		return policy.Successful
	case status == http.StatusTooManyRequests:
		return policy.Unreachable // says "not now", not "there is none"
	case 400 <= status && status <= 499:
		return policy.Unavailable
	default:
		return policy.Unreachable
	}
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", code, http.StatusText(code)))
}

// maxCause bounds a text that may quote what an origin sent.
const maxCause = 200

// cause says for people why err made a robots.txt unreachable, without URLs,
// which may hold credentials, and without addresses that only matter inside.
func cause(ctx context.Context, err error) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no complete answer in time"
	case context.Cause(ctx) == errGivenUp:
		return errGivenUp.Error()
	case ctx.Err() != nil:
		return "heed is shutting down"
	}
	var (
		denied *netguard.DeniedError
		dns    *net.DNSError
		op     *net.OpError
		long   *http.MaxBytesError
		proxy  *upstream.Error
	)
	text := err.Error()
	switch {
	case errors.As(err, &denied):
		text = denied.Error()
	case errors.As(err, &proxy):
		text = proxy.Error()
	case errors.As(err, &dns):
		text = "DNS: " + dns.Err
	case errors.As(err, &long):
		text = "the encoded body is too long for what it holds"
	case errors.As(err, &op):
		text = op.Err.Error()
	}
	if len(text) > maxCause {
		text = text[:maxCause] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
