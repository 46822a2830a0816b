package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"heed/internal/netguard"
	"heed/policy"
)

// failure is what heed says of an origin that could not be reached or did not
// answer properly.
type failure struct {
	status int
	kind   string // Proxy-Status error type (RFC 9209 2.3)
	detail string
	reason policy.Reason
}

// failureOf names the fault. The text is for the client and says nothing of
// addresses; the error itself goes into the record.
func failureOf(err error, o policy.Origin) failure {
	var denied *netguard.DeniedError
	if errors.As(err, &denied) {
		return failure{http.StatusForbidden, "destination_ip_prohibited",
			o.Host + " leads to an address that may not be dialled: " + denied.Error(), policy.ReasonEgressDenied}
	}
	f := upstreamFailure(err)
	f.detail = o.Authority() + ": " + f.detail
	f.reason = policy.ReasonUpstream
	return f
}

func upstreamFailure(err error) failure {
	const bad, late = http.StatusBadGateway, http.StatusGatewayTimeout
	var dns *net.DNSError
	var unverified *tls.CertificateVerificationError
	var hostname x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &dns) && dns.IsTimeout:
		return failure{status: late, kind: "dns_timeout", detail: "the name server did not answer in time"}
	case errors.As(err, &dns):
		return failure{status: bad, kind: "dns_error", detail: "the name does not resolve"}
	case errors.As(err, &unverified), errors.As(err, &hostname), errors.As(err, &authority), errors.As(err, &invalid):
		return failure{status: bad, kind: "tls_certificate_error", detail: "the certificate does not verify: " + rootCause(err)}
	case errors.As(err, &alert):
		return failure{status: bad, kind: "tls_alert_received", detail: "the origin ended the TLS handshake: " + alert.Error()}
	case errors.As(err, &record):
		return failure{status: bad, kind: "tls_protocol_error", detail: "the origin does not speak TLS"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return failure{status: bad, kind: "connection_refused", detail: "connection refused"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return failure{status: bad, kind: "destination_ip_unroutable", detail: "no route to it"}
	case timedOut(err) && errors.As(err, &op) && op.Op == "dial", strings.Contains(err.Error(), "TLS handshake timeout"):
		return failure{status: late, kind: "connection_timeout", detail: "no connection in time"}
	case timedOut(err):
		return failure{status: late, kind: "http_response_timeout", detail: "no answer in time"}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "server closed"):
		return failure{status: bad, kind: "connection_terminated", detail: "the origin closed the connection"}
	}
	return failure{status: bad, kind: "http_protocol_error", detail: "the origin's answer is not valid HTTP"}
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// rootCause returns the innermost error's text.
func rootCause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
