package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"

	"heed/internal/http1"
	"heed/internal/netguard"
	"heed/internal/upstream"
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
		return failure{http.StatusForbidden, "destination_ip_prohibited", deniedDetail(o), policy.ReasonEgressDenied}
	}
	f := upstreamFailure(err)
	var chained *upstream.Error
	if errors.As(err, &chained) {
		f = chainedFailure(chained, f)
	} else {
		f.detail = o.Authority() + ": " + f.detail
	}
	f.reason = policy.ReasonUpstream
	return f
}

// chainedFailure is the failure of the proxy that leads out. f is what the error
// would mean if it were an origin's.
func chainedFailure(err *upstream.Error, f failure) failure {
	switch err.Status {
	case 0:
		f.detail = "the upstream proxy (egress.proxy): " + f.detail
		return f
	case http.StatusProxyAuthRequired:
		f.kind, f.detail = "proxy_configuration_error", "the upstream proxy wants other credentials than egress.proxy has"
	default:
		f.kind, f.detail = "destination_unavailable", err.Error()
	}
	f.status = http.StatusBadGateway
	return f
}

// deniedDetail does not name the address: what a name leads to inside is nobody
// else's to know.
func deniedDetail(o policy.Origin) string {
	return o.Host + " leads to an address that may not be dialled: egress.allow and egress.deny decide"
}

func upstreamFailure(err error) failure {
	const bad, late = http.StatusBadGateway, http.StatusGatewayTimeout
	var dns *net.DNSError
	var unverified *tls.CertificateVerificationError
	var hostname x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var op *net.OpError
	alert, isAlert := remoteAlert(err)
	switch {
	case errors.As(err, &dns) && dns.IsTimeout:
		return failure{status: late, kind: "dns_timeout", detail: "the name server did not answer in time"}
	case errors.As(err, &dns):
		return failure{status: bad, kind: "dns_error", detail: "the name does not resolve"}
	case errors.As(err, &unverified), errors.As(err, &hostname), errors.As(err, &authority), errors.As(err, &invalid):
		return failure{status: bad, kind: "tls_certificate_error", detail: "the certificate does not verify: " + rootCause(err)}
	case isAlert:
		return failure{status: bad, kind: "tls_alert_received", detail: "the origin ended the TLS handshake: " + alert}
	case errors.As(err, &record):
		return failure{status: bad, kind: "tls_protocol_error", detail: "the origin does not speak TLS"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return failure{status: bad, kind: "connection_refused", detail: "connection refused"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return failure{status: bad, kind: "destination_ip_unroutable", detail: "no route to it"}
	case timedOut(err) && errors.As(err, &op) && op.Op == "dial", errors.Is(err, errHandshakeTimeout):
		return failure{status: late, kind: "connection_timeout", detail: "no connection in time"}
	case timedOut(err):
		return failure{status: late, kind: "http_response_timeout", detail: "no answer in time"}
	case lost(err), strings.Contains(err.Error(), "server closed"):
		return failure{status: bad, kind: "connection_terminated", detail: "the origin closed the connection"}
	case errors.Is(err, errUpgrade):
		return failure{status: bad, kind: "http_upgrade_failed", detail: err.Error()}
	case errors.Is(err, http1.ErrHeaderTooLarge), strings.Contains(err.Error(), "server response headers exceeded"): // by net/http, over HTTP/2
		return failure{status: bad, kind: "http_response_header_section_size", detail: "the header section of the answer is too large"}
	}
	return failure{status: bad, kind: "http_protocol_error", detail: "the origin's answer is not valid HTTP"}
}

// remoteAlert returns the text of a TLS alert that the other side sent. Its type is
// crypto/tls's own secret.
func remoteAlert(err error) (string, bool) {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return op.Err.Error(), true
	}
	return "", false
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
